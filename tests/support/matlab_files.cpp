// MATLAB files for tests; see matlab_files.h.
#include "tests/support/matlab_files.h"

#include <hdf5.h>
#include <matio.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace bigbird::testing {
namespace {

void require(bool fine, const std::string& what) {
  if (!fine) throw std::runtime_error("cannot write a MATLAB file: " + what);
}

}  // namespace

void write_matlab73(const std::filesystem::path& path, const std::vector<MatlabVariable>& variables,
                    std::size_t chunk_rows) {
  constexpr hsize_t user_block = 512;
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(creation, user_block);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  H5Pclose(creation);
  require(file >= 0, path.string());
  for (const MatlabVariable& variable : variables) {
    const std::vector<hsize_t> shape(variable.shape.rbegin(), variable.shape.rend());
    std::vector<hsize_t> chunk = shape;
    chunk.back() = std::min<hsize_t>(chunk.back(), chunk_rows);
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_deflate(properties, 3);
    const hid_t dataset =
        H5Dcreate2(file, variable.name.c_str(), H5T_STD_U8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    require(dataset >= 0 && H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                     variable.bytes.data()) >= 0,
            variable.name);
    H5Dclose(dataset);
    H5Pclose(properties);
    H5Sclose(space);
  }
  H5Fclose(file);
  std::string head =
      "MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Thu Jan  1 00:00:00 1970 HDF5 schema 1.00 .";
  head.resize(124, ' ');
  head += std::string("\x00\x02IM", 4);
  std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
  out.write(head.data(), static_cast<std::streamsize>(head.size()));
  require(out.good(), path.string());
}

void write_matlab5(const std::filesystem::path& path, const std::vector<MatlabVariable>& variables) {
  mat_t* file = Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5);
  require(file != nullptr, path.string());
  for (const MatlabVariable& variable : variables) {
    std::vector<std::size_t> shape = variable.shape;
    std::vector<std::uint8_t> bytes = variable.bytes;
    matvar_t* stored = Mat_VarCreate(variable.name.c_str(), MAT_C_UINT8, MAT_T_UINT8,
                                     static_cast<int>(shape.size()), shape.data(), bytes.data(), 0);
    const int failed = stored == nullptr ? 1 : Mat_VarWrite(file, stored, MAT_COMPRESSION_ZLIB);
    Mat_VarFree(stored);
    require(failed == 0, variable.name);
  }
  Mat_Close(file);
}

}  // namespace bigbird::testing
