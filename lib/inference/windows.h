// DNA windows, as the sequence tasks read them: the TSV files of `promoter build`, FASTA records, or BED
// windows. Coordinates are 0-based half-open; sequences are on the window's own strand, upper case, A C G T N
// only. Lines of text are windows too, of a place without a name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

struct KnownEncoding;
struct LabelledTextOptions;
class Tokenizer;

struct Window {
  std::string id;
  std::string chrom;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  char strand = '+';
  std::int32_t label = -1;  // -1: unknown
  std::string sequence;
  // Of an allele of a variant file: what it makes of the sequence, and the first base that changes, in both.
  std::optional<std::string> alternative = {};
  std::int64_t place = -1;
};

// Windows one at a time, in file order, so that a genome of windows needs no memory.
class WindowReader {
 public:
  virtual ~WindowReader() = default;
  // False at the end; `window` is overwritten.
  virtual bool next(Window& window) = 0;
};

// Every record of a FASTA, as one window on the forward strand; - is the standard input. That and other pipes
// are read record after record, a file through its index.
std::unique_ptr<WindowReader> read_fasta_windows(const std::string& path);
// Windows of a BED over a genome; strand - is reverse-complemented. Errors name file and line: an unknown
// contig, a window beyond its contig, an empty window.
std::unique_ptr<WindowReader> read_bed_windows(const std::string& bed, const std::string& fasta);

// Every line of a text that is not blank; - is the standard input. The id is line<number>, the place bytes of
// the line, and chrom and strand are ".". For a tokenizer of DNA every line is read as typed_text.h says, and
// the place is of what is left of it; for another a first line that is DNA is an Error. The tokenizer must
// outlive the reader.
std::unique_ptr<WindowReader> read_line_windows(const std::string& path, const Tokenizer& tokenizer);

// Every text of a table, of JSON, or of lines (labelled_texts.h); - is the standard input. The id is the
// text's own, the place its bytes, and chrom and strand are ".". Error{bad_input} for a row of two texts.
std::unique_ptr<WindowReader> read_text_windows(const std::string& path, const LabelledTextOptions& options);

// Of a sequence's bases; 0 for an empty one.
double share_of_n(std::string_view sequence);

// [CLS] tokens [SEP], cut at its right end to at most max_tokens. Returns whether it was cut.
bool encode_window(const Tokenizer& tokenizer, std::string_view sequence, std::int64_t max_tokens,
                   std::vector<std::int32_t>& ids);
// The same with the help of a sequence that shares stretches with this one, without its [CLS] and [SEP].
// `taken` grows by the bases whose tokens were taken over.
bool encode_window_like(const Tokenizer& tokenizer, std::string_view sequence, std::int64_t max_tokens,
                        const KnownEncoding& known, std::vector<std::int32_t>& ids, std::size_t& taken);

}  // namespace bigbird
