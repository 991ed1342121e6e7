// Where scored variants go: annotated VCF or BCF, a table, or matrices with a table of their rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/genomics/variants/columns.h"
#include "lib/genomics/variants/summary.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/output_set.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/vcf.h"
#include "lib/io/tables/hdf5.h"
#include "lib/parts/merge.h"

namespace bigbird {

enum class VariantFormat { vcf, vcf_gz, bcf, tsv, npy, h5 };
// As -O takes them.
inline constexpr std::array<std::pair<VariantFormat, const char*>, 6> variant_format_names{
    {{VariantFormat::vcf, "v"},
     {VariantFormat::vcf_gz, "z"},
     {VariantFormat::bcf, "b"},
     {VariantFormat::tsv, "tsv"},
     {VariantFormat::npy, "npy"},
     {VariantFormat::h5, "h5"}}};
// `word`: one of these names; empty: by the suffix of `output`, else vcf. Error{usage} for
// another word, and for matrices to "-".
VariantFormat variant_format(const std::string& word, const std::string& output);
// Error{usage}: an index was asked for of what cannot have one: only files of VCF.gz and BCF can.
void require_indexable(VariantFormat format, const std::string& output);
const char* variant_format_word(VariantFormat format);
// What the names of further files begin with: `output`, for matrices without its suffix .npy or .h5.
std::string variant_prefix(VariantFormat format, const std::string& output);
// "OUT.diff.npy" of prefix OUT.
std::string matrix_path(const std::string& prefix, const std::string& matrix);
// Names of the matrices: ref, alt, diff, logfc and, of five values for each profile, evalue.
std::vector<std::string> matrix_names(std::size_t values_per_profile);

// The files that scores are written to.
std::vector<std::string> score_files(VariantFormat format, const std::string& output,
                                     std::size_t values_per_profile);

class VariantWriter {
 public:
  virtual ~VariantWriter() = default;
  // `alleles`: of the record, in its order.
  virtual void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles) = 0;
  // Puts the files in their places; without it nothing is left behind.
  virtual void close() = 0;
};

struct VariantWriterOptions {
  VariantFormat format = VariantFormat::vcf;
  std::string output;                 // "-": stdout
  std::vector<std::string> comments;  // provenance, without "##"
  bool comments_in_tables = false;    // not in headers of VCF and attributes of HDF5 alone
  std::vector<Profile> profiles;
  std::vector<std::size_t> written;  // their indices, of the profiles with numbers of their own
  std::size_t values_per_profile = 4;
};

// `contigs`: of the genome, for a VCF header that the input lacks. The references live as long as the writer.
std::unique_ptr<VariantWriter> make_variant_writer(const VariantWriterOptions& options,
                                                   const VcfReader& reader,
                                                   const std::vector<Contig>& contigs,
                                                   const VariantColumns& columns);

// Fields chrom, pos (1-based), id, ref, alt of ALT number `allele` (from 0; NA where the record has none),
// as the tables begin.
std::vector<std::string> allele_fields(const VcfRecord& record, std::size_t allele);

// Scores of variants as HDF5: matrices [ALTs, profiles] and the names of their columns; written, and put
// together of shards. The bytes depend on the rows alone. What stands beside the rows:
struct ScoreHdf5Contents {
  std::vector<std::string> matrices;        // names, in their order
  std::vector<std::int64_t> profile_index;  // of each column, in the model
  std::vector<std::string> profile_name;
  std::string provenance;  // lines; empty for none

  bool operator==(const ScoreHdf5Contents&) const = default;
};

class ScoreHdf5 {
 public:
  // Errors as Hdf5Writer.
  ScoreHdf5(const std::string& path, const ScoreHdf5Contents& contents);

  // One row of a matrix, by its number in the contents; the matrices take theirs in turn.
  void append(std::size_t matrix, std::span<const float> row);
  void commit();

 private:
  Hdf5Writer file_;
  std::vector<std::size_t> handles_;
};

// Whether the file holds E-values, which a background gives.
bool has_evalues(const std::string& path);

// One file of those of all shards, in the order of the run. Error{bad_input} naming the shard that has other
// columns, matrices or rows than its summary and the first shard say.
void merge_score_hdf5(const std::vector<ChunkedTable>& shards, const std::string& output);

// What the names of skipped.tsv and summary.json begin with: `report`, or where it is empty the prefix of the
// scores; empty (these files are not written) when they go to stdout.
std::string report_prefix(const std::string& report, VariantFormat format, const std::string& output);

// Adds what `files`, which begin with `prefix`, hold (be it that `outputs` has them still) to the summary's
// scores.
void add_digests(const OutputSet& outputs, const std::vector<std::string>& files, const std::string& prefix,
                 VariantSummary& summary);

// All files that a run over variants writes: the scores, the alleles that have none, and the counts.
class VariantOutputs {
 public:
  // Opens all of them. `report`: of report_prefix(). The references live as long as the outputs.
  VariantOutputs(const VariantWriterOptions& options, const std::string& report, const VcfReader& reader,
                 const std::vector<Contig>& contigs, const VariantColumns& columns);
  ~VariantOutputs();

  // A record with what became of its alleles, in its order.
  void write(const VcfRecord& record, const std::vector<AlleleResult>& alleles);

  enum class Scores { keep, discard };
  // All of them, the further ones too.
  std::vector<std::string> files() const;
  // Finishes the files, or all but the scores; they appear with `outputs`, which names them. What the scores
  // hold is added to the summary.
  void close(VariantSummary summary, Scores scores, OutputSet& outputs);

 private:
  class SkippedTable;

  std::string report_;
  std::string prefix_;              // of the scores
  std::vector<std::string> files_;  // of the scores
  std::unique_ptr<VariantWriter> scores_;
  std::unique_ptr<SkippedTable> skipped_;  // null without a report
};

}  // namespace bigbird
