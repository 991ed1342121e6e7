// Whether two machines have the same genome, told in a fraction of a second: a digest of the names and
// lengths of the contigs, and of bases from all over them. A genome of another build, of another source, cut,
// or with its contigs in another order is told apart; one that differs in single bases elsewhere is not.
#pragma once

#include <string>

namespace bigbird {

// sha256 over every contig's name and length and 512 stretches of 64 bases, evenly spaced over all contigs
// end to end, as Fasta::fetch gives them. `path`: FASTA.
std::string genome_fingerprint(const std::string& path);

}  // namespace bigbird
