// Labels of alleles; see labels.h.
#include "lib/genomics/variants/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/genomics/variants/variant_table.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 8> label_words = {{{"0", 0},
                                                                          {"1", 1},
                                                                          {"pathogenic", 1},
                                                                          {"likely_pathogenic", 1},
                                                                          {"pathogenic/likely_pathogenic", 1},
                                                                          {"benign", 0},
                                                                          {"likely_benign", 0},
                                                                          {"benign/likely_benign", 0}}};

std::optional<int> label_of(std::string_view text) {
  for (const auto& [word, label] : label_words) {
    if (text == word) return label;
  }
  return std::nullopt;
}

}  // namespace

VariantLabels::VariantLabels(const std::string& path, const std::string& column, AlleleKeys& keys) {
  VariantTable table(path);
  const std::string name = lower_ascii(!column.empty() ? column : table.is_vcf() ? "CLNSIG" : "label");
  const std::size_t place = table.column(name);
  const bool clinvar = table.is_vcf() && name == "clnsig";
  const auto class_place = table.find_column(table.is_vcf() ? "mc" : "class");
  VariantRow row;
  while (table.next(row)) {
    const std::string& text = row.fields[place];
    const std::string word = lower_ascii(part_of(text, '|', 0));
    const std::optional<int> label =
        !table.is_vcf() && text != "0" && text != "1" ? std::nullopt : label_of(word);
    if (!label) {
      if (!clinvar && !(table.is_vcf() && text.empty())) {
        throw_bad_input(
            fmt::format("{}: {} is neither 0 nor 1: {}", table.where(), name, text.empty() ? "." : text),
            "label positives with 1 and negatives with 0, and leave out other rows");
      }
      left_out_.add(text.empty() ? "no label" : part_of(text, '|', 0));
      continue;
    }
    const auto key = keys.of(row.chrom, row.position, row.ref, row.alt);
    if (!key) {
      left_out_.add("unknown contig");
      continue;
    }
    const auto [found, is_new] = labels_.try_emplace(*key);
    AlleleLabel& known = found->second;
    if (is_new) {
      known.label = *label;
      known.line = table.line_number();
      positives_ += *label == 1 ? 1U : 0U;
    } else if (known.label != *label) {
      throw_bad_input(fmt::format("{}: {} {}, but the same allele has {} in line {}", table.where(), name,
                                  *label, known.label, known.line),
                      "keep one row for each allele");
    } else {
      ++repeated_;
    }
    if (class_place) add_classes(known, row.fields[*class_place], table.is_vcf());
  }
  if (labels_.empty()) {
    throw_bad_input(path + ": no allele has a label",
                    left_out_.empty() ? "the file has no rows" : "left out: " + left_out_.text());
  }
}

// "missense_variant,stop_gained"; of MC "SO:0001583|missense_variant,SO:0001587|nonsense".
void VariantLabels::add_classes(AlleleLabel& label, std::string_view text, bool sequence_ontology) {
  while (!text.empty()) {
    const std::string_view entry = part_of(text, ',', 0);
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::string name(sequence_ontology ? part_of(entry, '|', 1) : entry);
    if (is_missing(name)) continue;
    const auto next = static_cast<std::uint32_t>(classes_.size());
    const auto [known, is_new] = class_numbers_.emplace(name, next);
    if (is_new) classes_.push_back(name);
    const std::uint32_t number = known->second;
    if (std::find(label.classes.begin(), label.classes.end(), number) == label.classes.end())
      label.classes.push_back(number);
  }
}

const AlleleLabel* VariantLabels::find(const AlleleKey& key) const {
  const auto found = labels_.find(key);
  return found == labels_.end() ? nullptr : &found->second;
}

}  // namespace bigbird
