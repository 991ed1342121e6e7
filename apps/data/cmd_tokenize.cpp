// `bigbird tokenize`: sentences to ids, as shards for training or printed.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/data/tokenize.h"
#include "lib/io/files/provenance.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<PrintFormat, const char*>, 3> print_names{
    {{PrintFormat::ids, "ids"}, {PrintFormat::pieces, "pieces"}, {PrintFormat::bed, "bed"}}};

Provenance provenance_of(const Verb& verb, const SourceOptions& source, const std::string& folder,
                         const Tokenizer& tokenizer) {
  Provenance provenance = verb.made_from(source.fasta);
  provenance.inputs.push_back({"tokenizer", folder, tokenizer.digest()});
  if (!source.documents.empty()) provenance.inputs.push_back({"documents", source.documents, ""});
  if (!source.windows.empty()) provenance.inputs.push_back({"windows", source.windows, ""});
  if (!source.text.empty()) provenance.inputs.push_back({"text", source.text, ""});
  return provenance;
}

struct TokenizeCommand {
  SourceOptions source;
  std::string folder;
  std::string output;
  std::string print;
  std::uint64_t tokens_per_shard = 0;
};

void add_options(Verb& verb, TokenizeCommand& typed) {
  verb.add_required("-m,--tokenizer TOKENIZER", typed.folder,
                    "Tokenizer folder, or a model folder that holds one");
  verb.add_option("-f,--fasta-ref FASTA", typed.source.fasta,
                  "Genome (FASTA with .fai); without --documents: a document per record");
  verb.add_option("-d,--documents BED", typed.source.documents,
                  "Documents (BED12): a block per sentence; strand - is read as the "
                  "reverse complement, last block first");
  verb.add_option("-R,--regions-file BED", typed.source.windows, "Regions, each a document of one sentence")
      ->excludes("--documents");
  verb.add_option("--lines FILE", typed.source.text,
                  "Lines instead of a genome: a sentence each, a blank one between documents; - is stdin");
  verb.add_option("-o,--output PREFIX", typed.output, "Prefix of PREFIX.bin, PREFIX.idx and PREFIX.json");
  verb.with_word(verb.add_count("--shard-tokens", typed.tokens_per_shard,
                                "Tokens of a shard at most (PREFIX.00000.bin, PREFIX.00001.bin, ...): a new "
                                "one begins before the document that would pass them, or never"),
                 "never", "0");
  verb.add_option(
          "--print", typed.print,
          "Lines to print instead: ids or pieces, a line per sentence; bed, a line per token with its bases",
          CLI::IsMember({"ids", "pieces", "bed"}))
      ->excludes("--output");
  verb.add_threads();
}

}  // namespace

int cmd_tokenize(int argc, char** argv) {
  Verb verb("tokenize",
            "Turn sentences, regions or lines into token ids: shards for training, or lines on stdout.",
            {("bigbird tokenize -m demo-output/tokenizer -f demo-output/genome/genome.fa.gz -d "
              "demo-output/valid.bed.gz -o valid"),
             ("bigbird tokenize -m demo-output/tokenizer -f demo-output/genome/genome.fa.gz -R "
              "demo-output/genome/promoters.tss.bed --print bed > tokens.bed"),
             ("bigbird chunk -f demo-output/genome/genome.fa.gz --chromosomes chr3 --passes 1 -O "
              "text -o - | bigbird tokenize -m demo-output/tokenizer --lines - --print ids > ids.txt")});
  TokenizeCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  auto& [source, folder, output, print, tokens_per_shard] = typed;
  if (output.empty() && print.empty()) {
    throw_usage("tokenize needs somewhere to write", "give -o PREFIX, or --print ids");
  }

  const auto tokenizer = load_tokenizer(folder);
  source.dna = tokenizer->is_dna();
  TokenizeSummary summary;
  if (print.empty()) {
    std::optional<Provenance> provenance;
    if (verb.provenance()) provenance = provenance_of(verb, source, folder, *tokenizer);
    summary = tokenize_to_shards(source, *tokenizer, output, tokens_per_shard, provenance);
  } else {
    OutputStream out("-");
    summary = print_tokens(source, *tokenizer, parse_name(print_names, print, "form to print"), out);
    out.close();
  }
  const char* unit = source.dna ? "bp" : "bytes";
  log_info(fmt::format(
      "{} documents, {} sentences, {} {}, {} tokens ({:.3f} {} per token)", summary.documents,
      summary.sentences, summary.bases, unit, summary.tokens,
      summary.tokens == 0 ? 0.0 : static_cast<double>(summary.bases) / static_cast<double>(summary.tokens),
      unit));
  if (summary.iupac_replaced != 0) {
    log_info(fmt::format("{} IUPAC letters other than A C G T N were read as N", summary.iupac_replaced));
  }
  verb.set_throughput(static_cast<double>(summary.bases), unit);
  return 0;
}

}  // namespace bigbird::apps
