// What the trainers share, and the exact one. At every step the pair of symbols that stands side by side most
// often becomes a piece; bpe_trainer.h tells the two ways to count (AAAA holds three pairs or two) and to
// break ties. A pair whose piece exists already, through another split, is never merged, nor is one longer
// than the limit; training ends when no pair occurs twice.
//
// How it is fast. A step makes occurrences of its new piece only, and takes away others. So the count of a
// pair is highest when the younger of its two pieces is made, and only falls from there. Hence:
//  - the positions of a pair are listed once, when its younger piece is made; pairs seen once are not listed;
//  - no count is kept up to date. A heap orders the pairs by their last known count, an upper bound; the top
//    is counted afresh, and either still leads (then it is the true maximum, ties included) or goes back.
// Symbols lie in one array, a piece's number at its first and at its last base and nothing between, so that
// both neighbours of a piece are found without links.
#include "lib/tokenization/bpe_trainer.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <unordered_set>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"

namespace bigbird {
namespace {

using Cell = std::uint32_t;
using Position = std::uint32_t;
constexpr Cell inside = std::numeric_limits<Cell>::max();            // between a piece's first and last base
constexpr Cell sentence_end = std::numeric_limits<Cell>::max() - 1;  // stands between sentences
constexpr std::string_view sorted_letters = "ACGNT";
constexpr unsigned letters_in_key = 18;
constexpr unsigned bits_per_letter = 3;

std::uint64_t letters_key(const std::string& text) {
  std::uint64_t key = 0;
  for (unsigned i = 0; i < letters_in_key; ++i) {
    const std::uint64_t letter = i < text.size() ? sorted_letters.find(text[i]) : 0;
    key = (key << bits_per_letter) | letter;
  }
  return key;
}

// Lists of positions, carved from large blocks that are given back when all their lists are done with.
class PositionArena {
 public:
  struct List {
    Position* begin = nullptr;
    std::uint32_t size = 0;
    std::uint32_t block = 0;
  };

  List allocate(std::uint32_t size) {
    if (blocks_.empty() || blocks_.back().used + size > blocks_.back().positions.size()) {
      if (!blocks_.empty()) release_if_done(blocks_.back());
      blocks_.push_back({std::vector<Position>(std::max<std::size_t>(size, block_size)), 0, 0});
    }
    Block& block = blocks_.back();
    List list{block.positions.data() + block.used, size, static_cast<std::uint32_t>(blocks_.size() - 1)};
    block.used += size;
    ++block.lists;
    return list;
  }

  void release(List& list) {
    Block& block = blocks_[list.block];
    --block.lists;
    if (list.block + 1 != blocks_.size()) release_if_done(block);
    list = {};
  }

 private:
  static constexpr std::size_t block_size = std::size_t{1} << 18;
  struct Block {
    std::vector<Position> positions;
    std::size_t used = 0;
    std::size_t lists = 0;
  };

  static void release_if_done(Block& block) {
    if (block.lists == 0) block.positions = {};
  }

  std::vector<Block> blocks_;
};

class Training {
 public:
  Training(const BpeSample& sample, const BpeTrainingOptions& options, PairRule rule)
      : rule_(rule),
        wanted_(options.learnt_pieces),
        max_length_(options.max_piece_length == 0 ? std::numeric_limits<std::uint32_t>::max()
                                                  : options.max_piece_length) {
    if (sample.text().size() >= sentence_end) {
      throw_bad_input("the sample holds more than 4.29 Gb", message("choose a smaller `sample_bases`"));
    }
    for (const char letter : sorted_letters) add_piece(std::string(1, letter));
    read_cells(sample.text());
    list_letter_pairs();
  }

  std::vector<std::string> run() {
    Progress progress("train-bpe", wanted_, "pieces");
    std::vector<std::string> learnt;
    while (learnt.size() < wanted_ && !heap_.empty()) {
      Candidate top = pop();
      Pair& pair = pairs_[top.pair];
      std::string text = pieces_[pair.left].text + pieces_[pair.right].text;
      if (known_.count(text) != 0) {
        arena_.release(pair.positions);
        continue;
      }
      const std::uint32_t count = recount(pair);
      if (count < 2) {
        arena_.release(pair.positions);
        continue;
      }
      if (count < top.count) {
        top.count = count;
        push(top);
        continue;
      }
      learnt.push_back(text);
      merge(top.pair, std::move(text));
      if (learnt.size() % 256 == 0) {
        throw_if_cancelled();
        progress.advance(256);
      }
    }
    return learnt;
  }

 private:
  struct Piece {
    std::string text;
    std::uint64_t key = 0;  // the first letters, so that most comparisons touch no string
    std::uint32_t length = 0;
  };
  struct Pair {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    PositionArena::List positions;  // where the left piece begins; ascending; may hold stale ones
  };
  struct Candidate {
    std::uint32_t count = 0;  // upper bound
    std::uint32_t pair = 0;
    std::uint64_t order = 0;  // smaller wins a tie
  };
  struct Neighbour {
    std::uint32_t count = 0;
    std::uint32_t filled = 0;
    std::uint32_t pair = none;
  };
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  bool worse(const Candidate& a, const Candidate& b) const {
    if (a.count != b.count) return a.count < b.count;
    if (a.order != b.order) return a.order > b.order;
    return later_in_full(pairs_[a.pair], pairs_[b.pair]);
  }

  // The tie rule of pairs that stand apart, without the shortcut of `order`: whether a comes after b. (By
  // age no two pairs have one order.)
  bool later_in_full(const Pair& a, const Pair& b) const {
    const std::string text_a = pieces_[a.left].text + pieces_[a.right].text;
    const std::string text_b = pieces_[b.left].text + pieces_[b.right].text;
    if (text_a.size() != text_b.size()) return text_a.size() > text_b.size();
    if (text_a != text_b) return text_a > text_b;
    return pieces_[a.left].length > pieces_[b.left].length;
  }

  // By age: the older left piece, then the older right one. Else by length and first letters.
  std::uint64_t order_of(const Pair& pair) const {
    if (rule_ == PairRule::adjacent) return (std::uint64_t{pair.left} << 32) | pair.right;
    const Piece& left = pieces_[pair.left];
    const Piece& right = pieces_[pair.right];
    const std::uint64_t length = std::min<std::uint64_t>(std::uint64_t{left.length} + right.length, 1023);
    std::uint64_t key = left.key;
    if (left.length < letters_in_key) key |= right.key >> (bits_per_letter * left.length);
    return (length << (bits_per_letter * letters_in_key)) | key;
  }

  void push(const Candidate& candidate) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(),
                   [this](const Candidate& a, const Candidate& b) { return worse(a, b); });
  }

  Candidate pop() {
    std::pop_heap(heap_.begin(), heap_.end(),
                  [this](const Candidate& a, const Candidate& b) { return worse(a, b); });
    const Candidate top = heap_.back();
    heap_.pop_back();
    return top;
  }

  std::uint32_t add_piece(std::string text) {
    Piece piece;
    piece.key = letters_key(text);
    piece.length = static_cast<std::uint32_t>(text.size());
    known_.insert(text);
    piece.text = std::move(text);
    pieces_.push_back(std::move(piece));
    left_neighbours_.emplace_back();
    right_neighbours_.emplace_back();
    return static_cast<std::uint32_t>(pieces_.size() - 1);
  }

  void read_cells(const std::string& text) {
    cells_.resize(text.size() + 1);
    cells_[0] = sentence_end;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::size_t letter = sorted_letters.find(text[i]);
      cells_[i + 1] = letter == std::string_view::npos ? sentence_end : static_cast<Cell>(letter);
    }
  }

  void list_letter_pairs() {
    constexpr std::size_t letters = sorted_letters.size();
    std::vector<std::uint32_t> counts(letters * letters);
    const auto for_each_pair = [&](const auto& visit) {
      for (std::size_t p = 1; p + 1 < cells_.size(); ++p) {
        if (cells_[p] < letters && cells_[p + 1] < letters) visit(p, cells_[p] * letters + cells_[p + 1]);
      }
    };
    for_each_pair([&](std::size_t, std::size_t pair) { ++counts[pair]; });
    std::vector<std::uint32_t> pair_of(counts.size(), none);
    std::vector<std::uint32_t> filled(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] < 2 || max_length_ < 2) continue;
      pair_of[i] = add_pair(static_cast<std::uint32_t>(i / letters), static_cast<std::uint32_t>(i % letters),
                            counts[i]);
    }
    for_each_pair([&](std::size_t p, std::size_t pair) {
      if (pair_of[pair] != none) {
        pairs_[pair_of[pair]].positions.begin[filled[pair]++] = static_cast<Position>(p);
      }
    });
    for (const std::uint32_t pair : pair_of) {
      if (pair != none) push_new(pair);
    }
  }

  std::uint32_t add_pair(std::uint32_t left, std::uint32_t right, std::uint32_t count) {
    pairs_.push_back({left, right, arena_.allocate(count)});
    return static_cast<std::uint32_t>(pairs_.size() - 1);
  }

  // The list's length bounds the count; only a pair of equal pieces can hold fewer (overlaps, where they are
  // not counted).
  void push_new(std::uint32_t pair) { push({pairs_[pair].positions.size, pair, order_of(pairs_[pair])}); }

  // Drops stale positions and counts the occurrences by the rule. A listed position begins the pair still
  // when both pieces' numbers are where they were: pieces only grow, so a longer one would show another
  // number.
  std::uint32_t recount(Pair& pair) {
    const std::uint32_t length = pieces_[pair.left].length;
    const bool can_overlap = rule_ == PairRule::apart && pair.left == pair.right;
    PositionArena::List& list = pair.positions;
    std::uint32_t kept = 0;
    std::uint32_t count = 0;
    std::uint64_t free_from = 0;
    for (std::uint32_t i = 0; i < list.size; ++i) {
      if (i + prefetch_ahead < list.size) __builtin_prefetch(&cells_[list.begin[i + prefetch_ahead]]);
      const Position p = list.begin[i];
      if (cells_[p] != pair.left || cells_[p + length] != pair.right) continue;
      list.begin[kept++] = p;
      if (can_overlap) {
        if (p < free_from) continue;
        free_from = std::uint64_t{p} + 2 * length;
      }
      ++count;
    }
    list.size = kept;
    return count;
  }

  void merge(std::uint32_t pair_number, std::string text) {
    const std::uint32_t made = add_piece(std::move(text));
    Pair& pair = pairs_[pair_number];
    const std::uint32_t left_length = pieces_[pair.left].length;
    const std::uint32_t length = pieces_[made].length;
    merged_.clear();
    for (std::uint32_t i = 0; i < pair.positions.size; ++i) {
      const Position p = pair.positions.begin[i];
      const Position middle = p + left_length;
      if (cells_[p] != pair.left || cells_[middle] != pair.right) continue;  // overlapped by the one before
      cells_[middle - 1] = inside;
      cells_[middle] = inside;
      cells_[p] = made;
      cells_[p + length - 1] = made;
      merged_.push_back(p);
    }
    arena_.release(pair.positions);
    list_neighbours(made);
  }

  // Lists the pairs of the new piece with what stands left and right of it. Two of the new piece side by side
  // are met once, as the right neighbour of the first.
  void list_neighbours(std::uint32_t made) {
    const std::uint32_t length = pieces_[made].length;
    left_of_.resize(merged_.size());
    right_of_.resize(merged_.size());
    touched_.clear();
    const auto meet = [&](std::vector<Neighbour>& neighbours, Cell cell) {
      if (cell == sentence_end || std::uint64_t{pieces_[cell].length} + length > max_length_) return none;
      if (neighbours[cell].count++ == 0) touched_.push_back({&neighbours, cell});
      return cell;
    };
    for (std::size_t i = 0; i < merged_.size(); ++i) {
      const Cell left = cells_[merged_[i] - 1];
      left_of_[i] = left == made ? none : meet(left_neighbours_, left);
      right_of_[i] = meet(right_neighbours_, cells_[merged_[i] + length]);
    }
    for (const Touched& touched : touched_) {
      Neighbour& neighbour = (*touched.neighbours)[touched.piece];
      if (neighbour.count < 2) continue;
      const bool at_left = touched.neighbours == &left_neighbours_;
      neighbour.pair =
          add_pair(at_left ? touched.piece : made, at_left ? made : touched.piece, neighbour.count);
    }
    const auto place = [&](std::vector<Neighbour>& neighbours, std::uint32_t piece, Position position) {
      if (piece == none || neighbours[piece].pair == none) return;
      Neighbour& neighbour = neighbours[piece];
      pairs_[neighbour.pair].positions.begin[neighbour.filled++] = position;
    };
    for (std::size_t i = 0; i < merged_.size(); ++i) {
      if (left_of_[i] != none) place(left_neighbours_, left_of_[i], merged_[i] - pieces_[left_of_[i]].length);
      place(right_neighbours_, right_of_[i], merged_[i]);
    }
    for (const Touched& touched : touched_) {
      Neighbour& neighbour = (*touched.neighbours)[touched.piece];
      if (neighbour.pair != none) push_new(neighbour.pair);
      neighbour = {};
    }
  }

  struct Touched {
    std::vector<Neighbour>* neighbours;
    std::uint32_t piece;
  };
  static constexpr std::uint32_t prefetch_ahead = 24;

  PairRule rule_;
  std::uint64_t wanted_;
  std::uint32_t max_length_;
  std::vector<Cell> cells_;
  std::vector<Piece> pieces_;
  std::unordered_set<std::string> known_;
  std::vector<Pair> pairs_;
  std::vector<Candidate> heap_;
  PositionArena arena_;
  std::vector<Neighbour> left_neighbours_;
  std::vector<Neighbour> right_neighbours_;
  std::vector<Touched> touched_;
  std::vector<Position> merged_;
  std::vector<std::uint32_t> left_of_;
  std::vector<std::uint32_t> right_of_;
};

class ExactBpeTrainer final : public BpeTrainer {
 public:
  explicit ExactBpeTrainer(PairRule rule) : rule_(rule) {}

  std::string name() const override {
    return rule_ == PairRule::adjacent ? "exact, adjacent pairs" : "apart";
  }
  std::vector<std::string> train(const BpeSample& sample, const BpeTrainingOptions& options) const override {
    return Training(sample, options, rule_).run();
  }

 private:
  PairRule rule_;
};

}  // namespace

void BpeSample::add(std::string_view sentence) {
  if (sentence.empty()) return;
  text_.append(sentence);
  text_.push_back('\n');
  ++sentence_count_;
}

std::unique_ptr<BpeTrainer> make_bpe_trainer(const std::string& name) {
  if (name == "exact") return make_exact_bpe_trainer(PairRule::adjacent);
  if (name == "apart") return make_exact_bpe_trainer(PairRule::apart);
  if (name == "sentencepiece") return make_sentencepiece_bpe_trainer();
  throw_usage(message("`trainer` ") + name + ": there is no such trainer",
              "one of: exact, apart, sentencepiece");
}

std::unique_ptr<BpeTrainer> make_exact_bpe_trainer(PairRule rule) {
  return std::make_unique<ExactBpeTrainer>(rule);
}

}  // namespace bigbird
