// `bigbird fill-mask`: masked tokens of a text or of a genomic region, and what a model puts there.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/core/error.h"
#include "lib/inference/fill_mask.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model_folder/model_folder.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/typed_text.h"

namespace bigbird::apps {
namespace {

struct FillMaskCommand {
  std::string model, text, fasta, region;
  std::string output = "-";
  std::vector<std::int64_t> positions;
  std::size_t top = 5;
  std::size_t every = 7;
};

// Tokens and the places of a sequence: `begin` is the place of its first byte.
struct Sequence {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint32_t> offsets;

  std::int64_t begin_of(std::size_t token) const { return begin + offsets[token]; }
  std::int64_t end_of(std::size_t token) const {
    return token + 1 < offsets.size() ? begin_of(token + 1) : begin + length;
  }
};

class Table {
 public:
  Table(OutputStream& out, const Tokenizer& tokenizer, const std::vector<std::string>& comments)
      : tokenizer_(tokenizer),
        table_(out,
               {"sequence", "start", "end", "actual", "actual_probability", "rank", "piece", "probability"},
               comments) {}

  // `known`: whether another token than [MASK] stood there.
  void write(const Sequence& sequence, const std::vector<FilledMask>& filled, bool known) {
    for (const FilledMask& mask : filled) {
      const std::string actual =
          known ? escape_controls(tokenizer_.piece(sequence.tokens[mask.token])) : missing_field;
      for (std::size_t rank = 0; rank < mask.guesses.size(); ++rank) {
        const Guess& guess = mask.guesses[rank];
        table_.row({sequence.name, std::to_string(sequence.begin_of(mask.token)),
                    std::to_string(sequence.end_of(mask.token)), actual,
                    known ? fmt::format("{:.6g}", mask.actual_probability) : missing_field,
                    std::to_string(rank + 1), escape_controls(tokenizer_.piece(guess.id)),
                    fmt::format("{:.6g}", guess.probability)});
      }
    }
  }

 private:
  const Tokenizer& tokenizer_;
  TsvWriter table_;
};

// Returns the number of masked tokens.
std::size_t fill_region(const FillMaskCommand& options, MaskFiller& filler, Table& table) {
  filler.folder().require(Alphabet::dna);
  Fasta fasta(options.fasta);
  const ContigNames names(fasta.contigs());
  const Region region = parse_region(options.region, names);
  const std::string bases = fasta.fetch(region.contig, region.begin, region.end);
  warn_of_replaced_letters(options.region, fasta.iupac_replaced());
  Sequence sequence{names[region.contig].name, region.begin, region.end - region.begin, {}, {}};
  filler.tokenizer().encode(bases, sequence.tokens, &sequence.offsets);
  if (options.positions.empty()) {
    const std::vector<FilledMask> filled =
        filler.fill_in_turn(sequence.tokens, options.every, options.region);
    table.write(sequence, filled, true);
    return filled.size();
  }
  std::vector<std::size_t> masked;
  for (const std::int64_t position : options.positions) {
    if (position <= region.begin || position > region.end) {
      throw_bad_input(fmt::format("--position {} is outside of {}", position, options.region),
                      "positions count from 1, as regions do");
    }
    const auto offset = static_cast<std::uint32_t>(position - 1 - region.begin);
    const auto after = std::upper_bound(sequence.offsets.begin(), sequence.offsets.end(), offset);
    masked.push_back(static_cast<std::size_t>(after - sequence.offsets.begin()) - 1);
  }
  std::sort(masked.begin(), masked.end());
  masked.erase(std::unique(masked.begin(), masked.end()), masked.end());
  const std::vector<FilledMask> filled = filler.fill(sequence.tokens, masked, options.region);
  table.write(sequence, filled, true);
  return filled.size();
}

std::size_t fill_text(const std::string& name, const std::string& text, MaskFiller& filler, Table& table) {
  Sequence sequence{name, 0, static_cast<std::int64_t>(text.size()), {}, {}};
  warn_of_replaced_letters(
      name, encode_typed_text(text, filler.tokenizer(), name, sequence.tokens, sequence.offsets));
  const std::uint32_t mask = filler.tokenizer().special().mask;
  std::vector<std::size_t> masked;
  for (std::size_t token = 0; token < sequence.tokens.size(); ++token) {
    if (sequence.tokens[token] == mask) masked.push_back(token);
  }
  if (masked.empty()) {
    const std::string& piece = filler.tokenizer().piece(mask);
    throw_bad_input(fmt::format("{}: there is no {} in it", name, piece),
                    "write " + piece + " where the model is to put something");
  }
  table.write(sequence, filler.fill(sequence.tokens, masked, name), false);
  return masked.size();
}

std::size_t fill_lines(MaskFiller& filler, Table& table) {
  LineReader lines("-");
  std::size_t count = 0;
  std::string_view line;
  while (lines.next(line)) {
    if (line.empty()) continue;
    count += fill_text(fmt::format("line{}", lines.line_number()), std::string(line), filler, table);
  }
  if (count == 0) throw_bad_input("the standard input holds no text", "give a text with [MASK] in it");
  return count;
}

}  // namespace

int cmd_fill_mask(int argc, char** argv) {
  Verb verb("fill-mask", "Show what a model puts in place of masked tokens; TSV.",
            {("bigbird fill-mask -m demo-output/pretrain/final -f demo-output/genome/genome.fa.gz -r "
              "chr1:100001-100400"),
             ("bigbird fill-mask -m demo-output/pretrain/final -f demo-output/genome/genome.fa.gz -r "
              "chr1:100001-100400 --position 100200 --top 10"),
             "bigbird fill-mask -m demo-output/pretrain/final 'ACGTTGCA[MASK]GGTCA'",
             ("bigbird fill-mask -m demo-text-output/pretrain/final \"The function returns 0 on "
              "success and -1 on [MASK].\"")});
  FillMaskCommand options;
  verb.add_required("-m,--model MODEL", options.model, "Model folder with a masked-token head");
  verb.add_option("TEXT", options.text,
                  "Text with [MASK] in it, all of them masked at once; - reads a text from "
                  "every line of stdin");
  CLI::Option* const fasta =
      verb.add_option("-f,--fasta-ref FASTA", options.fasta, "Genome (FASTA with .fai)")->excludes("TEXT");
  fasta->needs(verb.add_option("-r,--region REGION", options.region,
                               "Region of the genome, 1-based and closed; forward strand")
                   ->needs(fasta));
  verb.add_option("--position", options.positions, "Positions whose tokens are masked, all at once (1-based)")
      ->delimiter(',')
      ->needs("--region");
  verb.add_option("--every", options.every,
                  "Distance N of tokens that are masked at once: every N-th, then the ones after them, until "
                  "each was masked once; a number beyond the region's tokens masks one at a time",
                  CLI::Range(std::size_t{1}, std::numeric_limits<std::size_t>::max() / 2))
      ->excludes("--position");
  verb.add_option("--top", options.top, "Pieces to show for every masked token, the most probable first",
                  CLI::Range(1, 1 << 24));
  verb.add_option("-o,--output FILE", options.output, "TSV to write; - is stdout");
  add_machine(verb);
  if (!verb.parse(argc, argv)) return 0;
  if (options.text.empty() && options.region.empty()) {
    throw_usage("fill-mask needs something to fill", "give a text with [MASK], or -f FASTA -r REGION");
  }

  const auto backend = verb.make_backend({options.model});
  MaskFiller filler(options.model, options.top, *backend);
  std::vector<std::string> comments;
  if (verb.provenance()) {
    Provenance provenance = verb.made_from(options.fasta);
    const WeightFiles weights(options.model);
    for (const std::string& file : weights.files()) {
      provenance.inputs.push_back(model_input(file, sha256_file(file)));
    }
    comments = verb.head_of(options.output, provenance);
  }
  OutputStream out(options.output);
  Table table(out, filler.tokenizer(), comments);
  const std::size_t count = !options.region.empty() ? fill_region(options, filler, table)
                            : options.text == "-"   ? fill_lines(filler, table)
                                                    : fill_text("text", options.text, filler, table);
  out.close();
  verb.set_throughput(static_cast<double>(count), "masked tokens");
  return 0;
}

}  // namespace bigbird::apps
