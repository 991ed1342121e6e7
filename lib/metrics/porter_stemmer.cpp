// Porter's steps as NLTK has them; see rouge.h. A list of rules is gone through until a suffix fits:
// that rule decides, and where its condition does not hold the word stays as it is.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/metrics/rouge.h"

namespace bigbird {
namespace {

bool is_consonant(std::string_view word, std::size_t at) {
  switch (word[at]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
      return false;
    case 'y':
      return at == 0 || !is_consonant(word, at - 1);
    default:
      return true;
  }
}

// Porter's m: how often a vowel is followed by a consonant.
int measure(std::string_view stem) {
  int m = 0;
  for (std::size_t i = 1; i < stem.size(); ++i) {
    if (!is_consonant(stem, i - 1) && is_consonant(stem, i)) ++m;
  }
  return m;
}

bool has_positive_measure(std::string_view stem) {
  return measure(stem) > 0;
}

bool contains_vowel(std::string_view stem) {
  for (std::size_t i = 0; i < stem.size(); ++i) {
    if (!is_consonant(stem, i)) return true;
  }
  return false;
}

bool ends_in_double_consonant(std::string_view word) {
  const std::size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && is_consonant(word, n - 1);
}

// Porter's *o, and NLTK's words of a vowel and a consonant.
bool ends_in_short_syllable(std::string_view word) {
  const std::size_t n = word.size();
  if (n == 2) return !is_consonant(word, 0) && is_consonant(word, 1);
  return n >= 3 && is_consonant(word, n - 3) && !is_consonant(word, n - 2) && is_consonant(word, n - 1) &&
         std::string_view("wxy").find(word[n - 1]) == std::string_view::npos;
}

std::string_view without(std::string_view word, std::string_view suffix) {
  return word.substr(0, word.size() - suffix.size());
}

std::string joined(std::string_view stem, std::string_view ending) {
  return std::string(stem) += ending;
}

struct Rule {
  std::string_view suffix;
  std::string_view replacement;
};

// The first rule whose suffix the word has, if `condition` holds for what is left.
template <typename Condition>
std::string apply_first(std::string_view word, std::span<const Rule> rules, Condition condition) {
  for (const Rule& rule : rules) {
    if (!word.ends_with(rule.suffix)) continue;
    const std::string_view stem = without(word, rule.suffix);
    return condition(stem, rule) ? joined(stem, rule.replacement) : std::string(word);
  }
  return std::string(word);
}

std::string step_1a(std::string_view word) {
  if (word.size() == 4 && word.ends_with("ies")) return joined(without(word, "ies"), "ie");
  constexpr std::array<Rule, 4> rules = {{{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}}};
  return apply_first(word, rules, [](std::string_view, const Rule&) { return true; });
}

std::string step_1b(std::string_view word) {
  if (word.ends_with("ied")) return joined(without(word, "ied"), word.size() == 4 ? "ie" : "i");
  if (word.ends_with("eed")) {
    const std::string_view stem = without(word, "eed");
    return has_positive_measure(stem) ? joined(stem, "ee") : std::string(word);
  }
  std::string_view stem;
  for (const std::string_view suffix : {"ed", "ing"}) {
    if (word.ends_with(suffix) && contains_vowel(without(word, suffix))) stem = without(word, suffix);
  }
  if (stem.empty()) return std::string(word);
  for (const std::string_view ending : {"at", "bl", "iz"}) {
    if (stem.ends_with(ending)) return joined(stem, "e");
  }
  if (ends_in_double_consonant(stem)) {
    const bool stays = std::string_view("lsz").find(stem.back()) != std::string_view::npos;
    return std::string(stays ? stem : stem.substr(0, stem.size() - 1));
  }
  return measure(stem) == 1 && ends_in_short_syllable(stem) ? joined(stem, "e") : std::string(stem);
}

std::string step_1c(std::string_view word) {
  if (!word.ends_with("y")) return std::string(word);
  const std::string_view stem = without(word, "y");
  return stem.size() > 1 && is_consonant(stem, stem.size() - 1) ? joined(stem, "i") : std::string(word);
}

std::string step_2(std::string_view word) {
  if (word.ends_with("alli") && has_positive_measure(without(word, "alli"))) {
    return step_2(joined(without(word, "alli"), "al"));
  }
  constexpr std::array<Rule, 22> rules = {
      {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
       {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
       {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
       {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
       {"fulli", "ful"},   {"logi", "log"}}};
  return apply_first(word, rules, [&](std::string_view stem, const Rule& rule) {
    // Of "logi" the l counts to the stem.
    return has_positive_measure(rule.suffix == "logi" ? word.substr(0, word.size() - 3) : stem);
  });
}

std::string step_3(std::string_view word) {
  constexpr std::array<Rule, 7> rules = {{{"icate", "ic"},
                                          {"ative", ""},
                                          {"alize", "al"},
                                          {"iciti", "ic"},
                                          {"ical", "ic"},
                                          {"ful", ""},
                                          {"ness", ""}}};
  return apply_first(word, rules,
                     [](std::string_view stem, const Rule&) { return has_positive_measure(stem); });
}

std::string step_4(std::string_view word) {
  constexpr std::array<Rule, 19> rules = {{{"al", ""},
                                           {"ance", ""},
                                           {"ence", ""},
                                           {"er", ""},
                                           {"ic", ""},
                                           {"able", ""},
                                           {"ible", ""},
                                           {"ant", ""},
                                           {"ement", ""},
                                           {"ment", ""},
                                           {"ent", ""},
                                           {"ion", ""},
                                           {"ou", ""},
                                           {"ism", ""},
                                           {"ate", ""},
                                           {"iti", ""},
                                           {"ous", ""},
                                           {"ive", ""},
                                           {"ize", ""}}};
  return apply_first(word, rules, [](std::string_view stem, const Rule& rule) {
    return measure(stem) > 1 && (rule.suffix != "ion" || stem.back() == 's' || stem.back() == 't');
  });
}

std::string step_5a(std::string_view word) {
  if (!word.ends_with("e")) return std::string(word);
  const std::string_view stem = without(word, "e");
  const int m = measure(stem);
  return std::string(m > 1 || (m == 1 && !ends_in_short_syllable(stem)) ? stem : word);
}

std::string step_5b(std::string_view word) {
  const std::string_view stem = word.substr(0, word.size() - 1);
  return std::string(word.ends_with("ll") && measure(stem) > 1 ? stem : word);
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> irregular_words = {
    {{"sky", "sky"},
     {"skies", "sky"},
     {"dying", "die"},
     {"lying", "lie"},
     {"tying", "tie"},
     {"news", "news"},
     {"innings", "inning"},
     {"inning", "inning"},
     {"outings", "outing"},
     {"outing", "outing"},
     {"cannings", "canning"},
     {"canning", "canning"},
     {"howe", "howe"},
     {"proceed", "proceed"},
     {"exceed", "exceed"},
     {"succeed", "succeed"}}};

}  // namespace

std::string porter_stem(std::string_view word) {
  const auto* irregular = std::find_if(irregular_words.begin(), irregular_words.end(),
                                       [&](const auto& entry) { return entry.first == word; });
  if (irregular != irregular_words.end()) return std::string(irregular->second);
  if (word.size() <= 2) return std::string(word);
  std::string stem = step_1a(word);
  for (const auto step : {step_1b, step_1c, step_2, step_3, step_4, step_5a, step_5b}) stem = step(stem);
  return stem;
}

}  // namespace bigbird
