// What the fuzzer of files of predicted answers does with its bytes; the suite's short run does the same.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "lib/text/qa/answer_files.h"
#include "tests/fuzz/entry_text.h"

namespace bigbird::fuzz {

// Reads the bytes as the predictions of each data set. Returns whether they are those of one of them.
inline bool predictions(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  with_file(".json", data, size, [&](const std::string& path) {
    whole = text_read_or_refused([&] {
      for (const auto& [id, text] : read_answer_texts(path)) {
        demand_text(id);
        demand_text(text);
      }
    });
    whole = text_read_or_refused([&] {
              for (const auto& [id, odds] : read_null_odds(path)) {
                demand_text(id);
                if (!std::isfinite(odds)) std::abort();
              }
            }) ||
            whole;
    whole = text_read_or_refused([&] {
              const HotpotPredictions read = read_hotpot_predictions(path);
              for (const auto& [id, text] : read.answers) demand_text(text);
              for (const auto& [id, facts] : read.supporting_facts) {
                for (const SupportingFact& fact : facts) demand_text(fact.first);
              }
            }) ||
            whole;
    whole = text_read_or_refused([&] {
              std::set<std::int64_t> ids;
              for (const NqPrediction& prediction : read_nq_predictions(path)) {
                if (!ids.insert(prediction.id).second) std::abort();
                if (!std::isfinite(prediction.long_score) || !std::isfinite(prediction.short_score))
                  std::abort();
              }
            }) ||
            whole;
  });
  return whole;
}

}  // namespace bigbird::fuzz
