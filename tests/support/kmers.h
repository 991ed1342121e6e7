// Lines of vocabularies of k-mers, for tests of tokenizers and models that have them.
#pragma once

#include <cstddef>
#include <string>

namespace bigbird::testing {

// Every k-mer of A T C G, in this order of letters, a line each: Nucleotide Transformer's and DNABERT's
// order.
inline std::string every_kmer(std::size_t k) {
  const std::string bases = "ATCG";
  std::string lines;
  for (std::size_t number = 0; number < std::size_t{1} << (2 * k); ++number) {
    for (std::size_t place = k; place-- > 0;) lines += bases[number >> (2 * place) & 3];
    lines += '\n';
  }
  return lines;
}

}  // namespace bigbird::testing
