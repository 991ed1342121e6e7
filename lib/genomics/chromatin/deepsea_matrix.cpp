// DeepSEA's matrices; see deepsea_matrix.h.
#include "lib/genomics/chromatin/deepsea_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr std::int64_t deepsea_bases = 4;
constexpr std::size_t samples_per_block = 64;  // a cache line of each column

// Letters by the four bits A G C T (the lowest first); 0 for what is neither one-hot nor N.
constexpr std::array<char, 16> letter_of_bits() {
  std::array<char, 16> letters{};
  letters[0] = 'N';
  letters[1] = 'A';
  letters[2] = 'G';
  letters[4] = 'C';
  letters[8] = 'T';
  return letters;
}

[[noreturn]] void throw_shape(const std::string& path, const std::string& what) {
  throw_bad_input(path + ": " + what,
                  "a file of the bundle holds trainxdata and traindata, or validxdata and validdata, or "
                  "testxdata and testdata: samples x 4 x positions and samples x profiles");
}

// Runs `body(block, first sample, last sample)` over all samples, and says which sample it found wrong first.
template <typename Body>
std::int64_t first_bad_sample(std::size_t samples, const Body& body) {
  const std::size_t blocks = (samples + samples_per_block - 1) / samples_per_block;
  std::vector<std::int64_t> bad(blocks, -1);
  kernels::parallel_for(blocks, [&](std::size_t block) {
    const std::size_t begin = block * samples_per_block;
    bad[block] = body(begin, std::min(samples, begin + samples_per_block));
  });
  const auto found = std::find_if(bad.begin(), bad.end(), [](std::int64_t sample) { return sample >= 0; });
  return found == bad.end() ? -1 : *found;
}

}  // namespace

DeepseaMatrix::DeepseaMatrix(const std::string& path) : file_(path) {
  const MatlabArray *sequences = nullptr, *labels = nullptr;
  for (const MatlabArray& array : file_.arrays()) {
    for (const Split split : {Split::train, Split::valid, Split::test}) {
      const std::string word = split_side_name(split);
      const bool is_sequence = array.name == word + "xdata", is_label = array.name == word + "data";
      if (!is_sequence && !is_label) continue;
      if (split_ != Split::none && split_ != split) throw_shape(path, "holds two splits");
      split_ = split;
      (is_sequence ? sequences : labels) = &array;
    }
  }
  if (sequences == nullptr || labels == nullptr) throw_shape(path, "lacks a variable of the bundle");
  const std::vector<std::int64_t>& shape = sequences->shape;
  if (shape.size() != 3 || shape[1] != deepsea_bases || shape[2] < 1 || shape[0] < 1) {
    throw_shape(path, fmt::format("{} is {}", sequences->name, fmt::join(shape, " x ")));
  }
  if (labels->shape.size() != 2 || labels->shape[0] != shape[0] || labels->shape[1] < 1) {
    throw_shape(path, fmt::format("{} is {}, and {} is {}", labels->name, fmt::join(labels->shape, " x "),
                                  sequences->name, fmt::join(shape, " x ")));
  }
  sequence_name_ = sequences->name;
  label_name_ = labels->name;
  samples_ = shape[0];
  positions_ = shape[2];
  profiles_ = labels->shape[1];
}

std::int64_t DeepseaMatrix::samples_per_chunk() const {
  return std::max(file_.rows_per_chunk(sequence_name_), file_.rows_per_chunk(label_name_));
}

std::int64_t DeepseaMatrix::bytes_per_sample() const {
  return std::max(deepsea_bases * positions_, profiles_) + positions_ + (profiles_ + 7) / 8;
}

std::int64_t DeepseaMatrix::resident_bytes() const {
  return by_slabs() ? 0 : samples_ * std::max(deepsea_bases * positions_, profiles_);
}

void DeepseaMatrix::read_letters(std::int64_t begin, std::int64_t end, std::string& letters) {
  file_.read_rows(sequence_name_, begin, end, raw_);
  const auto samples = static_cast<std::size_t>(end - begin);
  const auto positions = static_cast<std::size_t>(positions_);
  letters.resize(samples * positions);
  constexpr std::array<char, 16> table = letter_of_bits();
  const std::int64_t bad = first_bad_sample(samples, [&](std::size_t first, std::size_t last) {
    std::array<std::uint8_t, samples_per_block> wrong{};
    for (std::size_t k = 0; k < positions; ++k) {
      const std::uint8_t* a = raw_.data() + k * deepsea_bases * samples;
      for (std::size_t i = first; i < last; ++i) {
        const unsigned one = a[i], two = a[samples + i], three = a[2 * samples + i],
                       four = a[3 * samples + i];
        const char letter = table[(one | two << 1 | three << 2 | four << 3) & 15U];
        letters[i * positions + k] = letter;
        wrong[i - first] |=
            static_cast<std::uint8_t>((one | two | three | four) >> 1U | (letter == 0 ? 1U : 0U));
      }
    }
    const auto found = std::find_if(wrong.begin(), wrong.end(), [](std::uint8_t w) { return w != 0; });
    return found == wrong.end() ? std::int64_t{-1}
                                : static_cast<std::int64_t>(first) + (found - wrong.begin());
  });
  if (bad >= 0) {
    throw_bad_input(fmt::format("{}: {}: sample {} is neither one-hot nor N at every position", path(),
                                sequence_name_, begin + bad + 1),
                    "each position holds at most one 1 among four zeros; the file may be damaged");
  }
}

void DeepseaMatrix::read_labels(std::int64_t begin, std::int64_t end, std::vector<std::uint8_t>& packed) {
  if (by_slabs()) {
    pack_labels(begin, end, packed);
    return;
  }
  if (all_labels_.empty()) {
    pack_labels(0, samples_, all_labels_);
    raw_ = {};
  }
  const std::int64_t stride = (profiles_ + 7) / 8;
  packed.assign(all_labels_.begin() + begin * stride, all_labels_.begin() + end * stride);
}

void DeepseaMatrix::pack_labels(std::int64_t begin, std::int64_t end, std::vector<std::uint8_t>& packed) {
  file_.read_rows(label_name_, begin, end, raw_);
  const auto samples = static_cast<std::size_t>(end - begin);
  const auto profiles = static_cast<std::size_t>(profiles_);
  const std::size_t stride = (profiles + 7) / 8;
  packed.assign(samples * stride, 0);
  const std::int64_t bad = first_bad_sample(samples, [&](std::size_t first, std::size_t last) {
    std::int64_t wrong = -1;
    for (std::size_t k = 0; k < profiles; ++k) {
      const std::uint8_t* column = raw_.data() + k * samples;
      for (std::size_t i = first; i < last; ++i) {
        packed[i * stride + k / 8] |= static_cast<std::uint8_t>((column[i] & 1U) << (k % 8));
        if (column[i] > 1 && (wrong < 0 || static_cast<std::int64_t>(i) < wrong)) {
          wrong = static_cast<std::int64_t>(i);
        }
      }
    }
    return wrong;
  });
  if (bad >= 0) {
    throw_bad_input(fmt::format("{}: {}: sample {} has a label that is neither 0 nor 1", path(), label_name_,
                                begin + bad + 1),
                    "the file may be damaged");
  }
}

std::vector<Profile> read_deepsea_profiles(const std::string& path) {
  LineReader lines(path);
  std::vector<std::string_view> fields;
  std::string_view line;
  std::size_t column = 0, group = 0, name = 0, columns = 0;
  std::vector<Profile> profiles;
  while (lines.next(line)) {
    if (line.empty() || line.starts_with("##")) continue;
    if (columns == 0 && line.starts_with('#')) line.remove_prefix(1);
    split_tabs(line, fields);
    if (columns == 0) {
      columns = fields.size();
      const auto find = [&](std::string_view one, std::string_view other) {
        for (std::size_t i = 0; i < fields.size(); ++i) {
          if (fields[i] == one || fields[i] == other) return i;
        }
        throw_bad_input(fmt::format("{}: no column \"{}\"", lines.where(), one),
                        "the first line names the columns: column, group, name, between tabs");
      };
      column = find("column", "index");
      group = find("group", "group");
      name = find("name", "name");
      continue;
    }
    if (fields.size() != columns) {
      throw_bad_input(
          fmt::format("{}: {} fields, and the header has {}", lines.where(), fields.size(), columns),
          "fields are separated by single tabs");
    }
    if (fields[column] != std::to_string(profiles.size())) {
      throw_bad_input(fmt::format("{}: column {} where {} is due", lines.where(),
                                  fields[column].substr(0, 40), profiles.size()),
                      "rows count from 0 in the order of the matrix's columns");
    }
    profiles.push_back({std::string(fields[name]), std::string(fields[group])});
  }
  return profiles;
}

std::vector<Profile> numbered_deepsea_profiles(std::size_t count) {
  constexpr std::size_t published = 919, first_tf = 125, first_histone = 815;
  std::vector<Profile> profiles;
  for (std::size_t k = 0; k < count; ++k) {
    const char* group = k < first_tf ? "DHS" : k < first_histone ? "TF" : "HM";
    profiles.push_back({fmt::format("column{}", k), count == published ? group : "."});
  }
  return profiles;
}

}  // namespace bigbird
