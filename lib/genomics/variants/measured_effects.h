// What was measured of alleles, as a number for each (a log fold change of a reporter assay, say), from a
// table or the INFO fields of a VCF.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/genomics/variants/allele_key.h"

namespace bigbird {

struct MeasuredEffectsOptions {
  std::string path;                 // as VariantTable takes it; empty: nothing was measured
  std::string column = "effect";    // of the number, of ALT against REF
  std::vector<std::string> where;   // "COLUMN=VALUE": rows with another value are left out
  std::string significance_column;  // empty: none. Of P values, false discovery rates and their kin
  double significant_below = 0.05;  // an allele with a row below it is significant
};

struct MeasuredEffect {
  double value = 0;  // the mean over its rows
  std::uint64_t rows = 0;
  bool significant = false;
};

class MeasuredEffects {
 public:
  // An allele may stand in several rows (both orientations of a promoter, two libraries): its number is their
  // mean. Rows without a number are left out and counted, and so are those without a significance, where it
  // is asked for. Error{usage} for a condition that is none; Error{bad_input} FILE:LINE for what is no
  // number, naming the file for an absent column or no row left.
  MeasuredEffects(const MeasuredEffectsOptions& options, AlleleKeys& keys);

  const MeasuredEffect* find(const AlleleKey& key) const;
  std::uint64_t size() const { return effects_.size(); }
  std::uint64_t rows() const { return rows_; }  // that count
  std::uint64_t significant() const;
  const ReasonCounts& left_out() const { return left_out_; }

 private:
  std::unordered_map<AlleleKey, MeasuredEffect> effects_;
  std::uint64_t rows_ = 0;
  ReasonCounts left_out_;
};

}  // namespace bigbird
