// Tabix indexes: of what the toolkit writes, and what the index of an input says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bigbird {

// Writes FILE.tbi for a BGZF VCF sorted by position. Error naming the file when it cannot be indexed.
void build_vcf_index(const std::string& path);

// Records of a VCF.gz or BCF as its index (.csi or .tbi) counts them; nothing without an index that counts.
// An index may be older than its file: good for progress, not for checks.
std::optional<std::uint64_t> records_in_index(const std::string& path);

}  // namespace bigbird
