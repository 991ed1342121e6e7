// Fuzzes the reader of .tbi and .csi (decompressed, as htslib takes them too), and htslib with what it lets
// pass.
#include <string>

#include "lib/io/files/file.h"
#include "lib/io/genome/vcf.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bigbird;
  static const std::string variants = [] {
    const std::string path = "/tmp/bigbird-fuzz-" + std::to_string(getpid()) + ".vcf.gz";
    OutputStream out(path);
    out.write("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n");
    for (int i = 0; i < 40; ++i) {
      out.write(std::string(i < 20 ? "1" : "2") + "\t" + std::to_string(1000 + 20000 * (i % 20)) +
                "\t.\tA\tG\t.\t.\t.\n");
    }
    out.close();
    return path;
  }();
  return fuzz::with_file(".vcf.gz.tbi", data, size, [&](const std::string&) {
    VcfReader reader(variants, {"1:1-100000", "2"});
    VcfRecord record;
    while (reader.next(record)) {
    }
  });
}
