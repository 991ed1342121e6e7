// The answers of TriviaQA without its documents: what predictions are scored against, after
// read_triviaqa_data and get_key_to_ground_truth of the official dataset_utils.py (mandarjoshi90/triviaqa).
#pragma once

#include <string>
#include <vector>

#include "lib/tasks/text/metrics/triviaqa.h"

namespace bigbird {

struct TriviaGoldFile {
  std::vector<TriviaGold> gold;        // a question each; of the domain Web a question and document each
  std::vector<std::string> questions;  // as they are asked, beside `gold`
  bool verified_only = false;          // the file's VerifiedEval
};

// Error{bad_input}: what JsonRecords refuses; fields that are missing, null or of another type; an id that
// was there before; a domain other than Wikipedia and Web.
TriviaGoldFile read_trivia_gold(const std::string& path, bool replace_invalid = false);

}  // namespace bigbird
