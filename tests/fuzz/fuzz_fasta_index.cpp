// Fuzzes the readers of .fai (an odd first byte) and .gzi (an even one) beside a FASTA in BGZF.
#include <string>

#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bigbird;
  static const std::string fasta = [] {
    const std::string path = "/tmp/bigbird-fuzz-" + std::to_string(getpid()) + ".fa.gz";
    OutputStream out(path);
    out.write(">a\n");
    for (int line = 0; line < 4000; ++line) out.write("ACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCA\n");
    out.write(">b\nACGT\n");
    out.close();
    return path;
  }();
  if (size == 0) return 0;
  build_fasta_index(fasta);
  return fuzz::with_file((data[0] & 1) != 0 ? ".fa.gz.fai" : ".fa.gz.gzi", data + 1, size - 1,
                         [&](const std::string&) {
                           Fasta genome(fasta);
                           for (std::size_t contig = 0; contig < genome.contigs().size(); ++contig) {
                             genome.fetch(contig, 0, genome.contigs()[contig].length);
                           }
                         });
}
