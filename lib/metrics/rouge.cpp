// ROUGE as rouge_score computes it; see rouge.h.
#include "lib/metrics/rouge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <unordered_map>

#include "lib/core/error.h"
#include "lib/core/numpy_random.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

constexpr std::size_t longest_unstemmed = 3;

// Words as numbers, equal ones alike within one comparison.
using Words = std::vector<std::int32_t>;

class Vocabulary {
 public:
  Words numbers(std::string_view text, bool stem) {
    Words result;
    for (std::string& word : rouge_words(text, stem)) {
      const auto next = static_cast<std::int32_t>(numbers_.size());
      result.push_back(numbers_.try_emplace(std::move(word), next).first->second);
    }
    return result;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
};

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

RougeScore score_of(std::size_t hits, std::size_t in_prediction, std::size_t in_target) {
  RougeScore score{share(hits, in_prediction), share(hits, in_target), 0};
  const double sum = score.precision + score.recall;
  if (sum > 0) score.f1 = 2 * score.precision * score.recall / sum;
  return score;
}

using Counts = std::map<Words, std::size_t>;

Counts n_grams(const Words& words, std::size_t n) {
  Counts counts;
  for (std::size_t i = 0; i + n <= words.size(); ++i) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(i);
    ++counts[Words(begin, begin + static_cast<std::ptrdiff_t>(n))];
  }
  return counts;
}

RougeScore rouge_n(const Words& target, const Words& prediction, std::size_t n) {
  const auto number = [&](const Words& words) { return words.size() < n ? 0 : words.size() - n + 1; };
  const Counts wanted = n_grams(target, n), given = n_grams(prediction, n);
  std::size_t hits = 0;
  for (const auto& [gram, count] : wanted) {
    const auto found = given.find(gram);
    if (found != given.end()) hits += std::min(count, found->second);
  }
  return score_of(hits, number(prediction), number(target));
}

// Lengths of longest common subsequences: at (i, j) of the first i words of `a` and the first j of `b`.
class CommonSubsequence {
 public:
  CommonSubsequence(const Words& a, const Words& b)
      : width_(b.size() + 1), lengths_((a.size() + 1) * width_, 0) {
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j) {
        lengths_[i * width_ + j] =
            a[i - 1] == b[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
      }
    }
  }
  std::int32_t at(std::size_t i, std::size_t j) const { return lengths_[i * width_ + j]; }

 private:
  std::size_t width_;
  std::vector<std::int32_t> lengths_;
};

RougeScore rouge_l(const Words& target, const Words& prediction) {
  if (target.empty() || prediction.empty()) return {};
  const CommonSubsequence common(target, prediction);
  return score_of(static_cast<std::size_t>(common.at(target.size(), prediction.size())), prediction.size(),
                  target.size());
}

// Marks the words of `target` in one longest common subsequence with `prediction`, the one that rouge_score's
// way back through the table finds: up where left is no better.
void mark_common(const Words& target, const Words& prediction, std::vector<bool>& marked) {
  const CommonSubsequence common(target, prediction);
  std::size_t i = target.size(), j = prediction.size();
  while (i > 0 && j > 0) {
    if (target[i - 1] == prediction[j - 1]) {
      marked[--i] = true;
      --j;
    } else if (common.at(i, j - 1) > common.at(i - 1, j)) {
      --j;
    } else {
      --i;
    }
  }
}

std::vector<std::string_view> sentences_of(std::string_view text) {
  std::vector<std::string_view> sentences;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) sentences.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sentences;
}

RougeScore rouge_l_sum(std::string_view target, std::string_view prediction, bool stem) {
  Vocabulary vocabulary;
  const auto numbered = [&](std::string_view text) {
    std::vector<Words> sentences;
    for (const std::string_view sentence : sentences_of(text))
      sentences.push_back(vocabulary.numbers(sentence, stem));
    return sentences;
  };
  const std::vector<Words> targets = numbered(target), predictions = numbered(prediction);
  // A word counts as often as both texts have it.
  const auto left_of = [&](const std::vector<Words>& sentences, std::size_t& words) {
    std::vector<std::size_t> left(vocabulary.size(), 0);
    for (const Words& sentence : sentences) {
      words += sentence.size();
      for (const std::int32_t word : sentence) ++left[static_cast<std::size_t>(word)];
    }
    return left;
  };
  std::size_t in_target = 0, in_prediction = 0, hits = 0;
  std::vector<std::size_t> target_left = left_of(targets, in_target);
  std::vector<std::size_t> prediction_left = left_of(predictions, in_prediction);
  for (const Words& sentence : targets) {
    std::vector<bool> marked(sentence.size(), false);
    for (const Words& other : predictions) mark_common(sentence, other, marked);
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      const auto word = static_cast<std::size_t>(sentence[i]);
      if (!marked[i] || target_left[word] == 0 || prediction_left[word] == 0) continue;
      ++hits;
      --target_left[word];
      --prediction_left[word];
    }
  }
  return score_of(hits, in_prediction, in_target);
}

// Appends the words of a stretch of small letters and digits.
void append_word(std::string& word, bool stem, std::vector<std::string>& words) {
  if (word.empty()) return;
  words.push_back(stem && word.size() > longest_unstemmed ? porter_stem(word) : word);
  word.clear();
}

constexpr std::array<double RougeScore::*, 3> parts = {&RougeScore::precision, &RougeScore::recall,
                                                       &RougeScore::f1};

}  // namespace

std::vector<std::string> rouge_words(std::string_view text, bool stem) {
  constexpr std::string_view kelvin = "\u212A", dotted_i = "\u0130";
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= 'A' && c <= 'Z') {
      word += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
    } else if (text.substr(i, kelvin.size()) == kelvin) {
      word += 'k';
      i += kelvin.size() - 1;
    } else if (text.substr(i, dotted_i.size()) == dotted_i) {
      word += 'i';  // and a combining dot, which ends the word
      append_word(word, stem, words);
      i += dotted_i.size() - 1;
    } else {
      append_word(word, stem, words);
    }
  }
  append_word(word, stem, words);
  return words;
}

std::vector<RougeScore> rouge(std::string_view target, std::string_view prediction,
                              const RougeOptions& options) {
  Vocabulary vocabulary;
  const Words target_words = vocabulary.numbers(target, options.stem);
  const Words predicted_words = vocabulary.numbers(prediction, options.stem);
  std::vector<RougeScore> scores;
  for (const std::string& type : options.types) {
    if (type == "rougeL") {
      scores.push_back(rouge_l(target_words, predicted_words));
    } else if (type == "rougeLsum") {
      scores.push_back(rouge_l_sum(target, prediction, options.stem));
    } else if (type.size() == 6 && type.starts_with("rouge") && type[5] >= '1' && type[5] <= '9') {
      scores.push_back(rouge_n(target_words, predicted_words, static_cast<std::size_t>(type[5] - '0')));
    } else {
      throw_usage(fmt::format("there is no ROUGE '{}'", type), "rouge1 to rouge9, rougeL, rougeLsum");
    }
  }
  return scores;
}

std::vector<RougeScore> rouge(std::span<const std::string> targets, std::string_view prediction,
                              const RougeOptions& options) {
  std::vector<RougeScore> best = rouge(targets.front(), prediction, options);
  for (const std::string& target : targets.subspan(1)) {
    const std::vector<RougeScore> scores = rouge(target, prediction, options);
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (scores[i].f1 > best[i].f1) best[i] = scores[i];
    }
  }
  return best;
}

std::vector<RougeSummary> summarize_rouge(std::span<const std::vector<RougeScore>> scores, std::uint32_t seed,
                                          std::size_t samples) {
  const std::size_t documents = scores.size();
  const auto number = static_cast<double>(documents);
  NumpyLegacyRandom random(seed);
  std::vector<RougeSummary> summaries(scores.front().size());
  for (std::size_t type = 0; type < summaries.size(); ++type) {
    RougeSummary& summary = summaries[type];
    std::array<std::vector<double>, parts.size()> means;
    for (std::size_t sample = 0; sample < samples; ++sample) {
      std::array<double, parts.size()> sums{};
      for (std::size_t draw = 0; draw < documents; ++draw) {
        const std::size_t drawn = random.interval(static_cast<std::uint32_t>(documents - 1));
        for (std::size_t part = 0; part < parts.size(); ++part)
          sums[part] += scores[drawn][type].*parts[part];
      }
      for (std::size_t part = 0; part < parts.size(); ++part) means[part].push_back(sums[part] / number);
    }
    for (std::size_t part = 0; part < parts.size(); ++part) {
      double sum = 0;
      for (const std::vector<RougeScore>& document : scores) sum += document[type].*parts[part];
      summary.mean.*parts[part] = sum / number;
      std::sort(means[part].begin(), means[part].end());
      summary.low.*parts[part] = percentile(means[part], 0.025);
      summary.mid.*parts[part] = percentile(means[part], 0.5);
      summary.high.*parts[part] = percentile(means[part], 0.975);
    }
  }
  return summaries;
}

}  // namespace bigbird
