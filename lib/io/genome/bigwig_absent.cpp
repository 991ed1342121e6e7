// bigWig where the program was built without libBigWig; see bigwig.h and track_reader.h.
#include "lib/core/error.h"
#include "lib/io/genome/bigwig.h"
#include "lib/io/genome/track_reader.h"

namespace bigbird {

std::unique_ptr<TrackWriter> make_bigwig_writer(const std::string& path, const std::vector<Contig>&) {
  throw_environment(
      path + ": this program was built without libBigWig",
      "write bedGraph, or build it where libBigWig is (on Debian: apt-get install libbigwig-dev)");
}

std::unique_ptr<TrackReader> open_bigwig(const std::string& path) {
  throw_environment(path + ": this program was built without libBigWig",
                    "build it where libBigWig is (on Debian: apt-get install libbigwig-dev)");
}

}  // namespace bigbird
