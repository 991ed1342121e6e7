// Which sentences of a document make the extract that is nearest to a summary, by ROUGE: what a model learns
// to pick, and the best that picking could do, as far as one sentence after another finds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bigbird {

// Greedy: from nothing on, the sentence is taken that makes the sum of the F1 of ROUGE-1 and ROUGE-2 largest
// (Nallapati et al. 2017, section 3), of equal ones the first, until none makes it larger. 1 for each that
// was taken. Sentences of an extract stand in the order of the document, a line each.
std::vector<std::int32_t> extract_labels(const std::vector<std::string>& sentences,
                                         const std::string& summary);

// The sentences of an extract as one text, a line each.
std::string extract_of(const std::vector<std::string>& sentences, const std::vector<std::size_t>& numbers);

}  // namespace bigbird
