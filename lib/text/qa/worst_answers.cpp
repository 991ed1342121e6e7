// The answers of lowest F1; see worst_answers.h.
#include "lib/text/qa/worst_answers.h"

#include <algorithm>
#include <tuple>

#include "lib/core/unicode.h"

namespace bigbird {

bool WorstAnswers::wants(bool exact, double f1) const {
  if (kept_.size() < most_) return true;
  return most_ > 0 && std::tuple(f1, exact) < std::tuple(kept_.back().f1, kept_.back().exact);
}

void WorstAnswers::add(JudgedAnswer answer) {
  if (!wants(answer.exact, answer.f1)) return;
  const auto place =
      std::upper_bound(kept_.begin(), kept_.end(), answer, [](const JudgedAnswer& a, const JudgedAnswer& b) {
        return std::tuple(a.f1, a.exact) < std::tuple(b.f1, b.exact);
      });
  kept_.insert(place, std::move(answer));
  if (kept_.size() > most_) kept_.pop_back();
}

std::vector<JudgedAnswer> WorstAnswers::take() {
  return std::move(kept_);
}

std::vector<TextSpan> places_of(std::string_view text, std::string_view wanted, std::size_t most) {
  std::vector<TextSpan> places;
  if (wanted.empty()) return places;
  const CodePointIndex index(text);
  for (std::size_t at = text.find(wanted); at != std::string_view::npos && places.size() < most;
       at = text.find(wanted, at + wanted.size())) {
    places.push_back({index.code_point_of(at), index.code_point_of(at + wanted.size())});
  }
  return places;
}

std::vector<TextSpan> place_of(std::string_view text, std::string_view wanted, std::size_t near) {
  std::vector<TextSpan> places = places_of(text, wanted, text.size());
  if (places.empty()) return places;
  const auto distance = [&](const TextSpan& span) {
    return span.begin > near ? span.begin - near : near - span.begin;
  };
  return {*std::min_element(places.begin(), places.end(),
                            [&](const TextSpan& a, const TextSpan& b) { return distance(a) < distance(b); })};
}

}  // namespace bigbird
