// Options of work in chunks; see work_options.h.
#include "apps/work_options.h"

#include "lib/core/error.h"
#include "lib/parts/sharded_verbs.h"

namespace bigbird::apps {
namespace {

constexpr int most_records = 1'000'000;  // of a chunk

}  // namespace

void WorkOptions::add(Verb& verb) {
  const ShardedVerb* const sharded = find_sharded_verb(verb.name());
  if (sharded == nullptr) throw_runtime(verb.name() + " is not in the table of verbs that work in parts");
  const OptionGroup group(verb, "Work");
  verb.add_option("--shard I/N", shard_,
                  "Chunks I, I + N, ... of the " + sharded->records + ", and no others, for `merge`");
  verb.add_flag(
      "--resume", resume_,
      "Go on from the finished chunks in OUT.parts; an OUT that is whole and of this run stays. auto: begin "
      "anew where they are of another run, and wait while another process makes OUT");
  verb.add_flag_word("--resume", "auto");
  verb.add_stop_before();
  verb.add_force("Replace finished parts in OUT.parts, of another or a stopped run, and begin anew");
}

void WorkOptions::add_chunk(Verb& verb, const std::string& records, std::uint64_t size,
                            const std::string& otherwise) {
  const OptionGroup group(verb, "Work");
  chunk_ = size;
  chunk_option_ =
      verb.add_count("--chunk-size COUNT", chunk_,
                     "Records (" + records +
                         ") that are finished, and kept for --resume, together; all shards need the same" +
                         (otherwise.empty() ? "" : " (default: " + otherwise + ")"),
                     CLI::Range(1, most_records));
  if (!otherwise.empty()) chunk_option_->default_str("");
  verb.leave_out_of_provenance("--chunk-size");
}

void WorkOptions::set_usual_chunk(std::uint64_t size) {
  if (chunk_option_->count() == 0) chunk_ = size;
}

Shard WorkOptions::shard() const {
  return shard_.empty() ? Shard{} : parse_shard(shard_);
}

Restart WorkOptions::restart(const Verb& verb) const {
  if (goes_on() && verb.force()) {
    throw_usage("--resume and --force", "one goes on from finished chunks, the other begins anew");
  }
  if (resume_ == "auto") return Restart::automatic;
  return goes_on() ? Restart::resume : verb.force() ? Restart::force : Restart::refuse;
}

bool WorkOptions::goes_on() const {
  if (resume_.empty() || resume_ == "false") return false;
  if (resume_ == "true" || resume_ == "auto") return true;
  throw_usage("--resume=" + resume_, "--resume, or --resume auto");
}

}  // namespace bigbird::apps
