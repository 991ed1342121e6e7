// Labelled texts, encoded; see training_texts.h.
#include "lib/text/classify/training_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/text/text_lines.h"
#include "lib/metrics/class_metrics.h"

namespace bigbird {
namespace {

constexpr std::size_t rows_of_a_chunk = 4096;

// A row without its text: what remains once it is encoded.
struct RowLabels {
  std::vector<std::string> labels;
  std::string place;
};

struct EncodedRows {
  TrainingTexts texts;
  std::vector<RowLabels> labels;
  bool lists = false;
};

EncodedRows encode_rows(const TextRows& input, const Tokenizer& tokenizer, const TextSettings& settings,
                        std::int64_t length) {
  EncodedRows rows;
  rows.texts.tally = encode_texts(
      input.next, rows_of_a_chunk,
      [&](const LabelledText& row, UnknownTally* unknown) {
        return encode_input(tokenizer, row.text, row.pair, settings, length, unknown);
      },
      [&](LabelledText& row, EncodedInput& encoded) {
        rows.lists = rows.lists || row.label_is_list;
        rows.labels.push_back({std::move(row.labels), std::move(row.place)});
        rows.texts.sequences.push_back({std::move(encoded.ids), std::move(encoded.types), 0, {}});
      });
  if (rows.labels.empty())
    throw_bad_input(input.name + ": there are no examples", "give a file with a row at least");
  return rows;
}

bool has_point(const std::string& label) {
  return label.find_first_of(".eE") != std::string::npos;
}

ProblemType guess_problem(const EncodedRows& rows, const std::string& name) {
  if (rows.lists) return ProblemType::multi_label;
  bool numbers = true, fractions = false, whole = true;
  for (const RowLabels& row : rows.labels) {
    numbers = numbers && row.labels.size() == 1 && parse_regression_label(row.labels.front());
    fractions = fractions || (row.labels.size() == 1 && has_point(row.labels.front()));
    whole =
        whole && row.labels.size() == 1 && number_of_name(std::string(class_of_label(row.labels.front())));
  }
  if (!numbers || !fractions) return ProblemType::single_label;
  if (whole) {
    log_warning(
        name +
        message(": labels are whole numbers, some with a point ('1.0'), and are learned as numbers; set "
                "`problem` single where they are classes"));
  }
  return ProblemType::regression;
}

std::int32_t class_of(const std::string& label, const std::string& place, const LabelScheme& scheme) {
  const auto number = scheme.classes.number(label);
  if (number && (scheme.trained.empty() || scheme.trained[static_cast<std::size_t>(*number)])) return *number;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < scheme.classes.size(); ++i)
    if (scheme.trained.empty() || scheme.trained[i]) names.push_back(scheme.classes.names()[i]);
  throw_bad_input(fmt::format("{}: label '{}' is none of the {} that were trained on", place,
                              text_for_message(label), names.size()),
                  fmt::format("they are: {}", fmt::join(names, ", ")));
}

void label_rows(EncodedRows& rows, const LabelScheme& scheme) {
  TrainingTexts& texts = rows.texts;
  if (scheme.problem != ProblemType::regression) texts.class_counts.assign(scheme.classes.size(), 0);
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    const RowLabels& row = rows.labels[i];
    ClassifiedSequence& sequence = texts.sequences[i];
    switch (scheme.problem) {
      case ProblemType::regression:
        sequence.targets = {static_cast<float>(regression_label(
            row.labels, row.place, message("regression learns numbers; `problem` single learns classes")))};
        break;
      case ProblemType::multi_label:
        sequence.targets.assign(scheme.classes.size(), 0.0f);
        for (const std::string& label : row.labels) {
          const auto number = static_cast<std::size_t>(class_of(label, row.place, scheme));
          sequence.targets[number] = 1.0f;
          ++texts.class_counts[number];
        }
        break;
      case ProblemType::single_label:
        sequence.label = class_of(
            single_label(row.labels, row.place, message("lists of labels are learned with `problem` multi")),
            row.place, scheme);
        ++texts.class_counts[static_cast<std::size_t>(sequence.label)];
        break;
    }
  }
}

}  // namespace

std::optional<double> parse_regression_label(const std::string& label) {
  double value = 0;
  const char* const end = label.data() + label.size();
  const auto parsed = std::from_chars(label.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

double regression_label(const std::vector<std::string>& labels, const std::string& place,
                        const std::string& hint) {
  const auto value = labels.size() == 1 ? parse_regression_label(labels.front()) : std::optional<double>();
  if (!value)
    throw_bad_input(fmt::format("{}: label '{}' is not a number", place, fmt::join(labels, ", ")), hint);
  return *value;
}

const std::string& single_label(const std::vector<std::string>& labels, const std::string& place,
                                const std::string& hint) {
  if (labels.size() != 1)
    throw_bad_input(fmt::format("{}: {} labels where one is due", place, labels.size()), hint);
  return labels.front();
}

void InputTally::add(const InputTally& more) {
  inputs += more.inputs;
  cut += more.cut;
  blank += more.blank;
  longest = std::max(longest, more.longest);
  unknown.add(more.unknown);
}

InputTally encode_texts(const NextText& next, std::size_t at_a_time,
                        const std::function<EncodedInput(const LabelledText&, UnknownTally*)>& encode,
                        const std::function<void(LabelledText&, EncodedInput&)>& take) {
  InputTally tally;
  std::vector<LabelledText> chunk(at_a_time);
  std::vector<EncodedInput> encoded(at_a_time);
  std::vector<UnknownTally> unknown(at_a_time);
  for (bool more = true; more;) {
    throw_if_cancelled();
    std::size_t size = 0;
    while (size < at_a_time && (more = next(chunk[size]))) ++size;
    kernels::parallel_for(size, [&](std::size_t i) {
      unknown[i] = {};
      encoded[i] = encode(chunk[i], &unknown[i]);
    });
    for (std::size_t i = 0; i < size; ++i) {
      tally.add({1, encoded[i].cut ? 1u : 0u, encoded[i].blank ? 1u : 0u,
                 static_cast<std::int64_t>(encoded[i].ids.size()), unknown[i]});
      take(chunk[i], encoded[i]);
    }
  }
  return tally;
}

void say_inputs(const std::string& path, const InputTally& tally, std::int64_t length) {
  const auto inputs = static_cast<double>(tally.inputs);
  if (tally.cut > 0) {
    log_warning(fmt::format("{}: {} of {} inputs ({:.1f} %) are longer than {} tokens and are cut", path,
                            tally.cut, tally.inputs, 100.0 * static_cast<double>(tally.cut) / inputs,
                            length));
  }
  if (tally.blank > 0)
    log_warning(fmt::format("{}: {} of {} inputs are blank", path, tally.blank, tally.inputs));
  if (const auto warning = tally.unknown.warning()) log_warning(path + ": " + *warning);
}

TextRows labelled_rows(const std::string& path, const LabelledTextOptions& columns) {
  const auto input = std::make_shared<LabelledTexts>(path, columns);
  return {path, [input, path](LabelledText& row) {
            const bool more = input->next(row);
            if (more && input->rows() == 1) log_info(fmt::format("{}: {}", path, input->columns()));
            if (more) return true;
            if (input->rows() > 0) log_info(fmt::format("{}: {} rows read", path, input->rows()));
            if (input->replaced() > 0)
              log_warning(
                  fmt::format("{}: {} U+FFFD put in for bytes that are not UTF-8", path, input->replaced()));
            return false;
          }};
}

TrainingTexts read_training_texts(const TextRows& input, const Tokenizer& tokenizer,
                                  const TextSettings& settings, std::int64_t length,
                                  const WantedLabels& wanted, LabelScheme& scheme) {
  EncodedRows rows = encode_rows(input, tokenizer, settings, length);
  scheme = {};
  scheme.problem = wanted.problem ? *wanted.problem : guess_problem(rows, input.name);
  if (scheme.problem != ProblemType::regression) {
    std::set<std::string> names;
    for (const RowLabels& row : rows.labels) {
      for (const std::string& label : row.labels) names.emplace(class_of_label(label));
    }
    // Of several labels one alone can be learned: each is there or not.
    const std::size_t least = scheme.problem == ProblemType::multi_label ? 1 : 2;
    if (names.size() < least) {
      throw_bad_input(names.empty()
                          ? input.name + ": no example has a label"
                          : fmt::format("{}: all examples are of the class '{}'", input.name, *names.begin()),
                      "give examples of at least two classes");
    }
    scheme.classes = wanted.classes.empty() ? ClassNames({names.begin(), names.end()})
                                            : ClassNames::in_order(wanted.classes);
  }
  label_rows(rows, scheme);
  for (const std::uint64_t count : rows.texts.class_counts) scheme.trained.push_back(count > 0);
  return std::move(rows.texts);
}

TrainingTexts read_validation_texts(const TextRows& input, const Tokenizer& tokenizer,
                                    const TextSettings& settings, std::int64_t length,
                                    const LabelScheme& scheme) {
  EncodedRows rows = encode_rows(input, tokenizer, settings, length);
  label_rows(rows, scheme);
  return std::move(rows.texts);
}

}  // namespace bigbird
