// Outputs made chunk by chunk; see chunked_outputs.h.
#include "lib/tasks/chunked_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/files/output_set.h"
#include "lib/tasks/chunk_bytes.h"
#include "lib/tasks/json_entries.h"

namespace bigbird {
namespace {

std::string identity_text(const RunIdentity& identity, const std::vector<ChunkedOutput>& outputs,
                          const ChunkedWork& work) {
  nlohmann::ordered_json json;
  json["run"] = identity;
  for (const ChunkedOutput& output : outputs) json["outputs"].push_back(output.kind);
  json["shard"] = {work.shard.index, work.shard.count};
  json["chunk"] = work.chunk;
  return json_text(json, 2) + "\n";
}

FinishedChunks open_parts(const std::vector<ChunkedOutput>& outputs, const RunIdentity& identity,
                          const std::string& input, const ChunkedWork& work) {
  if (input == "-" && goes_on(work.restart)) {
    throw_usage("`resume`: the standard input cannot be read a second time", "give the input as a file");
  }
  std::vector<OutputName> names;
  for (const ChunkedOutput& output : outputs) names.push_back({"", output.path});
  require_different(names);
  bool keep = input != "-";
  for (const ChunkedOutput& output : outputs) {
    const bool is_file = chunks_can_be_kept(output.path, work.restart);
    if (!is_file && !work.shard.is_whole_run()) {
      throw_usage(fmt::format("`shard` {}/{}: an output on stdout or a device cannot be merged",
                              work.shard.index, work.shard.count),
                  "give a file as output");
    }
    keep = keep && is_file;
  }
  if (!keep) return {};
  return {outputs.front().path + ".parts", identity_text(identity, outputs, work), work.restart};
}

std::uint64_t lines_of(ChunkForm form, std::string_view text) {
  if (form != ChunkForm::lines) return json_entry_lines(text, entries_layout(form));
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

struct ChunkedOutputs::Output {
  explicit Output(ChunkedOutput given) : facts(std::move(given)) {
    if (facts.path == "-") {
      direct = std::make_unique<AtomicFile>(facts.path);
    } else {
      file = std::make_unique<OutputStream>(facts.path);
    }
    if (facts.form != ChunkForm::lines)
      joiner.emplace(entries_layout(facts.form), [this](std::string_view piece) { put(piece); });
  }

  void put(std::string_view piece) {
    if (file) file->write(piece);
    if (direct && !piece.empty()) direct->write(piece.data(), piece.size());
  }
  // Once, with the first chunk: of a run that comes to nothing nothing is seen.
  void put_head() {
    if (!has_head) put(facts.head);
    has_head = true;
  }
  void close() {
    put_head();
    if (file) file->close();
    if (direct) direct->commit();
  }

  // The chunk at hand, whole.
  void append() {
    put_head();
    if (joiner) {
      std::size_t section = 0;
      for (const std::string_view entries : json_entries(text, entries_layout(facts.form)))
        joiner->add(section++, entries);
    } else {
      put(text);
    }
    lines.push_back(lines_of(facts.form, text));
    text.clear();
  }

  ChunkedOutput facts;
  bool has_head = false;  // it was written
  std::unique_ptr<OutputStream> file;
  std::unique_ptr<AtomicFile> direct;       // the standard output, unbuffered: who reads it sees each chunk
  std::optional<JsonEntriesJoiner> joiner;  // of JSON
  std::string text;                         // of the chunk at hand
  std::vector<std::uint64_t> lines;         // of each chunk so far
};

ChunkedOutputs::ChunkedOutputs(std::vector<ChunkedOutput> outputs, const RunIdentity& identity,
                               const std::string& input, const ChunkedWork& work)
    : work_(work), identity_(identity), finished_(open_parts(outputs, identity, input, work)), input_(input) {
  if (!work_.shard.is_whole_run()) work_.tell = true;
  work_.tell = work_.tell && finished_.keeps();
  if (work_.tell) input_file_ = digest_of_file(input);
  if (goes_on(work_.restart)) {
    whole_ = std::all_of(outputs.begin(), outputs.end(), [this](const ChunkedOutput& output) {
      return is_whole_output(output.path, facts_of(output));
    });
  }
  if (whole_) {
    log_info(outputs.front().path + ": is whole already, and of this run");
    finished_.remove();
    return;
  }
  for (ChunkedOutput& output : outputs) outputs_.push_back(std::make_unique<Output>(std::move(output)));
}

ChunkedOutputs::~ChunkedOutputs() = default;

OutputShard ChunkedOutputs::facts_of(const ChunkedOutput& output) const {
  OutputShard facts;
  facts.kind = output.kind;
  facts.form = output.form;
  facts.has_head = !output.head.empty();
  facts.shard = work_.shard;
  facts.chunk = work_.chunk;
  facts.identity = identity_;
  facts.input_file = input_file_;
  return facts;
}

bool ChunkedOutputs::begin(std::uint64_t records, std::string_view digest) {
  const std::uint64_t chunk = chunks_++;
  records_ += records;
  chunk_digest_ = digest;
  input_digest_.update(digest.data(), digest.size());
  if (!work_.shard.takes(chunk)) return false;
  made_records_ += records;
  const auto stored = finished_.load(chunk, digest);
  if (!stored) return true;
  ChunkBytesReader bytes(*stored, finished_.path(chunk));
  for (const auto& output : outputs_) bytes.take_text(output->text);
  for (const auto& output : outputs_) output->append();
  resumed_records_ += records;
  return false;
}

void ChunkedOutputs::write(std::size_t output, std::string_view text) {
  outputs_[output]->text += text;
}

void ChunkedOutputs::end() {
  if (finished_.keeps()) {
    ChunkBytesWriter bytes;
    for (const auto& output : outputs_) bytes.put_text(output->text);
    finished_.save(chunks_ - 1, chunk_digest_, bytes.take());
  }
  for (const auto& output : outputs_) output->append();
}

void ChunkedOutputs::close() {
  if (resumed_records_ > 0) {
    log_info(fmt::format("{} of {} records were finished by the run before; what is counted is of the others",
                         resumed_records_, records_));
  }
  const std::string digest = input_digest_.finish();
  OutputSet together({});
  for (const auto& output : outputs_) {
    together.add({"", output->facts.path});
    if (work_.tell) together.add({"", output_shard_path(output->facts.path)});
  }
  for (const auto& output : outputs_) {
    if (output->joiner) output->joiner->finish();
    output->close();
    if (!work_.tell) continue;
    OutputShard facts = facts_of(output->facts);
    facts.lines = output->lines;
    facts.records = records_;
    facts.input_digest = digest;
    facts.output = digest_of_file(together.written_path(output->facts.path));
    write_output_shard(output->facts.path, facts);
  }
  together.commit();
  finished_.remove();
  say_records();
}

void ChunkedOutputs::say_records() const {
  std::string outputs;
  for (const auto& output : outputs_)
    outputs += (outputs.empty() ? "" : ", ") + (output->facts.path == "-" ? "stdout" : output->facts.path);
  log_info(fmt::format("{}: {} records read, {} of them written to {}", input_ == "-" ? "stdin" : input_,
                       records_, made_records_, outputs));
}

}  // namespace bigbird
