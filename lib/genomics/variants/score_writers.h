// Where scored variants go: annotated VCF or BCF, a table, or matrices with a table of their rows.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/genomics/variants/columns.h"
#include "lib/inference/model_task.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/vcf.h"

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
  std::vector<Profile> profiles;
  std::vector<std::size_t> written;  // their indices, of the profiles with numbers of their own
  std::size_t values_per_profile = 4;
};

// `contigs`: of the genome, for a VCF header that the input lacks. The references live as long as the writer.
std::unique_ptr<VariantWriter> make_variant_writer(const VariantWriterOptions& options,
                                                   const VcfReader& reader,
                                                   const std::vector<Contig>& contigs,
                                                   const VariantColumns& columns);

// Fields chrom, pos (1-based), id, ref, alt of ALT number `allele` (from 0; "." where the record has none),
// as the tables begin.
std::vector<std::string> allele_fields(const VcfRecord& record, std::size_t allele);

}  // namespace bigbird
