// See entities.h.
#include "lib/metrics/entities.h"

#include <algorithm>
#include <string_view>

namespace bigbird {
namespace {

struct Tag {
  char kind = 'O';
  std::string_view type;
};

// "B-PER" is kind B and type PER; "B" has the type "_".
Tag tag_of(std::string_view label) {
  if (label.empty()) return {};
  const std::string_view rest = label.substr(1);
  const std::size_t dash = rest.find('-');
  const std::string_view type = dash == std::string_view::npos ? rest : rest.substr(dash + 1);
  return {label.front(), type.empty() ? std::string_view("_") : type};
}

bool is_outside(char kind) {
  return kind == 'O' || kind == '.';
}

// conlleval's two rules: whether an entity ends before `next`, and whether one begins with it.
bool ends(const Tag& before, const Tag& next) {
  if (before.kind == 'E' || before.kind == 'S') return true;
  if ((before.kind == 'B' || before.kind == 'I') &&
      (next.kind == 'B' || next.kind == 'S' || next.kind == 'O'))
    return true;
  return !is_outside(before.kind) && before.type != next.type;
}

bool begins(const Tag& before, const Tag& tag) {
  if (tag.kind == 'B' || tag.kind == 'S') return true;
  if ((before.kind == 'E' || before.kind == 'S' || before.kind == 'O') &&
      (tag.kind == 'E' || tag.kind == 'I'))
    return true;
  return !is_outside(tag.kind) && before.type != tag.type;
}

double ratio(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

bool are_entity_labels(std::span<const std::string> labels) {
  const auto is_entity = [](const std::string& label) {
    return label.size() > 2 && label[1] == '-' && std::string_view("BIESULM").find(label[0]) < 7;
  };
  return std::any_of(labels.begin(), labels.end(), is_entity) &&
         std::all_of(labels.begin(), labels.end(),
                     [&](const std::string& label) { return label == "O" || is_entity(label); });
}

std::vector<Entity> entities_of(const std::vector<std::string>& labels) {
  std::vector<Entity> entities;
  Tag before;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= labels.size(); ++i) {
    const Tag tag = i < labels.size() ? tag_of(labels[i]) : Tag{};
    if (ends(before, tag)) entities.push_back({std::string(before.type), begin, i});
    if (begins(before, tag)) begin = i;
    before = tag;
  }
  return entities;
}

double EntityScore::precision() const {
  return ratio(correct, predicted);
}
double EntityScore::recall() const {
  return ratio(correct, gold);
}
double EntityScore::f1() const {
  return ratio(2 * correct, gold + predicted);
}

void EntityScores::add(const std::vector<std::string>& gold, const std::vector<std::string>& predicted) {
  const std::vector<Entity> right = entities_of(gold), found = entities_of(predicted);
  for (const Entity& entity : right) ++types_[entity.type].gold;
  for (const Entity& entity : found) {
    EntityScore& score = types_[entity.type];
    ++score.predicted;
    if (std::find(right.begin(), right.end(), entity) != right.end()) ++score.correct;
  }
}

EntityScore EntityScores::all() const {
  EntityScore sum;
  for (const auto& [type, score] : types_) {
    sum.gold += score.gold;
    sum.predicted += score.predicted;
    sum.correct += score.correct;
  }
  return sum;
}

double EntityScores::macro_f1() const {
  double sum = 0;
  for (const auto& [type, score] : types_) sum += score.f1();
  return types_.empty() ? 0.0 : sum / static_cast<double>(types_.size());
}

double EntityScores::weighted_f1() const {
  double sum = 0;
  for (const auto& [type, score] : types_) sum += score.f1() * static_cast<double>(score.gold);
  const std::int64_t gold = all().gold;
  return gold == 0 ? 0.0 : sum / static_cast<double>(gold);
}

}  // namespace bigbird
