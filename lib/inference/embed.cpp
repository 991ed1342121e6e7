// Vectors of sequences; see embed.h.
#include "lib/inference/embed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/inference/model_identity.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/tsv.h"
#include "lib/parts/chunked_numbers.h"
#include "lib/parts/json_fields.h"
#include "lib/tokenization/aligned_text.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// A window with its tokens, without the special ones around them.
struct EncodedWindow {
  Window window;
  std::int64_t length = 0;  // bases or bytes
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> offsets;  // first byte of each

  std::int64_t begin_of(std::size_t token) const { return offsets[token]; }
  std::int64_t end_of(std::size_t token) const {
    return token + 1 < offsets.size() ? std::int64_t{offsets[token + 1]} : length;
  }
};

// A weighted mean of vectors, summed in double.
class Mean {
 public:
  explicit Mean(std::size_t width) : sums_(width) {}
  void add(std::span<const float> vector, double weight) {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += weight * static_cast<double>(vector[i]);
    weight_ += weight;
  }
  // Appends the mean and begins anew.
  void take(std::vector<float>& out) {
    for (double& sum : sums_) {
      out.push_back(static_cast<float>(sum / weight_));
      sum = 0;
    }
    weight_ = 0;
  }

 private:
  std::vector<double> sums_;
  double weight_ = 0;
};

// Character by character, but for the names of special pieces.
std::string in_small_letters(std::string_view text, const Tokenizer& tokenizer) {
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::lower;
  std::string small;
  while (!text.empty()) {
    std::size_t begin = text.size(), size = 0;
    for (const std::uint32_t id : tokenizer.special().all()) {
      const std::size_t found = text.find(tokenizer.piece(id));
      if (found >= begin) continue;
      begin = found;
      size = tokenizer.piece(id).size();
    }
    AlignedText part(text.substr(0, begin), 0);
    part.apply(step);
    small += part.text();
    small += text.substr(begin, size);
    text.remove_prefix(begin + size);
  }
  return small;
}

// Divides a vector by its length; one that is zero stays.
void normalize(std::span<float> vector) {
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * static_cast<double>(value);
  constexpr double shortest = 1e-12;  // PyTorch's
  const double length = std::max(std::sqrt(squares), shortest);
  for (float& value : vector) value = static_cast<float>(static_cast<double>(value) / length);
}

class WindowPooler {
 public:
  WindowPooler(const Pooling& pooling, const Tokenizer& tokenizer, std::size_t width,
               const std::function<void(EmbeddingRow)>& row)
      : pooling_(pooling), tokenizer_(tokenizer), width_(width), row_(row) {}

  // hidden: [CLS], the tokens, [SEP] where there is one.
  void pool(const EncodedWindow& encoded, std::span<const float> hidden, std::vector<float>& out) const {
    const auto vector = [&](std::size_t token) { return hidden.subspan((token + 1) * width_, width_); };
    const std::span<const float> pooled =
        pooling_.with_ends ? hidden.first((encoded.tokens.size() + tokenizer_.special().around()) * width_)
                           : hidden.subspan(width_, encoded.tokens.size() * width_);
    const std::size_t first = out.size();
    Mean mean(width_);
    switch (pooling_.kind) {
      case Pooling::Kind::cls:
        out.insert(out.end(), hidden.begin(), hidden.begin() + static_cast<std::ptrdiff_t>(width_));
        tell(encoded, 0, encoded.length, {});
        break;
      case Pooling::Kind::mean:
        for (std::size_t at = 0; at < pooled.size(); at += width_) mean.add(pooled.subspan(at, width_), 1);
        mean.take(out);
        tell(encoded, 0, encoded.length, {});
        break;
      case Pooling::Kind::max:
        out.insert(out.end(), width_, -std::numeric_limits<float>::infinity());
        for (std::size_t i = 0; i < pooled.size(); ++i)
          out[first + i % width_] = std::max(out[first + i % width_], pooled[i]);
        tell(encoded, 0, encoded.length, {});
        break;
      case Pooling::Kind::variant: {
        const std::span<const float> values = vector(token_over(encoded, encoded.window.place));
        out.insert(out.end(), values.begin(), values.end());
        tell(encoded, 0, encoded.length, {});
        break;
      }
      case Pooling::Kind::token:
        for (std::size_t token = 0; token < encoded.tokens.size(); ++token) {
          const std::span<const float> values = vector(token);
          out.insert(out.end(), values.begin(), values.end());
          tell(encoded, encoded.begin_of(token), encoded.end_of(token),
               escape_controls(tokenizer_.piece(encoded.tokens[token])));
        }
        break;
      case Pooling::Kind::bin: {
        std::size_t first_token = 0;
        for (std::int64_t begin = 0; begin < encoded.length; begin += pooling_.bin_size) {
          const std::int64_t bin_end = std::min(begin + pooling_.bin_size, encoded.length);
          while (encoded.end_of(first_token) <= begin) ++first_token;
          for (std::size_t token = first_token;
               token < encoded.tokens.size() && encoded.begin_of(token) < bin_end; ++token) {
            const std::int64_t overlap =
                std::min(bin_end, encoded.end_of(token)) - std::max(begin, encoded.begin_of(token));
            mean.add(vector(token), static_cast<double>(overlap));
          }
          mean.take(out);
          tell(encoded, begin, bin_end, {});
        }
        break;
      }
    }
    if (pooling_.normalize) {
      for (std::size_t at = first; at < out.size(); at += width_)
        normalize(std::span(out).subspan(at, width_));
    }
  }

 private:
  static std::size_t token_over(const EncodedWindow& encoded, std::int64_t base) {
    const auto behind = std::upper_bound(encoded.offsets.begin(), encoded.offsets.end(),
                                         static_cast<std::uint32_t>(std::min(base, encoded.length - 1)));
    return static_cast<std::size_t>(behind - encoded.offsets.begin()) - 1;
  }
  // [from, to) as read, to places on the forward strand.
  void tell(const EncodedWindow& encoded, std::int64_t from, std::int64_t to, std::string piece) const {
    const Window& window = encoded.window;
    const bool reverse = window.strand == '-';
    row_({window.id, window.chrom, reverse ? window.end - to : window.begin + from,
          reverse ? window.end - from : window.begin + to, window.strand, std::move(piece)});
  }

  const Pooling& pooling_;
  const Tokenizer& tokenizer_;
  std::size_t width_;
  const std::function<void(EmbeddingRow)>& row_;
};

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

template <typename Fields>
void pass_fields(Fields& fields, MatrixFacts& facts) {
  fields("width", facts.width);
  fields("comments", facts.comments);
  fields("metadata", facts.metadata);
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
      table_.row({std::to_string(row_++), row.id, text_field(row.chrom), std::to_string(row.begin),
                  std::to_string(row.end), text_field(std::string(1, row.strand)),
                  row.piece.empty() ? missing_field : row.piece});
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
  if (!window.alternative) return;
  const std::string change = fmt::format("{}\t{}\n", window.place, *window.alternative);
  digest.update(change.data(), change.size());
}

}  // namespace

Pooling parse_pooling(const std::string& text) {
  if (text == "cls") return {Pooling::Kind::cls, 0};
  if (text == "mean") return {Pooling::Kind::mean, 0};
  if (text == "token") return {Pooling::Kind::token, 0};
  if (text == "variant") return {Pooling::Kind::variant, 0};
  Pooling pooling{Pooling::Kind::bin, 0};
  if (text.starts_with("bin:")) {
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + 4, end, pooling.bin_size);
    if (read.ec == std::errc{} && read.ptr == end && pooling.bin_size > 0) return pooling;
  }
  throw_usage(message("`pool` ") + text + ": no such pooling",
              "cls, mean, token, variant, or bin:N for bins of N bases");
}

Embedder::Embedder(const ModelFolder& folder, const EmbedderOptions& options, kernels::Backend& backend)
    : options_(options),
      runner_(folder, {.batch = options.batch, .hidden = true, .longest = options.longest, .waits = true},
              backend) {
  if (options.pooling.kind == Pooling::Kind::bin && !tokenizer().is_dna()) {
    throw_usage(
        message("`pool` bin:N counts bases, and the tokenizer of ") + folder.path() + " is not one of DNA",
        message("take `pool` token"));
  }
}

void Embedder::encode(const Window& window, std::vector<std::uint32_t>& tokens,
                      std::vector<std::uint32_t>& offsets) {
  tokenizer().encode_with_special_pieces(
      options_.lowers ? in_small_letters(window.sequence, tokenizer()) : window.sequence, tokens, &offsets);
  const auto ends = static_cast<std::int64_t>(tokenizer().special().around());
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(options_.longest - ends, 0));
  if (options_.longest == 0 || tokens.size() <= most) return;
  tokens.resize(most);
  offsets.resize(most);
  ++cut_;
}

void Embedder::run(WindowReader& windows, Progress& progress, const std::function<void(EmbeddingRow)>& row,
                   const std::function<void(std::span<const float>)>& vectors) {
  const Pooling& pooling = options_.pooling;
  std::string allele;  // of the window whose vectors are pooled
  const std::function<void(EmbeddingRow)> named_row = [&](EmbeddingRow of) {
    if (!allele.empty()) of.piece = allele;
    row(std::move(of));
  };
  const WindowPooler pooler(pooling, tokenizer(), static_cast<std::size_t>(width()), named_row);
  const auto add = [&](Window window,
                       std::function<void(const EncodedWindow&, std::span<const float>)> take) {
    const auto encoded = std::make_shared<EncodedWindow>();
    encoded->length = static_cast<std::int64_t>(window.sequence.size());
    encode(window, encoded->tokens, encoded->offsets);
    if (encoded->tokens.empty() && pooling.kind != Pooling::Kind::cls && !pooling.with_ends) {
      throw_bad_input(window.id + ": holds no tokens",
                      message("leave the empty sequence out, or take `pool` cls"));
    }
    std::vector<std::int32_t> ids =
        with_cls_and_sep(encoded->tokens, tokenizer(), runner_.config(), window.id);
    encoded->window = std::move(window);
    runner_.add({std::move(ids)}, [encoded, take = std::move(take)](const SequenceResult& result) {
      take(*encoded, result.hidden);
    });
  };
  // Results come in the order of the windows: REF's vectors wait here for ALT's.
  std::vector<float> values;
  Window window;
  while (windows.next(window)) {
    const bool of_allele = window.alternative.has_value();
    Window changed = window;
    if (of_allele) changed.sequence = *std::exchange(window.alternative, std::nullopt);
    add(std::move(window), [&, of_allele](const EncodedWindow& encoded, std::span<const float> hidden) {
      values.clear();
      allele = of_allele ? "ref" : "";
      pooler.pool(encoded, hidden, values);
      if (of_allele) return;
      vectors(values);
      progress.advance(1);
    });
    if (!of_allele) continue;
    add(std::move(changed), [&](const EncodedWindow& encoded, std::span<const float> hidden) {
      allele = "alt";
      pooler.pool(encoded, hidden, values);
      const Window& of = encoded.window;
      row({of.id, of.chrom, of.begin, of.end, of.strand, "diff"});
      const std::size_t size = values.size() / 2;
      for (std::size_t i = 0; i < size; ++i) values.push_back(values[size + i] - values[i]);
      vectors(values);
      progress.advance(1);
    });
  }
  runner_.finish();
}

template <typename Bytes>
void pass(Bytes& bytes, EmbeddingRow& row) {
  bytes(row.id, row.chrom, row.begin, row.end, row.strand, row.piece);
}

std::uint64_t run_embed(const EmbedOptions& options, WindowReader& windows, Embedder& embedder) {
  const MatrixFacts facts{embedder.width(), options.comments, options.metadata};
  ShardHeader header;
  header.kind = embed_kind;
  header.identity = {{"version", bigbird_version()},
                     {"model", model_digest(embedder.folder())},
                     {"pool", options.pool},
                     {"precision", kernels::name_of(embedder.precision())}};
  header.output = text_of_facts<Json>(facts);
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
  EmbeddingFiles files(output, facts_of_text<MatrixFacts, Json>(merged.header().output, shards.front()));
  merged.for_each([&](std::string_view bytes, const std::string& path) {
    files.write(from_chunk_bytes<EmbeddedChunk>(bytes, path));
  });
  close_together(files.paths(), [&] { files.close(); });
  return merged.records();
}

}  // namespace bigbird
