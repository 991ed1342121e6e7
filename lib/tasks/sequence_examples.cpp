// Readers of labelled windows; see sequence_examples.h.
#include "lib/tasks/sequence_examples.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/bed.h"
#include "lib/io/contig_names.h"
#include "lib/io/fasta.h"
#include "lib/io/tsv.h"

namespace bigbird {
namespace {

// Upper case, and N for every letter that is no base: what lib/io/fasta.h does for genomes.
void normalise_bases(std::string& sequence) {
  for (char& base : sequence) {
    switch (base) {
      case 'a':
      case 'c':
      case 'g':
      case 't':
        base = static_cast<char>(base - 'a' + 'A');
        break;
      case 'A':
      case 'C':
      case 'G':
      case 'T':
        break;
      default:
        base = 'N';
    }
  }
}

class TsvExamples : public ExampleReader {
 public:
  explicit TsvExamples(const std::string& path)
      : reader_(path),
        id_(reader_.column("id")),
        chrom_(reader_.column("chrom")),
        start_(reader_.column("start")),
        end_(reader_.column("end")),
        strand_(reader_.column("strand")),
        sequence_(reader_.column("sequence")),
        has_label_(reader_.has_column("label")),
        label_(has_label_ ? reader_.column("label") : 0) {}

  bool next(SequenceExample& example) override {
    if (!reader_.next(fields_)) return false;
    example.id = fields_[id_];
    example.chrom = fields_[chrom_];
    example.begin = parse_integer(fields_[start_], reader_.where(), "start");
    example.end = parse_integer(fields_[end_], reader_.where(), "end");
    example.strand = fields_[strand_] == "-" ? '-' : '+';
    example.sequence = fields_[sequence_];
    if (example.sequence.empty()) throw_bad_input(reader_.where() + ": the sequence is empty");
    normalise_bases(example.sequence);
    example.label = -1;
    if (has_label_) {
      const std::int64_t label = parse_integer(fields_[label_], reader_.where(), "label");
      if (label < 0 || label > std::numeric_limits<std::int32_t>::max()) {
        throw_bad_input(fmt::format("{}: label {} is no class number", reader_.where(), label),
                        "classes count from 0");
      }
      example.label = static_cast<std::int32_t>(label);
    }
    return true;
  }

 private:
  TsvReader reader_;
  std::size_t id_, chrom_, start_, end_, strand_, sequence_;
  bool has_label_;
  std::size_t label_;
  std::vector<std::string_view> fields_;
};

class FastaExamples : public ExampleReader {
 public:
  explicit FastaExamples(const std::string& path) : fasta_(path) {}

  bool next(SequenceExample& example) override {
    if (next_ == fasta_.contigs().size()) return false;
    const Contig& contig = fasta_.contigs()[next_];
    example = {contig.name, contig.name, 0, contig.length, '+', -1, fasta_.fetch(next_, 0, contig.length)};
    ++next_;
    return true;
  }

 private:
  Fasta fasta_;
  std::size_t next_ = 0;
};

class BedExamples : public ExampleReader {
 public:
  BedExamples(const std::string& bed, const std::string& fasta)
      : reader_(bed, 6), fasta_(fasta), names_(fasta_.contigs()) {}

  bool next(SequenceExample& example) override {
    if (!reader_.next(record_)) return false;
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
    example = {id, record_.chrom, record_.begin, record_.end, strand, -1, std::move(sequence)};
    return true;
  }

 private:
  BedReader reader_;
  Fasta fasta_;
  ContigNames names_;
  BedRecord record_;
};

}  // namespace

std::unique_ptr<ExampleReader> read_tsv_examples(const std::string& path) {
  return std::make_unique<TsvExamples>(path);
}

std::unique_ptr<ExampleReader> read_fasta_examples(const std::string& path) {
  return std::make_unique<FastaExamples>(path);
}

std::unique_ptr<ExampleReader> read_bed_examples(const std::string& bed, const std::string& fasta) {
  return std::make_unique<BedExamples>(bed, fasta);
}

bool encode_example(const Tokenizer& tokenizer, const std::string& sequence, std::int64_t max_tokens,
                    std::vector<std::int32_t>& ids) {
  std::vector<std::uint32_t> tokens;
  tokenizer.encode(sequence, tokens);
  const std::size_t room = static_cast<std::size_t>(max_tokens - 2);
  const bool cut = tokens.size() > room;
  if (cut) tokens.resize(room);
  ids.clear();
  ids.reserve(tokens.size() + 2);
  ids.push_back(static_cast<std::int32_t>(tokenizer.special().cls));
  for (const std::uint32_t token : tokens) ids.push_back(static_cast<std::int32_t>(token));
  ids.push_back(static_cast<std::int32_t>(tokenizer.special().sep));
  return cut;
}

}  // namespace bigbird
