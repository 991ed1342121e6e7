// `bigbird train-bpe`: a byte-pair vocabulary for DNA from a sample of sentences.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/data/vocabulary.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {

void add_options(Verb& verb, VocabularyOptions& options) {
  verb.add_option("-f,--fasta-ref FASTA", options.source.fasta, "Genome (FASTA with .fai)");
  verb.add_option("-d,--documents BED", options.source.documents,
                  "Documents (BED12, as bigbird chunk writes them)");
  verb.add_option("--lines FILE", options.source.text, "Lines instead of both: a sentence of DNA each");
  verb.add_required("-o,--output FOLDER", options.output, "Tokenizer folder to make");
  verb.add_count("--vocab-size", options.vocab_size, "Pieces, with 5 special ones and the letters A C G T N");
  verb.add_count("--sample-bp", options.sample_bases,
                 "Bases of the random sample of sentences that is trained on");
  verb.with_word(verb.add_count("--max-piece-length", options.max_piece_length,
                                "Longest piece, bp; none: no limit (not with sentencepiece). 64 keeps long N "
                                "runs and satellites from filling the vocabulary"),
                 "none", "0");
  verb.add_option(
      "--trainer", options.trainer,
      "Trainer: exact, BPE by its definition, every two neighbouring pieces counted, as Hugging Face's "
      "trainer counts; apart, of a run only pairs that do not overlap, the rule of vocabularies made before; "
      "sentencepiece, the library's trainer, minutes for 20 Mb before its version 0.2.3",
      CLI::IsMember({"exact", "apart", "sentencepiece"}));
  verb.add_seed();
  verb.add_threads();
  verb.add_force();
}

}  // namespace

int cmd_train_bpe(int argc, char** argv) {
  Verb verb("train-bpe",
            "Train a byte-pair vocabulary of DNA, a SentencePiece model, on a seeded sample of sentences.",
            {("bigbird train-bpe -f demo-output/genome/genome.fa.gz -d demo-output/train.bed.gz -o "
              "tokenizer --vocab-size 1000"),
             ("bigbird train-bpe -f demo-output/genome/genome.fa.gz -d demo-output/train.bed.gz -o "
              "tokenizer-4096 --vocab-size 4096 --sample-bp 1M"),
             ("bigbird chunk -f demo-output/genome/genome.fa.gz --chromosomes chr3 --passes 1 -O "
              "text -o sentences.txt && bigbird train-bpe --lines sentences.txt -o tokenizer-chr3 "
              "--vocab-size 1000")});
  VocabularyOptions options;
  add_options(verb, options);
  if (!verb.parse(argc, argv)) return 0;

  const bool from_genome = !options.source.fasta.empty() && !options.source.documents.empty();
  if (options.source.text.empty() && !from_genome) {
    throw_usage("train-bpe needs a genome and its documents", "give -f FASTA and -d BED, or --lines FILE");
  }
  if (options.source.text == "-" || options.source.documents == "-") {
    throw_usage("train-bpe reads its sentences twice and cannot take them from a pipe",
                "write them to a file first");
  }
  for (const std::string& path : {options.source.text, options.source.documents})
    refuse_stream(path, "train-bpe reads its sentences twice");
  options.seed = verb.seed();
  options.overwrite = verb.force();
  if (verb.provenance()) {
    Provenance provenance = verb.made_from(options.source.fasta);
    if (from_genome) provenance.inputs.push_back({"documents", options.source.documents, ""});
    if (!from_genome) provenance.inputs.push_back({"text", options.source.text, ""});
    options.provenance = provenance;
  }
  const VocabularySummary summary = train_vocabulary(options);
  log_info(fmt::format("{} pieces; {:.3f} bases per token over the sample, {:.3f} over sequence without N",
                       summary.vocab_size, summary.bases_per_token(), summary.bases_per_token_without_n()));
  log_info(fmt::format("longest piece {} bp, {} bp without N; {} pieces with N", summary.longest_piece.size(),
                       summary.longest_piece_without_n.size(), summary.n_pieces));
  verb.set_throughput(static_cast<double>(summary.sample_bases), "bp");
  return 0;
}

}  // namespace bigbird::apps
