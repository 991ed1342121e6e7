// Outputs made chunk by chunk; see chunked_outputs.h.
#include "lib/parts/chunked_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/parts/json_entries.h"

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
    if (joiner) joiner->finish();
    put_head();
    if (file) file->close();
    if (direct) direct->commit();
  }

  // A chunk, whole.
  void append(std::string_view text) {
    put_head();
    if (joiner) {
      std::size_t section = 0;
      for (const std::string_view entries : json_entries(text, entries_layout(facts.form)))
        joiner->add(section++, entries);
    } else {
      put(text);
    }
    lines.push_back(lines_of(facts.form, text));
  }

  ChunkedOutput facts;
  bool has_head = false;  // it was written
  std::unique_ptr<OutputStream> file;
  std::unique_ptr<AtomicFile> direct;       // the standard output, unbuffered: who reads it sees each chunk
  std::optional<JsonEntriesJoiner> joiner;  // of JSON
  std::vector<std::uint64_t> lines;         // of each chunk so far
};

ChunkedOutputs::ChunkedOutputs(std::vector<ChunkedOutput> outputs, const RunIdentity& identity,
                               const std::string& input, const ChunkedWork& work)
    : parts_(work), identity_(identity), input_(input) {
  std::vector<OutputName> names;
  std::vector<std::string> paths;
  for (const ChunkedOutput& output : outputs) {
    names.push_back({"", output.path});
    paths.push_back(output.path);
  }
  require_different(names);
  parts_.keep_chunks_beside(paths, input, identity_text(identity, outputs, work));
  tell_ = (work.tell || !work.shard.is_whole_run()) && parts_.keeps();
  if (tell_) input_file_ = digest_of_file(input);
  whole_ = goes_on(work.restart) &&
           std::all_of(outputs.begin(), outputs.end(), [this](const ChunkedOutput& output) {
             return is_whole_output(output.path, facts_of(output));
           });
  if (whole_) {
    parts_.leave_whole(paths.front());
    return;
  }
  for (ChunkedOutput& output : outputs) outputs_.push_back(std::make_unique<Output>(std::move(output)));
}

ChunkedOutputs::~ChunkedOutputs() = default;

OutputShard ChunkedOutputs::facts_of(const ChunkedOutput& output) const {
  OutputShard facts;
  static_cast<PartFacts&>(facts) = {output.kind, parts_.work().shard, parts_.chunk_size(), identity_,
                                    input_file_};
  facts.form = output.form;
  facts.has_head = !output.head.empty();
  return facts;
}

void ChunkedOutputs::append(const Texts& texts) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i]->append(texts.of.at(i));
}

void ChunkedOutputs::close() {
  std::vector<std::string> files;
  std::string said;
  for (const auto& output : outputs_) {
    const std::string& path = output->facts.path;
    files.push_back(path);
    if (tell_) files.push_back(output_shard_path(path));
    said += (said.empty() ? "" : ", ") + (path == "-" ? "stdout" : path);
  }
  const auto put = [&](OutputSet& together) {
    const std::string digest = parts_.input_digest();
    for (const auto& output : outputs_) {
      output->close();
      if (!tell_) continue;
      OutputShard facts = facts_of(output->facts);
      facts.lines = output->lines;
      facts.records = records();
      facts.input_digest = digest;
      facts.output = digest_of_file(together.written_path(output->facts.path));
      write_output_shard(output->facts.path, facts);
    }
  };
  parts_.close(files, put, "; what is counted is of the others");
  log_info(fmt::format("{}: {} records read, {} of them written to {}", input_ == "-" ? "stdin" : input_,
                       records(), parts_.taken_records(), said));
}

}  // namespace bigbird
