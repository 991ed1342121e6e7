// Readers of windows; see windows.h.
#include "lib/inference/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/fasta_stream.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/typed_text.h"

namespace bigbird {
namespace {

// Tells of IUPAC letters at the end of a source, once.
class ReplacedLetters {
 public:
  void warn(const std::string& path, std::uint64_t count) {
    if (!warned_) warn_of_replaced_letters(path, count);
    warned_ = true;
  }

 private:
  bool warned_ = false;
};

class FastaWindows : public WindowReader {
 public:
  explicit FastaWindows(const std::string& path) : fasta_(path) {}

  bool next(Window& window) override {
    if (next_ == fasta_.contigs().size()) {
      replaced_.warn(fasta_.path(), fasta_.iupac_replaced());
      return false;
    }
    const Contig& contig = fasta_.contigs()[next_];
    window = {contig.name, contig.name, 0, contig.length, '+', -1, fasta_.fetch(next_, 0, contig.length)};
    ++next_;
    return true;
  }

 private:
  Fasta fasta_;
  std::size_t next_ = 0;
  ReplacedLetters replaced_;
};

class FastaStreamWindows : public WindowReader {
 public:
  explicit FastaStreamWindows(const std::string& path) : path_(path), stream_(path) {}

  bool next(Window& window) override {
    if (!stream_.next(record_)) {
      replaced_.warn(path_, stream_.iupac_replaced());
      return false;
    }
    const auto length = static_cast<std::int64_t>(record_.sequence.size());
    window = {record_.name, record_.name, 0, length, '+', -1, std::move(record_.sequence)};
    return true;
  }

 private:
  std::string path_;
  FastaStream stream_;
  FastaRecord record_;
  ReplacedLetters replaced_;
};

class LineWindows : public WindowReader {
 public:
  LineWindows(const std::string& path, const Tokenizer& tokenizer)
      : path_(path), lines_(path), tokenizer_(tokenizer) {}

  bool next(Window& window) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) {
        replaced_.warn(path_, count_);
        return false;
      }
    } while (line.find_first_not_of(" \t") == std::string_view::npos);
    std::string text(line);
    if (tokenizer_.is_dna()) {
      TypedDna dna = read_typed_dna(line, tokenizer_, lines_.where());
      count_ += dna.replaced;
      text = std::move(dna.text);
    } else if (first_) {
      refuse_dna(line, lines_.where());
    }
    first_ = false;
    const auto length = static_cast<std::int64_t>(text.size());
    window = {fmt::format("line{}", lines_.line_number()), ".", 0, length, '.', -1, std::move(text)};
    return true;
  }

 private:
  std::string path_;
  LineReader lines_;
  const Tokenizer& tokenizer_;
  bool first_ = true;
  std::uint64_t count_ = 0;
  ReplacedLetters replaced_;
};

class TextWindows : public WindowReader {
 public:
  TextWindows(const std::string& path, const LabelledTextOptions& options) : texts_(path, options) {}

  bool next(Window& window) override {
    LabelledText row;
    if (!texts_.next(row)) return false;
    if (row.pair) {
      throw_bad_input(row.place + ": two texts in a row, of which one vector is to be made",
                      message("name the one that is meant with `text_column`"));
    }
    const auto length = static_cast<std::int64_t>(row.text.size());
    window = {std::move(row.id), ".", 0, length, '.', -1, std::move(row.text)};
    return true;
  }

 private:
  LabelledTexts texts_;
};

class BedWindows : public WindowReader {
 public:
  BedWindows(const std::string& bed, const std::string& fasta)
      : reader_(bed, 6), fasta_(fasta), names_(fasta_.contigs()) {}

  bool next(Window& window) override {
    if (!reader_.next(record_)) {
      replaced_.warn(fasta_.path(), fasta_.iupac_replaced());
      return false;
    }
    const std::size_t contig = names_.require(record_.chrom, reader_.where());
    if (record_.begin == record_.end) throw_bad_input(reader_.where() + ": the window is empty");
    if (record_.end > names_[contig].length) {
      throw_bad_input(
          fmt::format("{}: {}-{} reaches beyond {} ({} bp)", reader_.where(), record_.begin, record_.end,
                      record_.chrom, names_[contig].length),
          "cut the windows to the contigs of this genome, or check that it is the right assembly");
    }
    const char strand = record_.strand == '-' ? '-' : '+';
    std::string sequence = fasta_.fetch(contig, record_.begin, record_.end);
    if (strand == '-') sequence = reverse_complement(sequence);
    const std::string id = record_.name == "."
                               ? fmt::format("{}:{}-{}", record_.chrom, record_.begin + 1, record_.end)
                               : record_.name;
    window = {id, record_.chrom, record_.begin, record_.end, strand, -1, std::move(sequence)};
    return true;
  }

 private:
  BedReader reader_;
  Fasta fasta_;
  ContigNames names_;
  BedRecord record_;
  ReplacedLetters replaced_;
};

}  // namespace

std::unique_ptr<WindowReader> read_fasta_windows(const std::string& path) {
  if (path == "-" || is_stream_only(path)) return std::make_unique<FastaStreamWindows>(path);
  return std::make_unique<FastaWindows>(path);
}

std::unique_ptr<WindowReader> read_text_windows(const std::string& path, const LabelledTextOptions& options) {
  return std::make_unique<TextWindows>(path, options);
}

std::unique_ptr<WindowReader> read_line_windows(const std::string& path, const Tokenizer& tokenizer) {
  return std::make_unique<LineWindows>(path, tokenizer);
}

std::unique_ptr<WindowReader> read_bed_windows(const std::string& bed, const std::string& fasta) {
  return std::make_unique<BedWindows>(bed, fasta);
}

double share_of_n(std::string_view sequence) {
  if (sequence.empty()) return 0.0;
  return static_cast<double>(std::count(sequence.begin(), sequence.end(), 'N')) /
         static_cast<double>(sequence.size());
}

namespace {

bool put_between_cls_and_sep(const Tokenizer& tokenizer, const std::vector<std::uint32_t>& tokens,
                             std::int64_t max_tokens, std::vector<std::int32_t>& ids) {
  const SpecialIds& special = tokenizer.special();
  const std::size_t kept = std::min(tokens.size(), static_cast<std::size_t>(max_tokens) - special.around());
  ids = between_special_pieces(std::span(tokens).first(kept), special);
  return kept < tokens.size();
}

}  // namespace

bool encode_window(const Tokenizer& tokenizer, std::string_view sequence, std::int64_t max_tokens,
                   std::vector<std::int32_t>& ids) {
  std::vector<std::uint32_t> tokens;
  tokenizer.encode(sequence, tokens);
  return put_between_cls_and_sep(tokenizer, tokens, max_tokens, ids);
}

bool encode_window_like(const Tokenizer& tokenizer, std::string_view sequence, std::int64_t max_tokens,
                        const KnownEncoding& known, std::vector<std::int32_t>& ids, std::size_t& taken) {
  std::vector<std::uint32_t> tokens;
  taken += tokenizer.encode_like(sequence, known, tokens);
  return put_between_cls_and_sep(tokenizer, tokens, max_tokens, ids);
}

}  // namespace bigbird
