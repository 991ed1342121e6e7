// What every file is that the verbs write in test_info_files.cpp, by the end of its path.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace bigbird::testing {

struct Expectation {
  const char* ending;  // of the path within the folder of outputs
  const char* kind;
};
// The first row whose ending fits. A row that no file has fails as well.
inline const std::vector<Expectation>& expectations() {
  static const std::vector<Expectation> table = {
      // genomes and documents
      {"sim/peaks", "peaks"},
      {"sim/peaks/peaks.tsv", "peak files"},
      {".narrowPeak.gz", "peaks"},
      {"sim/genome.fa.gz", "genome"},
      {".fai", "genome"},
      {".gzi", "index"},
      {".tbi", "index"},
      {"promoters.tss.bed", "transcription start sites"},
      {"sim/simulate.json", "simulated genome"},
      {"sim/variants.vcf.gz", "variants"},
      {"/sim", "simulated genome"},
      {"docs.bed", "documents"},
      {"docs.txt", "sentences of DNA"},
      {"tokens.bed", "intervals"},
      {"lifted.bed", "lifted intervals"},
      {"lifted.vcf", "lifted variants"},
      {"copies.bed", "near-copies"},
      {"copies.json", "near-copies, by contig"},
      {"lost.bed", "empty file"},
      // vocabularies and shards
      {"tokenizer_config.json", "configuration of a tokenizer"},
      {"tokenizer.json", "tokenizer"},
      {"report.json", "report on a vocabulary"},
      {"spiece.model", "tokenizer"},
      {"spiece.vocab", "pieces of a vocabulary"},
      {"/tok", "tokenizer"},
      {"/texttok", "tokenizer"},
      {".bin", "shards"},
      {".idx", "shards"},
      {"shards.json", "shards"},
      {"many.json", "shards"},
      // runs and models
      {"metrics.tsv", "metrics of a run"},
      {"valid.tsv", "validations of a run"},  // but that of promoters, below
      {"memory.tsv", "memory of a run"},
      {"rates.tsv", "learning rates tried"},
      {"config.toml", "options"},
      {"provenance.json", "provenance of an output"},
      {"trainer_state.json", "state of a run"},
      {"optimizer.safetensors", "optimizer state"},
      {"model.safetensors", "weights of a model"},
      {"README.md", "model card"},
      {"config.json", "configuration of a model"},
      {"self_test.json", "self-test of a model"},
      {"calibration.json", "calibration of a model"},
      {"window.json", "window of a model"},
      {"text.json", "text settings of a model"},
      {"/final", "model"},
      {"/converted", "model"},
      {"/quantized", "model"},
      {"/checkpoint-1", "checkpoint"},
      {"/checkpoint-2", "checkpoint"},
      {"run", "run"},
      {"lr-0.001", "run"},
      {"lr-0.0001", "run"},
      {"/events", "event files of TensorBoard"},
      {".bigbird", "event file of TensorBoard"},
      {"report.html", "report"},
      {"/multiqc", "custom content for MultiQC"},
      {"_mqc.json", "custom content for MultiQC"},
      {"bench.tsv", "rates of a machine"},
      {"check.json", "check of a model"},
      {"info.json", "description"},
      {"devices.json", "devices"},
      {"evaluate.json", "evaluation of a pretrained model"},
      {"forward.safetensors", "forward pass"},
      {"plan.json", "attention plan"},
      {".svg", "picture"},
      {"fill.tsv", "masked tokens filled"},
      // vectors
      {"vectors.npy", "vectors"},
      {"vectors.h5", "vectors"},
      {"vectors.safetensors", "vectors"},
      {"vectors.rows.tsv", "vectors, rows of a matrix"},
      {"vectors.part", "shard"},
      {".run.json", "record of a run in parts"},
      // promoters
      {"prom/train.tsv", "promoter examples"},
      {"prom/test.tsv", "promoter examples"},
      {"prom/dropped.tsv", "promoters left out"},
      {"prom/manifest.json", "manifest of a promoter data set"},
      {"/prom", "promoter data set"},
      {"promoters.tsv", "promoter predictions"},
      {"promoters.json", "evaluation of promoters"},
      {"calibration.tsv", "calibration errors"},
      {"curve.tsv", "reliability curves"},
      {"scan.bedgraph", "track"},
      {"scan.bw", "track"},
      {"calls.bed", "called promoters"},
      {"scan.json", "summary of a promoter scan"},
      {"scan.bw.summary.json", "summary of a promoter scan"},
      {"scan.part", "shard"},
      // chromatin
      {"chrom/bins.bed.gz", "bins"},
      {"chrom/labels.npy", "labels of a chromatin data set"},
      {"chrom/manifest.json", "manifest of a chromatin data set"},
      {"chrom/profiles.tsv", "profiles of a chromatin data set"},
      {"profiles.tsv", "profiles of a model"},  // but that of substitutions, below
      {"/chrom", "chromatin data set"},
      {"chromatin.tsv", "predicted profiles"},
      {"chromatin.npy", "predicted profiles"},
      {"chromatin.h5", "predicted profiles"},
      {"chromatin.rows.tsv", "predicted profiles, rows of a matrix"},
      {"tracks/tracks.tsv", "tracks of a folder"},
      {"tracks", "tracks"},
      {".bedgraph", "track"},
      {"chromatin.part", "shard"},
      {"chromatin.json", "evaluation of profiles"},
      {"by-profile.tsv", "evaluation of profiles"},
      {"errors.tsv", "calibration errors of profiles"},
      // variants
      {"skipped.tsv", "skipped variants"},
      {"summary.json", "summary of variant scores"},
      {"scores.vcf", "scored variants"},
      {"scores.vcf.gz", "scored variants"},
      {"scores.bcf", "scored variants"},
      {"merged.vcf", "scored variants"},
      {"scores.tsv", "variant scores"},
      {"scores.h5", "variant scores"},
      {"scores.rows.tsv", "variant scores, rows of matrices"},
      {".ref.npy", "variant scores"},
      {".alt.npy", "variant scores"},
      {".diff.npy", "variant scores"},
      {".logfc.npy", "variant scores"},
      {"shard1.vcf", "scored variants"},
      {"shard2.vcf", "scored variants"},
      {"background.safetensors", "background of variant effects"},
      {"auroc.tsv", "evaluation of variant scores"},
      {"auroc.json", "evaluation of variant scores"},
      {"spearman.tsv", "evaluation of variant scores"},
      {"ism.tsv", "substitution effects"},
      {"ism.npy", "substitution effects"},
      {"ism.rows.tsv", "substitution effects, bases of a matrix"},
      {"ism.shard.tsv", "substitution effects"},
      {".shard.json", "record of a shard"},
      {"submit.sh", "script for Slurm"},
      {"cluster.json", "plan for a cluster"},
      // text
      {"classes.tsv", "text predictions"},
      {"classes.jsonl", "text predictions"},
      {"classes.part1.tsv", "text predictions"},
      {"classes.part2.tsv", "text predictions"},
      {"merged.tsv", "text predictions"},
      {"classes.json", "evaluation of classes"},
      {"by-class.tsv", "evaluation of classes"},
      {"answers.json", "answers"},
      {"nbest.json", "candidates of answers"},
      {"odds.json", "scores of no answer"},
      {"exact.json", "evaluation of answers"},
      {"worst.html", "worst answers"},
      {"summaries.jsonl", "summaries"},
      {"summaries.tsv", "summaries"},
      {"summaries.txt", "text"},
      {"rouge.json", "evaluation of summaries"},
      {"rouge.tsv", "ROUGE of documents"},
      {"glue/SST-2.tsv", "GLUE predictions"},
      {"/glue", "GLUE predictions"},
      {"glue.json", "evaluation of a GLUE task"},
  };
  return table;
}
// Names that two kinds of folder give to files of their own: the one that stands in this folder.
inline const std::map<std::string, const char*>& particular() {
  static const std::map<std::string, const char*> table = {
      {"prom/valid.tsv", "promoter examples"},
      {"ism.profiles.tsv", "substitution effects, profiles of a matrix"},
  };
  return table;
}

}  // namespace bigbird::testing
