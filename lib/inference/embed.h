// Vectors of sequences from a model's last hidden state, streamed: rows of numbers and, for each, what it
// stands for. Rows come in input order and are the same for any batch size and number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/progress.h"
#include "lib/inference/sequence_runner.h"
#include "lib/inference/windows.h"
#include "lib/parts/parts.h"

namespace bigbird {

// Which vectors of a sequence are written.
struct Pooling {
  enum class Kind {
    cls,      // one: that of [CLS]
    mean,     // one: the mean over its tokens, without [CLS] and [SEP]
    max,      // one: the largest value of its tokens, in each dimension
    token,    // one for each token, without [CLS] and [SEP]
    variant,  // one: that of the token over the first base that an allele changes, or the last base where
              // nothing follows
    bin  // DNA: one for each bin of bin_size bases, counted from the first base as read (on strand - from
         // the window's end); the mean over the tokens that overlap it, weighted by how many of its bases
         // each covers. The last bin may be shorter.
  };
  Kind kind = Kind::mean;
  std::int64_t bin_size = 0;
  bool with_ends = false;  // mean and max: [CLS] and [SEP] are tokens too, as sentence-transformers has it
  bool normalize = false;  // vectors are divided by their length
};

// Those that give a text one vector, as `text embed` and sentence-transformers call them.
inline constexpr std::array<std::pair<Pooling::Kind, const char*>, 3> whole_poolings{
    {{Pooling::Kind::mean, "mean"}, {Pooling::Kind::cls, "cls"}, {Pooling::Kind::max, "max"}}};

// "cls", "mean", "token", "variant", "bin:200"; Error{usage} for anything else.
Pooling parse_pooling(const std::string& text);

// One row of the matrix. Places are 0-based half-open on the forward strand, or bytes of a line of text.
struct EmbeddingRow {
  std::string id;  // of the window
  std::string chrom;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  char strand = '+';
  std::string piece;  // of a token, control characters escaped; of an allele's windows "ref", "alt", "diff"
};

struct EmbedderOptions {
  Pooling pooling;
  BatchSize batch;
  std::int64_t longest = 0;  // sequences of more tokens, [CLS] and [SEP] among them, are cut; 0: are refused
  bool lowers = false;       // sequences are read in small letters
};

class Embedder {
 public:
  // The weights are read by open(), or by the first window.
  Embedder(const ModelFolder& folder, const EmbedderOptions& options, kernels::Backend& backend);
  void open() { runner_.open(); }

  const Tokenizer& tokenizer() const { return runner_.tokenizer(); }
  std::int64_t width() const { return head_width(runner_.config()); }

  // For every window in order: row() for each of its vectors, then vectors() with all of them, [rows, width].
  // Of an allele's window three: with REF, with ALT, and the second less the first.
  // Error{bad_input} for a window that is longer than the model takes, where it is not cut, or has no tokens
  // to pool.
  void run(WindowReader& windows, Progress& progress, const std::function<void(EmbeddingRow)>& row,
           const std::function<void(std::span<const float>)>& vectors);

  const ModelFolder& folder() const { return runner_.folder(); }
  kernels::Precision precision() const { return runner_.precision(); }
  std::uint64_t cut() const { return cut_; }  // sequences so far

 private:
  // The tokens of a window, without [CLS] and [SEP], and their first bytes.
  void encode(const Window& window, std::vector<std::uint32_t>& tokens, std::vector<std::uint32_t>& offsets);

  EmbedderOptions options_;
  SequenceRunner runner_;
  std::uint64_t cut_ = 0;
};

// `bigbird embed` and `bigbird text embed`: vectors of all windows of an input into a matrix and the table of
// its rows, chunk by chunk, so that shards share the input and a run that was stopped goes on.
struct EmbedOptions {
  std::string input;  // file of the windows; "-": stdin
  std::string pool;   // all that rows depend on beside the model, in words
  std::string output;
  std::vector<std::string> comments;            // provenance of the table, without "##"
  std::map<std::string, std::string> metadata;  // of the matrix, where its format has room for it
  ChunkedWork work;
};

// OUT.npy, OUT.safetensors or OUT.h5 (float32 [rows, width]) and OUT.rows.tsv (#row id chrom start end
// strand piece); the file of a shard (chunked_numbers.h) may have any name. The number of windows.
// Error{bad_input}: no window; as Embedder::run.
std::uint64_t run_embed(const EmbedOptions& options, WindowReader& windows, Embedder& embedder);

inline constexpr const char* embed_kind = "embed";
// The files of one run from those of all shards.
std::uint64_t merge_embeddings(const std::vector<std::string>& shards, const std::string& output);

}  // namespace bigbird
