// One file of the DeepSEA training bundle (train.mat, valid.mat, test.mat): samples of one-hot sequence and
// their labels.
//
// The variables are <split>xdata [samples, 4, positions] and <split>data [samples, profiles], uint8 zeros and
// ones, in MATLAB's axes. The four bases are A, G, C, T in this order; four zeros are N. Source: the bundle's
// readme and Zhou and Troyanskaya 2015, doi:10.1038/nmeth.3547.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/tables/matlab.h"

namespace bigbird {

class DeepseaMatrix {
 public:
  // Error naming the file: neither or both of the variables of a split, shapes that do not fit.
  explicit DeepseaMatrix(const std::string& path);

  const std::string& path() const { return file_.path(); }
  Split split() const { return split_; }
  std::int64_t samples() const { return samples_; }
  std::int64_t positions() const { return positions_; }
  std::int64_t profiles() const { return profiles_; }
  bool by_slabs() const { return file_.by_slabs(); }
  // Samples that are compressed together; 0 where that does not matter.
  std::int64_t samples_per_chunk() const;
  // Memory that read() needs for each sample, in bytes, and that a file of version 5 takes as a whole.
  std::int64_t bytes_per_sample() const;
  std::int64_t resident_bytes() const;

  // The sequence of samples [begin, end). Error naming the file and the first sample (counted from 1) that is
  // neither one-hot nor N.
  void read_letters(std::int64_t begin, std::int64_t end, std::string& letters);
  // Their labels, packed as LabelMatrix. Error naming the first sample with one that is neither 0 nor 1. Of a
  // version 5 file all labels are read at the first call, which should come before read_letters: one variable
  // of such a file is in memory at a time.
  void read_labels(std::int64_t begin, std::int64_t end, std::vector<std::uint8_t>& packed);

 private:
  MatlabFile file_;
  Split split_ = Split::none;
  std::string sequence_name_, label_name_;
  std::int64_t samples_ = 0, positions_ = 0, profiles_ = 0;
  void pack_labels(std::int64_t begin, std::int64_t end, std::vector<std::uint8_t>& packed);

  std::vector<std::uint8_t> raw_, all_labels_;
};

// What a published profile list says: columns column (or index), group and name, in any order, tab-separated,
// below a header line with or without '#'. Error when the columns are not 0, 1, 2 ...
std::vector<Profile> read_deepsea_profiles(const std::string& path);
// Without a list: "column<k>", in the groups of the 919 (DHS 0-124, TF 125-814, HM 815-918) when there are
// 919.
std::vector<Profile> numbered_deepsea_profiles(std::size_t count);

}  // namespace bigbird
