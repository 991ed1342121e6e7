// `bigbird chunk`: a genome cut into pretraining documents (BigBird paper, appendix F.1).
#include <fmt/format.h>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/data/chunk.h"

namespace bigbird::apps {
namespace {

void add_options(Verb& verb, ChunkOptions& options, std::string& format, std::string& strands) {
  verb.add_required("-f,--fasta-ref FASTA", options.fasta,
                    "Genome (FASTA with .fai); BED12 without N limits needs only the .fai");
  verb.add_option("-o,--output FILE", options.output, "File of the documents; - is stdout, .gz is BGZF");
  verb.add_option(
      "-O,--output-type", format,
      "Type of the output: bed12, a line per document, a block per sentence; text, a sentence per line, a blank line between documents",
      CLI::IsMember({"bed12", "text"}));
  verb.add_count("--passes", options.recipe.passes, "Passes over each chromosome");
  verb.add_option(
          "--chromosomes A,B", options.chromosomes,
          "Contigs to cut, under any naming, in this order; all takes every contig (default: 1-22, X, Y)")
      ->delimiter(',');
  verb.add_exclude(options.exclude, "documents are cut so that no sentence touches them");
  verb.add_option("--max-n", options.max_n_document,
                  "Largest fraction of N in a document; the others are dropped", CLI::Range(0.0, 1.0))
      ->group("Limits on N (these read the FASTA)");
  verb.add_option("--max-n-sentence", options.max_n_sentence,
                  "Largest fraction of N in a sentence; the others are dropped, and cut their document there",
                  CLI::Range(0.0, 1.0))
      ->group("Limits on N (these read the FASTA)");
  verb.add_option("--strands", strands,
                  "Strands that documents are written of: +, or both, every document a second time on the "
                  "reverse strand",
                  CLI::IsMember({"+", "both"}));
  DocumentRecipe& recipe = options.recipe;
  const OptionGroup group(verb, "Recipe (defaults: the paper's)");
  verb.add_count("--max-start", recipe.max_start, "Last base, from 0 on, that a pass may start at");
  verb.add_count("--min-sentences", recipe.min_sentences, "Fewest sentences in a document");
  verb.add_count("--max-sentences", recipe.max_sentences, "Most sentences in a document");
  verb.add_count("--min-sentence-length", recipe.min_sentence_length, "Shortest sentence, bp");
  verb.add_count("--max-sentence-length", recipe.max_sentence_length, "Longest sentence, bp");
  verb.add_seed();
  verb.add_threads();
}

}  // namespace

int cmd_chunk(int argc, char** argv) {
  Verb verb("chunk", "Cut a genome into documents of consecutive sentences, for pretraining.",
            {"bigbird chunk -f demo-output/genome/genome.fa.gz -o documents.bed.gz",
             ("bigbird chunk -f demo-output/genome/genome.fa.gz -o train.bed --exclude "
              "demo-output/genome/promoters.tss.bed --max-n 0.5 --max-n-sentence 0.9"),
             ("bigbird chunk -f demo-output/genome/genome.fa.gz --chromosomes chr2,chr3 --passes 1 "
              "-O text -o sentences.txt")});
  ChunkOptions options;
  std::string format = "bed12", strands = "+";
  add_options(verb, options, format, strands);
  if (!verb.parse(argc, argv)) return 0;

  options.seed = verb.seed();
  options.reverse_complement = strands == "both";
  options.format = format == "text" ? ChunkFormat::text : ChunkFormat::bed12;
  options.provenance = verb.head_of(options.output, verb.made_from(options.fasta));
  const ChunkSummary summary = chunk_genome(options);
  log_info(fmt::format("{} documents, {} sentences, {} bp from {} chromosome{}", summary.documents,
                       summary.sentences, summary.bases, summary.chromosomes,
                       summary.chromosomes == 1 ? "" : "s"));
  if (summary.dropped.sentences_excluded + summary.dropped.sentences_with_n +
          summary.dropped.documents_with_n >
      0) {
    log_info(fmt::format(
        "dropped: {} sentences in excluded regions, {} sentences and {} documents with too many N",
        summary.dropped.sentences_excluded, summary.dropped.sentences_with_n,
        summary.dropped.documents_with_n));
  }
  verb.set_throughput(static_cast<double>(summary.bases), "bp");
  return 0;
}

}  // namespace bigbird::apps
