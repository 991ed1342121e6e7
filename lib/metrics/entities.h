// Entities in the labels of a sentence's words (B-PER, I-PER, O ...), and how well they were found:
// precision, recall and F1 as seqeval 1.2.2 gives them by default, which follows conlleval. IOB1, IOB2, IOE
// and IOBES are read alike: what a label continues decides, not its scheme. An entity is right where its type
// and both borders are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace bigbird {

struct Entity {
  std::string type;
  std::size_t begin = 0;  // words, half-open
  std::size_t end = 0;
  bool operator==(const Entity&) const = default;
};

// Whether labels tell entities: each is O or begins with B-, I-, E-, S- and the like, and one does.
bool are_entity_labels(std::span<const std::string> labels);
// The type of an empty one is "_".
std::vector<Entity> entities_of(const std::vector<std::string>& labels);

struct EntityScore {
  std::int64_t gold = 0;
  std::int64_t predicted = 0;
  std::int64_t correct = 0;
  // 0 where a denominator is.
  double precision() const;
  double recall() const;
  double f1() const;
};

class EntityScores {
 public:
  // A sentence: as many labels on either side.
  void add(const std::vector<std::string>& gold, const std::vector<std::string>& predicted);

  EntityScore all() const;  // micro
  const std::map<std::string, EntityScore>& types() const { return types_; }
  double macro_f1() const;     // the plain mean over the types; 0 without any
  double weighted_f1() const;  // the mean by the number of gold entities

 private:
  std::map<std::string, EntityScore> types_;
};

}  // namespace bigbird
