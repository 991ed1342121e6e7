// The finished chunks of a run that is not finished: OUT.parts/, a file for each chunk with its scores, and
// what the run was, so that a killed run goes on where it stood. Every file appears whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/genome/vcf.h"
#include "lib/tasks/genomics/variants/chunk_scorer.h"

namespace bigbird {

// sha256 of what identifies records: place, id, alleles and filter of each.
std::string records_digest(const std::vector<VcfRecord>& records);

class ChunkParts {
 public:
  // `identity`: everything that the scores depend on, as text. A folder that is there already is refused
  // (Error{usage} with --resume and --force as hint) unless `resume` (then its identity must be the same:
  // Error{bad_input}) or `force` (then it is removed). It is made by the first save().
  ChunkParts(const std::string& folder, const std::string& identity, bool resume, bool force);

  // The scores of a chunk, when they are there. Error{bad_input} when the part is damaged or of other records
  // than `digest` says.
  std::optional<ChunkResult> load(std::uint64_t chunk, const std::string& digest) const;
  void save(std::uint64_t chunk, const std::string& digest, const ChunkResult& result);
  // The run is complete.
  void remove() const;

 private:
  std::string part_path(std::uint64_t chunk) const;
  std::string identity_path() const { return folder_ + "/run.json"; }

  std::string folder_;
  std::string identity_;
  bool made_ = false;
};

}  // namespace bigbird
