// Variant files in chunks; see input.h.
#include "lib/genomics/variants/input.h"

#include "lib/core/cancel.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/io/files/sha256.h"
#include "lib/parts/parts.h"

namespace bigbird {

std::string records_digest(const std::vector<VcfRecord>& records) {
  Sha256 hash;
  std::string text;
  for (const VcfRecord& record : records) {
    text = record.chrom + '\t' + std::to_string(record.position) + '\t' + record.id + '\t' + record.ref;
    for (const std::string& alt : record.alts) text += '\t' + alt;
    text += '\t' + record.filter + '\n';
    hash.update(text.data(), text.size());
  }
  return hash.finish();
}

VariantInput::VariantInput(const std::string& path, const std::vector<std::string>& regions,
                           const Fasta& fasta, const ContigNames& contigs, std::uint64_t chunk)
    : reader_(path, regions), fasta_(fasta), contigs_(contigs), chunk_(chunk) {
  BuildCheck(path, reader_.contigs(), reader_.build_hints(), fasta_, contigs_).check_header();
}

bool VariantInput::next(std::vector<VcfRecord>& records) {
  throw_if_cancelled();
  records.clear();
  if (!read_records(records, chunk_, [&](VcfRecord& record) { return reader_.next(record); })) return false;
  if (chunks_ == 0) {
    BuildCheck check(reader_.path(), reader_.contigs(), reader_.build_hints(), fasta_, contigs_);
    for (const VcfRecord& seen : records) check.see(seen);
    check.check_alleles();
  }
  ++chunks_;
  records_ += records.size();
  return true;
}

}  // namespace bigbird
