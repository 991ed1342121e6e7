// Sources of documents and the loader of their sentences; see sentence_source.h.
#include "lib/data/sentence_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/contig_names.h"
#include "lib/tokenization/typed_text.h"

namespace bigbird {
namespace {

class GenomeSource : public DocumentSource {
 public:
  explicit GenomeSource(const std::string& fasta) : fasta_(fasta), names_(fasta_.contigs()) {}
  const Fasta* genome() const override { return &fasta_; }
  std::uint64_t iupac_replaced() const override { return fasta_.iupac_replaced(); }

 protected:
  Fasta fasta_;
  ContigNames names_;
};

class RecordSource final : public GenomeSource {
 public:
  using GenomeSource::GenomeSource;
  bool next(PlannedDocument& document) override {
    if (contig_ == names_.size()) return false;
    const Contig& contig = names_[contig_];
    document = {};
    document.name = contig.name;
    document.contig_name = contig.name;
    document.contig = contig_++;
    document.sentences = {{0, contig.length}};
    return true;
  }

 private:
  std::size_t contig_ = 0;
};

class BedSource final : public GenomeSource {
 public:
  BedSource(const std::string& fasta, const std::string& bed, bool blocks)
      : GenomeSource(fasta), bed_(bed), blocks_(blocks) {}

  bool next(PlannedDocument& document) override {
    if (!bed_.next(record_)) return false;
    if (blocks_ && record_.columns < 12) {
      throw_bad_input(fmt::format("{}: {} columns; documents are BED12", bed_.where(), record_.columns),
                      message("make them with bigbird chunk, or give windows with `windows`"));
    }
    document = {};
    document.contig = names_.require(record_.chrom, bed_.where());
    const Contig& contig = names_[document.contig];
    if (record_.begin < 0 || record_.end > contig.length) {
      throw_bad_input(fmt::format("{}: {}:{}-{} is not inside the contig ({} bp)", bed_.where(), contig.name,
                                  record_.begin, record_.end, contig.length),
                      "the BED belongs to another assembly, or the FASTA is cut off");
    }
    document.name = record_.name;
    document.contig_name = contig.name;
    document.reverse = record_.strand == '-';
    if (!blocks_) {
      document.sentences = {{record_.begin, record_.end}};
      return true;
    }
    for (const BedBlock& block : record_.blocks) {
      document.sentences.push_back({record_.begin + block.begin, record_.begin + block.begin + block.length});
    }
    if (document.reverse) std::reverse(document.sentences.begin(), document.sentences.end());
    return true;
  }

 private:
  BedReader bed_;
  bool blocks_;
  BedRecord record_;
};

class TextSource final : public DocumentSource {
 public:
  TextSource(const std::string& path, bool dna) : lines_(path), dna_(dna) {}
  const Fasta* genome() const override { return nullptr; }
  std::uint64_t iupac_replaced() const override { return iupac_replaced_; }

  bool next(PlannedDocument& document) override {
    document = {};
    std::string_view line;
    while (lines_.next(line)) {
      if (line.empty()) {
        if (!document.texts.empty()) break;
        continue;
      }
      std::string text(line);
      if (dna_) {
        make_dna(text);
      } else if (documents_ == 0 && document.texts.empty()) {
        refuse_dna(text, lines_.where());
      }
      document.sentences.push_back({0, static_cast<std::int64_t>(text.size())});
      document.texts.push_back(std::move(text));
    }
    if (document.texts.empty()) return false;
    document.name = fmt::format("doc{}", ++documents_);
    return true;
  }

 private:
  void make_dna(std::string& text) {
    const BasesRead read = read_bases(text);
    if (read.bad != std::string_view::npos) {
      throw_bad_input(fmt::format("{}: column {} is not a base", lines_.where(), read.bad + 1),
                      "this tokenizer is for DNA: one sequence per line, nothing else");
    }
    iupac_replaced_ += read.replaced;
  }

  LineReader lines_;
  bool dna_;
  std::uint64_t iupac_replaced_ = 0;
  std::uint64_t documents_ = 0;
};

}  // namespace

std::int64_t PlannedDocument::bases() const {
  std::int64_t sum = 0;
  for (const PlannedSentence& sentence : sentences) sum += sentence.length();
  return sum;
}

std::unique_ptr<DocumentSource> open_source(const SourceOptions& options) {
  const bool genome = !options.fasta.empty();
  const int beds = (options.documents.empty() ? 0 : 1) + (options.windows.empty() ? 0 : 1);
  if (!options.text.empty()) {
    if (genome || beds != 0)
      throw_usage(message("`text` goes with nothing else"), "leave out the FASTA and the BED");
    return std::make_unique<TextSource>(options.text, options.dna);
  }
  if (!genome) throw_usage("no input", message("give a FASTA with `fasta`, or `text` FILE"));
  if (!options.dna) {
    throw_bad_input(options.fasta + ": a genome is DNA, and the tokenizer is one of text",
                    "take a tokenizer of DNA, such as `bigbird train-bpe` makes");
  }
  if (beds > 1)
    throw_usage("documents and windows exclude each other",
                message("give `documents` or `windows`, not both"));
  if (!options.documents.empty()) return std::make_unique<BedSource>(options.fasta, options.documents, true);
  if (!options.windows.empty()) return std::make_unique<BedSource>(options.fasta, options.windows, false);
  return std::make_unique<RecordSource>(options.fasta);
}

SentenceLoader::SentenceLoader(const DocumentSource& source) {
  if (source.genome() != nullptr) genome_ = source.genome()->clone();
}

std::vector<std::string> SentenceLoader::load(const PlannedDocument& document) {
  if (!document.texts.empty()) return document.texts;
  std::vector<std::string> sentences;
  if (document.sentences.empty()) return sentences;
  std::int64_t begin = document.sentences.front().begin;
  std::int64_t end = document.sentences.front().end;
  for (const PlannedSentence& sentence : document.sentences) {
    begin = std::min(begin, sentence.begin);
    end = std::max(end, sentence.end);
  }
  // Sentences lie side by side as a rule: one fetch for all, as every seek in BGZF unpacks a block of 64 kB
  // anew.
  const bool together = end - begin <= 2 * document.bases();
  const std::string all = together ? genome_->fetch(document.contig, begin, end) : std::string();
  for (const PlannedSentence& sentence : document.sentences) {
    std::string bases = together ? all.substr(static_cast<std::size_t>(sentence.begin - begin),
                                              static_cast<std::size_t>(sentence.length()))
                                 : genome_->fetch(document.contig, sentence.begin, sentence.end);
    sentences.push_back(document.reverse ? reverse_complement(bases) : std::move(bases));
  }
  return sentences;
}

std::vector<PlannedDocument> next_batch(DocumentSource& source, std::int64_t max_bases) {
  std::vector<PlannedDocument> batch;
  std::int64_t bases = 0;
  PlannedDocument document;
  while (bases < max_bases && source.next(document)) {
    bases += document.bases();
    batch.push_back(std::move(document));
  }
  return batch;
}

}  // namespace bigbird
