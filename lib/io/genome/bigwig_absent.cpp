// bigWig where the program was built without libBigWig; see bigwig.h.
#include "lib/core/error.h"
#include "lib/io/genome/bigwig.h"

namespace bigbird {

std::unique_ptr<TrackWriter> make_bigwig_writer(const std::string& path, const std::vector<Contig>&) {
  throw_environment(
      path + ": this program was built without libBigWig",
      "write bedGraph, or build it where libBigWig is (on Debian: apt-get install libbigwig-dev)");
}

}  // namespace bigbird
