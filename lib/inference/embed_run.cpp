// Vectors into files; see embed_run.h.
#include "lib/inference/embed_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/inference/model_identity.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/tsv.h"
#include "lib/parts/chunked_numbers.h"

namespace bigbird {

template <typename Bytes>
void pass(Bytes& bytes, EmbeddingRow& row) {
  bytes(row.id, row.chrom, row.begin, row.end, row.strand, row.piece);
}

namespace {

using Json = nlohmann::basic_json<OrderedMap>;

struct EmbeddedChunk {
  std::vector<EmbeddingRow> rows;
  std::vector<float> vectors;  // [rows, width]
};

template <typename Bytes>
void pass(Bytes& bytes, EmbeddedChunk& chunk) {
  bytes(chunk.rows, chunk.vectors);
}

// What the files are like, for a merge that has no model.
struct MatrixFacts {
  std::int64_t width = 0;
  std::vector<std::string> comments;
  std::map<std::string, std::string> metadata;
};

std::string facts_json(const MatrixFacts& facts) {
  return json_text(Json{{"width", facts.width}, {"comments", facts.comments}, {"metadata", facts.metadata}});
}

MatrixFacts matrix_facts(const std::string& text, const std::string& path) {
  try {
    const Json json = Json::parse(text);
    return {json.at("width").get<std::int64_t>(), json.at("comments").get<std::vector<std::string>>(),
            json.at("metadata").get<std::map<std::string, std::string>>()};
  } catch (const Json::exception& error) {
    throw_bad_input(fmt::format("{}: not written by bigbird: {}", path, json_problem(error)),
                    "run this shard again");
  }
}

// "vectors.npy" -> "vectors.rows.tsv"
std::string vector_rows_path(const std::string& output) {
  return output.substr(0, output.rfind('.')) + ".rows.tsv";
}

class EmbeddingFiles {
 public:
  EmbeddingFiles(const std::string& output, const MatrixFacts& facts)
      : output_(output),
        matrix_(output, facts.width, facts.metadata),
        out_(vector_rows_path(output)),
        table_(out_, {"row", "id", "chrom", "start", "end", "strand", "piece"}, facts.comments) {}

  void write(const EmbeddedChunk& chunk) {
    for (const EmbeddingRow& row : chunk.rows) {
      table_.row({std::to_string(row_++), row.id, row.chrom, std::to_string(row.begin),
                  std::to_string(row.end), std::string(1, row.strand), row.piece.empty() ? "." : row.piece});
    }
    matrix_.write(chunk.vectors);
  }
  void close() {
    matrix_.commit();
    out_.close();
  }
  std::vector<std::string> paths() const { return {output_, vector_rows_path(output_)}; }

 private:
  std::string output_;
  FloatRowsWriter matrix_;
  OutputStream out_;
  TsvWriter table_;
  std::uint64_t row_ = 0;
};

using Windows = std::vector<Window>;

// The windows of one chunk, one by one.
class ChunkWindows : public WindowReader {
 public:
  explicit ChunkWindows(Windows& windows) : windows_(windows) {}
  bool next(Window& window) override {
    if (next_ == windows_.size()) return false;
    window = std::move(windows_[next_++]);
    return true;
  }

 private:
  Windows& windows_;
  std::size_t next_ = 0;
};

void add_window(Sha256& digest, const Window& window) {
  const std::string line =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", window.id.size(), window.id, window.chrom.size(),
                  window.chrom, window.begin, window.end, window.strand, window.sequence.size());
  digest.update(line.data(), line.size());
  digest.update(window.sequence.data(), window.sequence.size());
}

}  // namespace

std::uint64_t run_embed(const EmbedOptions& options, WindowReader& windows, Embedder& embedder) {
  const MatrixFacts facts{embedder.width(), options.comments, options.metadata};
  ShardHeader header;
  header.kind = embed_kind;
  header.identity = {{"version", bigbird_version()},
                     {"model", model_digest(embedder.folder())},
                     {"pool", options.pool},
                     {"precision", kernels::name_of(embedder.precision())}};
  header.output = facts_json(facts);
  ChunkedNumbers run(options.output, header, options.input, options.work);
  if (run.is_whole()) return 0;
  embedder.open();
  std::optional<EmbeddingFiles> files;
  if (!run.is_shard()) files.emplace(options.output, facts);
  Progress progress("embed", 0, "windows");
  PartSteps<Windows, EmbeddedChunk> steps;
  steps.read = [&](Windows& chunk) {
    return read_records(chunk, options.work.chunk, [&](Window& window) { return windows.next(window); });
  };
  steps.key = [](const Windows& chunk) { return key_of_records(chunk, add_window); };
  steps.begin = [&](Windows& chunk, const std::function<void(EmbeddedChunk)>& done) {
    ChunkWindows reader(chunk);
    EmbeddedChunk made;
    embedder.run(
        reader, progress, [&](EmbeddingRow row) { made.rows.push_back(std::move(row)); },
        [&](std::span<const float> vectors) {
          made.vectors.insert(made.vectors.end(), vectors.begin(), vectors.end());
        });
    done(std::move(made));
  };
  steps.write = [&](Windows&, const EmbeddedChunk& made, const ChunkPlace&) {
    if (files) files->write(made);
  };
  run.parts().run(steps);
  if (run.parts().records() == 0) {
    throw_bad_input(options.input + ": no sequences", "an input without sequences leaves nothing to write");
  }
  run.close(files ? files->paths() : std::vector<std::string>{}, [&] {
    if (files) files->close();
  });
  return run.parts().records();
}

std::uint64_t merge_embeddings(const std::vector<std::string>& shards, const std::string& output) {
  const MergedShards merged(shards);
  EmbeddingFiles files(output, matrix_facts(merged.header().output, shards.front()));
  merged.for_each([&](std::string_view bytes, const std::string& path) {
    files.write(from_chunk_bytes<EmbeddedChunk>(bytes, path));
  });
  close_together(files.paths(), [&] { files.close(); });
  return merged.records();
}

}  // namespace bigbird
