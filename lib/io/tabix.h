// Tabix indexes of what the toolkit writes.
#pragma once

#include <string>

namespace bigbird {

// Writes FILE.tbi for a BGZF VCF sorted by position. Error naming the file when it cannot be indexed.
void build_vcf_index(const std::string& path);

}  // namespace bigbird
