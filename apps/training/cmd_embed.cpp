// `bigbird embed`: vectors of sequences, and a table that says what each row stands for.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/variant_options.h"
#include "apps/work_options.h"
#include "lib/core/error.h"
#include "lib/genomics/language_scorer.h"
#include "lib/genomics/variants/allele_windows.h"
#include "lib/inference/embed.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t sequences_of_a_chunk = 256;

struct EmbedCommand {
  std::string model, records, fasta, regions, text, variants, output;
  std::string pool = "mean";
  ScoringOptions scoring;
  WorkOptions work;
  std::int64_t window = 0;
};

void add_options(Verb& verb, EmbedCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.model, "Model folder; its output head is not used");
  verb.add_option("FASTA", typed.records, "Records, each one sequence, on the forward strand; - is stdin");
  verb.add_option("-f,--fasta-ref FASTA", typed.fasta, "Genome for --regions-file or --vcf");
  verb.add_option("-R,--regions-file BED", typed.regions,
                  "Regions, each a window; strand - is reverse-complemented; - is stdin");
  verb.add_option(
      "--lines FILE", typed.text,
      "Lines, each that is not blank one sequence, of words or of bases, as the model reads; - is stdin");
  verb.add_option("--vcf FILE", typed.variants,
                  "Variants, each ALT a window with three vectors: with REF, with ALT, and their difference; "
                  "alleles are placed as by `variants`; - is stdin");
  verb.with_word(
      verb.add_option("--window BP", typed.window,
                      "Bases of a window of --vcf (default: as the model was trained; of a language "
                      "model 512, or 32 less than it has positions)",
                      CLI::Range(0, 1 << 24)),
      "auto", "0");
  verb.add_option(
      "--pool POOL", typed.pool,
      "Part that a vector is of: cls, the token [CLS]; mean, a sequence's tokens; token, each token; bin:N, "
      "every N bases, the mean over the tokens there, each weighted by its bases in the bin; variant, the "
      "token at the variant (--vcf)");
  verb.add_required(
      "-o,--output FILE", typed.output,
      "OUT.npy (float32, a row each), OUT.safetensors or OUT.h5 (embeddings); the table goes to "
      "OUT.rows.tsv");
  typed.scoring.add(verb, {});
  typed.work.add(verb);
  typed.work.add_chunk(verb, "sequences", sequences_of_a_chunk);
  add_machine(verb);
}

std::string require_one_input(const EmbedCommand& typed) {
  std::string input;
  int sources = 0;
  for (const std::string* source : {&typed.records, &typed.regions, &typed.text, &typed.variants}) {
    if (source->empty()) continue;
    input = *source;
    ++sources;
  }
  const bool needs_genome = !typed.regions.empty() || !typed.variants.empty();
  if (sources != 1 || needs_genome == typed.fasta.empty()) {
    throw_usage("give the sequences in one way",
                "a FASTA, or --fasta-ref with --regions-file or --vcf, or --lines FILE");
  }
  return input;
}

void require_pooling_of_variants(const EmbedCommand& typed, const Pooling& pooling) {
  const bool at_variant = pooling.kind == Pooling::Kind::variant;
  if (typed.variants.empty()) {
    if (at_variant) throw_usage("--pool variant is of --vcf", "take --pool mean, cls, token or bin:N");
    if (typed.window > 0) throw_usage("--window is of --vcf", "leave it out: sequences are read whole");
    return;
  }
  if (pooling.kind == Pooling::Kind::token || pooling.kind == Pooling::Kind::bin) {
    throw_usage("--pool " + typed.pool + ": REF and ALT may have other numbers of tokens",
                "with --vcf take --pool variant, mean or cls");
  }
}

// alleles: those of --vcf, as long-lived as what is returned.
std::unique_ptr<WindowReader> open_windows(const EmbedCommand& typed, const ModelFolder& folder,
                                           const AlleleWindows*& alleles) {
  if (!typed.records.empty()) return read_fasta_windows(typed.records);
  if (!typed.regions.empty()) return read_bed_windows(typed.regions, typed.fasta);
  if (!typed.text.empty()) return read_line_windows(typed.text, folder.tokenizer());
  VariantScoringOptions scoring;
  scoring.input = typed.variants;
  scoring.fasta = typed.fasta;
  scoring.windows.window = typed.window;
  const std::optional<ModelWindow> own = read_model_window(typed.model);
  if (scoring.windows.window == 0 && !own) scoring.windows.window = usual_language_window(folder.config());
  auto windows = std::make_unique<AlleleWindows>(scoring, own);
  alleles = windows.get();
  return windows;
}

}  // namespace

int cmd_embed(int argc, char** argv) {
  Verb verb("embed", "Turn sequences into vectors: a matrix, and a table of its rows.",
            {("awk -v OFS='\\t' '{ print $1, $2 - 200, $3 + 199 }' "
              "demo-output/genome/promoters.tss.bed > windows.bed && bigbird embed -m "
              "demo-output/pretrain/final -f demo-output/genome/genome.fa.gz -R windows.bed -o "
              "vectors.npy"),
             ("for i in 1 2; do bigbird embed -m demo-output/pretrain/final -f "
              "demo-output/genome/genome.fa.gz -R windows.bed --shard $i/2 -o vectors$i; done"),
             ("awk 'NR > 1 { print \">\" $1 \"\\n\" $8 }' demo-output/promoters/test.tsv | bigbird "
              "embed -m demo-output/pretrain/final - --pool bin:200 -o bins.safetensors"),
             ("bigbird embed -m demo-text-output/pretrain/final --lines demo-text-output/context.txt "
              "--pool token -o tokens.npy"),
             ("bigbird embed -m demo-output/pretrain/final -f demo-output/genome/genome.fa.gz --vcf "
              "demo-output/genome/variants.vcf.gz --pool variant -o alleles.npy")});
  EmbedCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const auto& [model, records, fasta, regions, text, variants, output, pool, scoring, work, window] = typed;
  const std::string input = require_one_input(typed);
  const Pooling pooling = parse_pooling(pool);
  require_pooling_of_variants(typed, pooling);

  const ModelFolder folder(model);
  if (text.empty()) folder.require(Alphabet::dna);
  const AlleleWindows* alleles = nullptr;
  const std::unique_ptr<WindowReader> windows = open_windows(typed, folder, alleles);
  const auto backend = verb.make_backend();
  Embedder embedder(folder, {pooling, scoring.batch()}, *backend);

  EmbedOptions options;
  options.input = input;
  options.pool = pool;
  options.output = output;
  options.metadata = {{"format", "pt"}};
  options.work = work.work(verb);
  if (verb.provenance()) {
    Provenance provenance = verb.made_from(fasta);
    const WeightFiles weights(model);
    for (const std::string& file : weights.files()) {
      provenance.inputs.push_back(model_input(file, sha256_file(file)));
    }
    options.comments = verb.head_of(output, provenance);
    options.metadata["provenance"] = provenance_json(provenance);
  }
  const std::uint64_t count = run_embed(options, *windows, embedder);
  if (alleles != nullptr && alleles->tally().records > 0) log_alleles(alleles->tally());
  verb.set_throughput(static_cast<double>(count), "sequences");
  return 0;
}

}  // namespace bigbird::apps
