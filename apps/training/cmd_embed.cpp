// `bigbird embed`: vectors of sequences, and a table that says what each row stands for.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/work_options.h"
#include "lib/core/error.h"
#include "lib/inference/embed.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t sequences_of_a_chunk = 256;

struct EmbedCommand {
  std::string model, records, fasta, regions, text, output;
  std::string pool = "mean";
  ScoringOptions scoring;
  WorkOptions work;
};

void add_options(Verb& verb, EmbedCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.model, "Model folder; its output head is not used");
  verb.add_option("FASTA", typed.records, "Records, each one sequence, on the forward strand; - is stdin");
  verb.add_option("-f,--fasta-ref FASTA", typed.fasta, "Genome for --regions-file");
  verb.add_option("-R,--regions-file BED", typed.regions,
                  "Regions, each a window; strand - is reverse-complemented; - is stdin");
  verb.add_option(
      "--lines FILE", typed.text,
      "Lines, each that is not blank one sequence, of words or of bases, as the model reads; - is stdin");
  verb.add_option(
      "--pool POOL", typed.pool,
      "Part that a vector is of: cls, the token [CLS]; mean, a sequence's tokens; token, each token; bin:N, "
      "every N bases, the mean over the tokens there, each weighted by its bases in the bin");
  verb.add_required(
      "-o,--output FILE", typed.output,
      "OUT.npy (float32, a row each), OUT.safetensors or OUT.h5 (embeddings); the table goes to "
      "OUT.rows.tsv");
  typed.scoring.add(verb, {});
  typed.work.add(verb);
  typed.work.add_chunk(verb, "sequences", sequences_of_a_chunk);
  add_machine(verb);
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
              "--pool token -o tokens.npy")});
  EmbedCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const auto& [model, records, fasta, regions, text, output, pool, scoring, work] = typed;
  const int sources = (records.empty() ? 0 : 1) + (regions.empty() ? 0 : 1) + (text.empty() ? 0 : 1);
  if (sources != 1 || regions.empty() != fasta.empty()) {
    throw_usage("give the sequences in one way",
                "a FASTA, or --fasta-ref with --regions-file, or --lines FILE");
  }
  const Pooling pooling = parse_pooling(pool);

  const ModelFolder folder(model);
  if (text.empty()) folder.require(Alphabet::dna);
  const std::unique_ptr<WindowReader> windows = !records.empty() ? read_fasta_windows(records)
                                                : !regions.empty()
                                                    ? read_bed_windows(regions, fasta)
                                                    : read_line_windows(text, folder.tokenizer());
  const auto backend = verb.make_backend();
  Embedder embedder(folder, {pooling, scoring.batch()}, *backend);

  EmbedOptions options;
  options.input = !records.empty() ? records : !regions.empty() ? regions : text;
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
  verb.set_throughput(static_cast<double>(count), "sequences");
  return 0;
}

}  // namespace bigbird::apps
