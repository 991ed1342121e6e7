// Columns of variant scores; see columns.h.
#include "lib/genomics/variants/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t no_integer = std::numeric_limits<std::int32_t>::min();

ColumnValue missing(const std::string& type) {
  if (type == "Float") return no_number;
  if (type == "Integer") return no_integer;
  return std::string();
}

// For a header line: no quotes and no backslashes.
std::string plain(std::string text) {
  for (char& letter : text) {
    if (letter == '"' || letter == '\\') letter = '\'';
  }
  return text;
}

}  // namespace

VariantColumns::VariantColumns(const std::vector<Profile>& profiles, const std::vector<ProfileGroup>& groups,
                               const std::vector<std::size_t>& written, std::size_t values_per_profile,
                               const std::vector<std::string>& tracks,
                               const std::vector<std::string>& baselines)
    : labels_(profile_labels(profiles)),
      written_values_(written.size() * values_per_profile),
      background_(values_per_profile > 4) {
  const std::string strands =
      "taken on each strand (of an ensemble: of its mean probability), then averaged over strands and shifts";
  add("DIFF", "Float",
      "P(ALT) - P(REF) of the profile with the largest |logFC * diff|; probabilities are not calibrated; " +
          strands);
  add("LFC", "Float", "log2 of odds(ALT) / odds(REF) of the same profile; " + strands);
  add("PROFILE", "String",
      "Name of that profile in the model's profiles.tsv, NAME:INDEX of a name that several have");
  for (const ProfileGroup& group : groups) {
    const std::string name = plain(group.name == "." ? "no group" : group.name);
    add(group.id + "_DIFF", "Float", "The diff of largest size among the profiles of " + name);
    add(group.id + "_DIFF_PROFILE", "String", "Its profile");
    add(group.id + "_LFC", "Float", "The logFC of largest size among the profiles of " + name);
    add(group.id + "_LFC_PROFILE", "String", "Its profile");
  }
  if (background_) {
    add("E", "Float",
        "Smallest E-value of all profiles: share of background variants with a larger |logFC * diff|, 1e-06 "
        "for none");
    add("FUNSIG", "Float",
        tracks.empty() ? "exp(mean of ln E over the profiles), without conservation; smaller is stronger"
                       : "exp(mean of ln E over the profiles + mean of ln E over the tracks); smaller is "
                         "stronger");
  }
  add_others(tracks, baselines);
  const std::vector<std::string> ids = column_ids(labels_);
  for (const std::size_t profile : written) {
    std::string id = fmt::format("P_{}_", ids[profile]);
    while (taken(id + "DIFF")) id += "_";  // a group's that is called P_NAME
    const std::string name =
        plain(fmt::format("profile {}, {} ({})", profile, profiles[profile].name, profiles[profile].group));
    add(id + "REF", "Float", "Probability with REF, mean over strands: " + name);
    add(id + "ALT", "Float", "Probability with ALT, mean over strands: " + name);
    add(id + "DIFF", "Float", "diff: " + name);
    add(id + "LFC", "Float", "logFC: " + name);
    if (background_) add(id + "E", "Float", "E-value: " + name);
  }
}

VariantColumns::VariantColumns(const std::vector<ScoreColumn>& language, bool background,
                               const std::vector<std::string>& tracks,
                               const std::vector<std::string>& baselines)
    : language_(true), background_(background) {
  for (const ScoreColumn& column : language) add(column.id, "Float", column.description);
  if (background_)
    add("E", "Float", "E-value: share of background variants with a larger |LM_LLR|, 1e-06 for none");
  add_others(tracks, baselines);
}

void VariantColumns::add_others(const std::vector<std::string>& tracks,
                                const std::vector<std::string>& baselines) {
  for (const std::string& id : tracks)
    add("TRACK_" + id, "Float", "Mean of track " + id + " over the bases that ALT changes");
  if (background_) {
    for (const std::string& id : tracks) {
      add("E_TRACK_" + id, "Float",
          "E-value of track " + id +
              ": share of background variants with at least this value, 1e-06 for none; 1 without a value");
    }
  }
  for (const std::string& id : baselines) add("BASELINE_" + id, "Float", "From another tool: " + id);
  add("TOKENS", "Float",
      "Share of tokens that differ between the REF and ALT windows, forward strand: 1 - longest common "
      "subsequence / longer sequence");
  add("N", "Float", "Share of N in the REF window");
  add("FLAGS", "String", "What to know of the score, joined by |");
  add("SKIP", "String", "Why the allele was not scored");
}

void VariantColumns::add(const std::string& id, const std::string& type, const std::string& description) {
  if (taken(id)) {
    throw_usage("two columns would be called " + lower_ascii(id),
                message("name the tracks in another way: `track` NAME=FILE"));
  }
  fields_.push_back({"BB_" + id, "A", type, description});
  names_.push_back(lower_ascii(id));
}

bool VariantColumns::taken(const std::string& id) const {
  return std::find(names_.begin(), names_.end(), lower_ascii(id)) != names_.end();
}

ColumnValue VariantColumns::label(std::int32_t profile) const {
  return profile < 0 ? std::string() : labels_.at(static_cast<std::size_t>(profile));
}

// Of all profiles together: the largest effect, those of groups, E-values.
void VariantColumns::add_profile_values(const AlleleResult& allele, std::vector<ColumnValue>& values) const {
  values.emplace_back(allele.difference);
  values.emplace_back(allele.log_fold_change);
  values.push_back(label(allele.profile));
  for (const GroupSummary& group : allele.groups) {
    values.emplace_back(group.difference);
    values.push_back(label(group.difference_profile));
    values.emplace_back(group.log_fold_change);
    values.push_back(label(group.log_fold_change_profile));
  }
  if (background_) {
    values.emplace_back(allele.e_value);
    values.emplace_back(allele.functional);
  }
}

std::vector<ColumnValue> VariantColumns::values(const AlleleResult& allele) const {
  std::vector<ColumnValue> values;
  values.reserve(fields_.size());
  if (allele.reason != SkipReason::none) {
    for (const VcfInfoField& field : fields_) values.push_back(missing(field.type));
    const std::size_t skip = fields_.size() - written_values_ - 1;
    values[skip] = std::string(skip_reason_name(allele.reason));
    if (allele.reason == SkipReason::too_many_n) values[skip - 2] = allele.n_share;
    return values;
  }
  if (language_) {
    for (const float value : allele.language) values.emplace_back(value);
    if (background_) values.emplace_back(allele.e_value);
  } else {
    add_profile_values(allele, values);
  }
  for (const float value : allele.tracks) values.emplace_back(value);
  for (const float value : allele.baselines) values.emplace_back(value);
  values.emplace_back(allele.token_share);
  values.emplace_back(allele.n_share);
  const std::string flags = flags_text(allele.flags);
  values.emplace_back(flags == "." ? std::string() : flags);
  values.emplace_back(std::string());
  for (const float value : allele.values) values.emplace_back(value);
  return values;
}

std::string column_text(const ColumnValue& value) {
  if (const float* number = std::get_if<float>(&value)) {
    return std::isnan(*number) ? missing_field : fmt::format("{:.6g}", *number);
  }
  if (const std::int32_t* number = std::get_if<std::int32_t>(&value)) {
    return *number == no_integer ? missing_field : std::to_string(*number);
  }
  return text_field(std::get<std::string>(value));
}

}  // namespace bigbird
