// The columns of variant scores, once for every format: INFO fields of a VCF ("BB_DIFF"), columns of a table
// ("diff").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lib/genomics/language_scorer.h"
#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/inference/model_task.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

// Missing: NaN, the smallest int32, an empty string.
using ColumnValue = std::variant<float, std::int32_t, std::string>;

class VariantColumns {
 public:
  // `written`: profiles that get columns of their own; values_per_profile 5 when there is a background, else
  // 4. `tracks`: AlleleTracks::ids, `baselines`: AlleleBaselines::ids. Error{usage} where a track's name
  // makes two columns one.
  VariantColumns(const std::vector<Profile>& profiles, const std::vector<ProfileGroup>& groups,
                 const std::vector<std::size_t>& written, std::size_t values_per_profile,
                 const std::vector<std::string>& tracks = {}, const std::vector<std::string>& baselines = {});

  // Of AlleleResult::language (language_columns()), in place of all profiles.
  VariantColumns(const std::vector<ScoreColumn>& language, bool background,
                 const std::vector<std::string>& tracks, const std::vector<std::string>& baselines);

  // For the VCF header, in the order of values(): Number=A, one value for each ALT. Those of single profiles
  // are called P_NAME_DIFF, NAME by column_ids of the labels of all profiles.
  const std::vector<VcfInfoField>& fields() const { return fields_; }
  // The same for tables: without BB_, lower case.
  const std::vector<std::string>& names() const { return names_; }
  std::vector<ColumnValue> values(const AlleleResult& allele) const;

 private:
  void add(const std::string& id, const std::string& type, const std::string& description);
  // What every kind has, behind its own: tracks, scores of other tools, and what there is to know of a score.
  void add_others(const std::vector<std::string>& tracks, const std::vector<std::string>& baselines);
  bool taken(const std::string& id) const;

  ColumnValue label(std::int32_t profile) const;
  void add_profile_values(const AlleleResult& allele, std::vector<ColumnValue>& values) const;

  std::vector<std::string> labels_;
  std::size_t written_values_ = 0;
  bool language_ = false;
  bool background_ = false;
  std::vector<VcfInfoField> fields_;
  std::vector<std::string> names_;
};

// As a table shows it: 6 significant digits, as htslib writes floats; NA where missing.
std::string column_text(const ColumnValue& value);

}  // namespace bigbird
