// What is known of alleles: labels of 0 and 1, and the classes of their consequences, from a table or from a
// VCF such as ClinVar's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/genomics/variants/allele_key.h"

namespace bigbird {

struct AlleleLabel {
  int label = 0;                       // 0 or 1
  std::uint64_t line = 0;              // of the file
  std::vector<std::uint32_t> classes;  // of VariantLabels::classes; each once
};

class VariantLabels {
 public:
  // A table with columns chrom, pos, ref, alt, `column` (empty: label) of 0 and 1, and, if there is one,
  // class (several joined by ","). A VCF with the INFO field `column` (empty: CLNSIG): 0 or 1, or ClinVar's
  // words, of which Pathogenic and Likely_pathogenic are 1, Benign and Likely_benign 0, what stands behind
  // "|" is not read, and any other is left out and counted; classes are the consequences of MC. An allele
  // that stands there again with the same label is counted, its classes join. Error{bad_input} FILE:LINE for
  // a label that is none, and for an allele with both; naming the file for an absent column or no label.
  VariantLabels(const std::string& path, const std::string& column, AlleleKeys& keys);

  const AlleleLabel* find(const AlleleKey& key) const;
  const std::vector<std::string>& classes() const { return classes_; }
  std::uint64_t size() const { return labels_.size(); }
  std::uint64_t positives() const { return positives_; }
  std::uint64_t repeated() const { return repeated_; }
  // By the word that stands for no label; "no label" for none.
  const ReasonCounts& left_out() const { return left_out_; }

 private:
  void add_classes(AlleleLabel& label, std::string_view text, bool sequence_ontology);

  std::unordered_map<AlleleKey, AlleleLabel> labels_;
  std::vector<std::string> classes_;
  std::unordered_map<std::string, std::uint32_t> class_numbers_;
  std::uint64_t positives_ = 0;
  std::uint64_t repeated_ = 0;
  ReasonCounts left_out_;
};

}  // namespace bigbird
