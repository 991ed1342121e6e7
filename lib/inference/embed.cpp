// Vectors of sequences; see embed.h.
#include "lib/inference/embed.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "lib/core/error.h"
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

class WindowPooler {
 public:
  WindowPooler(const Pooling& pooling, const Tokenizer& tokenizer, std::size_t width,
               const std::function<void(EmbeddingRow)>& row)
      : pooling_(pooling), tokenizer_(tokenizer), width_(width), row_(row) {}

  // hidden: [CLS], the tokens, [SEP].
  void pool(const EncodedWindow& encoded, std::span<const float> hidden, std::vector<float>& out) const {
    const auto vector = [&](std::size_t token) { return hidden.subspan((token + 1) * width_, width_); };
    Mean mean(width_);
    switch (pooling_.kind) {
      case Pooling::Kind::cls:
        out.insert(out.end(), hidden.begin(), hidden.begin() + static_cast<std::ptrdiff_t>(width_));
        tell(encoded, 0, encoded.length, {});
        break;
      case Pooling::Kind::mean:
        for (std::size_t token = 0; token < encoded.tokens.size(); ++token) mean.add(vector(token), 1);
        mean.take(out);
        tell(encoded, 0, encoded.length, {});
        break;
      case Pooling::Kind::token:
        for (std::size_t token = 0; token < encoded.tokens.size(); ++token) {
          const std::span<const float> values = vector(token);
          out.insert(out.end(), values.begin(), values.end());
          tell(encoded, encoded.begin_of(token), encoded.end_of(token),
               escape_controls(tokenizer_.piece(encoded.tokens[token])));
        }
        break;
      case Pooling::Kind::bin: {
        std::size_t first = 0;
        for (std::int64_t begin = 0; begin < encoded.length; begin += pooling_.bin_size) {
          const std::int64_t end = std::min(begin + pooling_.bin_size, encoded.length);
          while (encoded.end_of(first) <= begin) ++first;
          for (std::size_t token = first; token < encoded.tokens.size() && encoded.begin_of(token) < end;
               ++token) {
            const std::int64_t overlap =
                std::min(end, encoded.end_of(token)) - std::max(begin, encoded.begin_of(token));
            mean.add(vector(token), static_cast<double>(overlap));
          }
          mean.take(out);
          tell(encoded, begin, end, {});
        }
        break;
      }
    }
  }

 private:
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

}  // namespace

Pooling parse_pooling(const std::string& text) {
  if (text == "cls") return {Pooling::Kind::cls, 0};
  if (text == "mean") return {Pooling::Kind::mean, 0};
  if (text == "token") return {Pooling::Kind::token, 0};
  Pooling pooling{Pooling::Kind::bin, 0};
  if (text.starts_with("bin:")) {
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + 4, end, pooling.bin_size);
    if (read.ec == std::errc{} && read.ptr == end && pooling.bin_size > 0) return pooling;
  }
  throw_usage(message("`pool` ") + text + ": no such pooling",
              "cls, mean, token, or bin:N for bins of N bases");
}

Embedder::Embedder(const ModelFolder& folder, const Pooling& pooling, const BatchSize& batch,
                   kernels::Backend& backend)
    : pooling_(pooling), runner_(folder, {.batch = batch, .hidden = true, .waits = true}, backend) {
  if (pooling.kind == Pooling::Kind::bin && !tokenizer().is_dna()) {
    throw_usage(
        message("`pool` bin:N counts bases, and the tokenizer of ") + folder.path() + " is not one of DNA",
        message("take `pool` token"));
  }
}

void Embedder::run(WindowReader& windows, Progress& progress, const std::function<void(EmbeddingRow)>& row,
                   const std::function<void(std::span<const float>)>& vectors) {
  const WindowPooler pooler(pooling_, tokenizer(), static_cast<std::size_t>(width()), row);
  std::vector<float> values;
  Window window;
  while (windows.next(window)) {
    const auto encoded = std::make_shared<EncodedWindow>();
    encoded->length = static_cast<std::int64_t>(window.sequence.size());
    tokenizer().encode_with_special_pieces(window.sequence, encoded->tokens, &encoded->offsets);
    if (encoded->tokens.empty() && pooling_.kind != Pooling::Kind::cls) {
      throw_bad_input(window.id + ": holds no tokens",
                      message("leave the empty sequence out, or take `pool` cls"));
    }
    std::vector<std::int32_t> ids =
        with_cls_and_sep(encoded->tokens, tokenizer(), runner_.config(), window.id);
    encoded->window = std::move(window);
    runner_.add({std::move(ids)}, [&, encoded](const SequenceResult& result) {
      values.clear();
      pooler.pool(*encoded, result.hidden, values);
      vectors(values);
      progress.advance(1);
    });
  }
  runner_.finish();
}

}  // namespace bigbird
