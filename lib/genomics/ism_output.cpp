// Tables and matrices of in-silico mutagenesis; see ism.h.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <utility>

#include "lib/core/error.h"
#include "lib/genomics/ism.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/tables/npy.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

std::string number(float value) {
  return std::isnan(value) ? missing_field : fmt::format("{:.9g}", value);
}

void write_table(const std::string& path, const IsmResult& result, const std::vector<std::string>& comments) {
  OutputStream out(path);
  TsvWriter table(out, ism_columns(result), comments);
  ism_rows(result, [&](const std::vector<std::string>& fields) { table.row(fields); });
  out.close();
}

void write_matrix(const std::string& path, const IsmResult& result,
                  const std::vector<std::string>& comments) {
  const std::string stem = path.substr(0, path.size() - std::string_view(".npy").size());
  OutputSet outputs({{"", path}, {"", stem + ".rows.tsv"}, {"", stem + ".profiles.tsv"}});
  OutputStream rows(stem + ".rows.tsv");
  TsvWriter row_table(rows, {"base", "chrom", "pos", "ref"}, comments);
  for (std::size_t base = 0; base < result.bases.size(); ++base) {
    row_table.row({std::to_string(base), result.chrom,
                   std::to_string(result.begin + static_cast<std::int64_t>(base) + 1),
                   std::string(1, result.bases[base])});
  }
  OutputStream profiles(stem + ".profiles.tsv");
  TsvWriter profile_table(profiles, {"row", "index", "name", "group"}, comments);
  for (std::size_t i = 0; i < result.selected.size(); ++i) {
    const Profile& profile = result.profiles[result.selected[i]];
    profile_table.row(
        {std::to_string(i), std::to_string(result.selected[i]), profile.name, text_field(profile.group)});
  }
  rows.close();
  profiles.close();
  write_npy(
      path, result.values,
      {static_cast<std::int64_t>(result.selected.size()), static_cast<std::int64_t>(result.bases.size()), 4});
  outputs.commit();
}

}  // namespace

std::vector<std::string> ism_columns(const IsmResult& result) {
  std::vector<std::string> columns = {"chrom", "pos", "ref", "alt"};
  const std::vector<std::string> labels = profile_labels(result.profiles);
  for (const std::size_t profile : result.selected) columns.push_back(labels[profile]);
  return columns;
}

void ism_rows(const IsmResult& result, const std::function<void(const std::vector<std::string>&)>& row) {
  std::vector<std::string> fields;
  for (std::size_t base = 0; base < result.bases.size(); ++base) {
    const char reference = result.bases[base];
    const std::string position = std::to_string(result.begin + static_cast<std::int64_t>(base) + 1);
    if (reference == 'N') {
      fields = {result.chrom, position, "N", missing_field};
      fields.resize(fields.size() + result.selected.size(), missing_field);
      row(fields);
      continue;
    }
    for (std::size_t letter = 0; letter < ism_letters.size(); ++letter) {
      if (ism_letters[letter] == reference) continue;
      fields = {result.chrom, position, std::string(1, reference), std::string(1, ism_letters[letter])};
      for (std::size_t i = 0; i < result.selected.size(); ++i)
        fields.push_back(number(result.at(i, base)[letter]));
      row(fields);
    }
  }
}

void check_ism_path(const std::string& path) {
  for (const char* suffix : {".npy", ".tsv", ".tsv.gz"}) {
    if (has_suffix(path, suffix)) return;
  }
  // A device or pipe takes the table.
  if (path == "-" || path.starts_with("/dev/")) return;
  throw_usage(message("`output` {}: its suffix names no format", path), "one of: .npy, .tsv, .tsv.gz");
}

void write_ism(const std::string& path, const IsmResult& result, const std::vector<std::string>& comments) {
  check_ism_path(path);
  if (has_suffix(path, ".npy")) {
    write_matrix(path, result, comments);
  } else {
    write_table(path, result, comments);
  }
}

}  // namespace bigbird
