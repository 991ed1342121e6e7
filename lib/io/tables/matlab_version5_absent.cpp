// MATLAB files of versions 5 to 7 where the program was built without matio; see matlab_version5.h.
#include "lib/core/error.h"
#include "lib/io/tables/matlab_version5.h"

namespace bigbird {

std::unique_ptr<MatlabVersion5> open_matlab_version5(const MappedFile& file) {
  throw_environment(
      file.path() + ": a MATLAB file of version 5, and this program was built without matio",
      "save it as version 7.3, or build where matio is (on Debian: apt-get install libmatio-dev)");
}

}  // namespace bigbird
