// MATLAB files of versions 5 to 7, for matlab.h: matlab_version5.cpp reads them through matio; a program
// built without matio has matlab_version5_absent.cpp, which says what to install.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/tables/matlab.h"

namespace bigbird {

class MatlabVersion5 {
 public:
  virtual ~MatlabVersion5() = default;
  virtual const std::vector<MatlabArray>& arrays() const = 0;  // of any type, in the file's order
  // All elements of an array of uint8, the first axis the fastest. Error{bad_input} naming file and variable:
  // another type, extents that the file cannot hold, damaged or cut short.
  virtual std::vector<std::uint8_t> read(const MatlabArray& array) = 0;
};

// Error{bad_input} for a damaged file, Error{environment} in a program without matio.
std::unique_ptr<MatlabVersion5> open_matlab_version5(const MappedFile& file);

}  // namespace bigbird
