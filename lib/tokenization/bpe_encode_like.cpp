// Encoding a text that shares stretches with one whose pieces are known; see bpe_encoder.h for the rule.
//
// Why the numbers are those of encode(). For a regular vocabulary a sequence of pieces is the encoding of its
// text exactly when each piece encodes to itself and every two neighbours stay apart. So the encoding of each
// prefix of the text ends with one piece, which begins where the encoding of a shorter prefix ends: the
// prefixes are a tree, and the encoding of the text is the path from its root to its end. encode() looks for
// that path from the root, the longest piece first, and steps back where no piece goes on. In which order a
// search of a tree tries its branches decides how long it takes, not what it finds. Here a position that is
// reached for the first time first tries the known pieces: where one of them begins at the same place of a
// shared stretch and stays apart from the piece before it, it and all that follow inside of the stretch are
// taken at once, because known neighbours stay apart and the letters are the same (they are compared,
// whatever the caller believes). Where the search steps back onto a piece that was taken in this way, it
// tries all pieces of that place, the longest first; those that lead nowhere are marked as in encode().
#include <algorithm>

#include "lib/core/error.h"
#include "lib/tokenization/bpe_encoder.h"

namespace bigbird {
namespace {

// A walk over the known pieces, to the one that begins at a place.
struct Guide {
  std::int64_t offset = 0;    // text[i] is compared with known.text[i + offset]
  std::size_t piece = 0;      // of the known ones
  std::int64_t position = 0;  // of its first letter in the known text
};

// Whether a known piece begins at `target`; guide.piece is then that one.
bool go_to(Guide& guide, std::int64_t target, const KnownPieces& known,
           const std::vector<std::uint32_t>& lengths) {
  const auto length = [&](std::size_t piece) { return std::int64_t{lengths[known.numbers[piece]]}; };
  while (guide.position < target && guide.piece < known.numbers.size())
    guide.position += length(guide.piece++);
  while (guide.position > target && guide.piece > 0) guide.position -= length(--guide.piece);
  return guide.position == target && guide.piece < known.numbers.size();
}

// Pieces of `numbers` that were taken from the known ones: [begin, end).
struct Taken {
  std::size_t begin = 0;
  std::size_t end = 0;
};

}  // namespace

std::vector<std::uint32_t> numbers_by_id(const std::vector<std::uint32_t>& ids, std::size_t vocabulary) {
  std::vector<std::uint32_t> numbers(vocabulary, BpeEncoder::unknown);
  for (std::size_t number = 0; number < ids.size(); ++number)
    numbers[ids[number]] = static_cast<std::uint32_t>(number);
  return numbers;
}

std::vector<std::uint32_t> numbers_of(std::span<const std::int32_t> ids,
                                      const std::vector<std::uint32_t>& numbers_by_id) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(ids.size());
  for (const std::int32_t id : ids) {
    const std::uint32_t number = numbers_by_id[static_cast<std::size_t>(id)];
    if (number == BpeEncoder::unknown) break;
    numbers.push_back(number);
  }
  return numbers;
}

std::size_t BpeEncoder::encode_like(std::string_view text, const KnownPieces& known,
                                    std::vector<std::uint32_t>& numbers) const {
  if (!regular_) {
    encode(text, numbers);
    return 0;
  }
  std::size_t taken = 0;
  split_at_unknown(text, numbers, [&](std::string_view letters) {
    taken += encode_letters_like(letters, letters.data() - text.data(), known, numbers);
  });
  return taken;
}

std::size_t BpeEncoder::encode_letters_like(std::string_view letters, std::int64_t begin,
                                            const KnownPieces& known,
                                            std::vector<std::uint32_t>& numbers) const {
  const std::size_t first = numbers.size();
  const auto known_size = static_cast<std::int64_t>(known.text.size());
  std::vector<std::uint8_t> given_up(letters.size() + 1);
  std::vector<Guide> guides;
  for (const std::int64_t offset : known.offsets) guides.push_back({offset, 0, 0});
  std::vector<Taken> taken;
  std::size_t taken_letters = 0;
  std::size_t position = 0;

  // Takes known pieces from `position` on, if there are any.
  const auto take_known = [&](Guide& guide) {
    const std::int64_t target = begin + static_cast<std::int64_t>(position) + guide.offset;
    if (target < 0 || target >= known_size || !go_to(guide, target, known, lengths_)) return false;
    if (numbers.size() > first && !stay_apart(numbers.back(), known.numbers[guide.piece])) return false;
    const std::string_view there = known.text.substr(static_cast<std::size_t>(target));
    const std::string_view here = letters.substr(position);
    const std::size_t most = std::min(here.size(), there.size());
    const auto shared = static_cast<std::size_t>(
        std::mismatch(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(most), there.begin()).first -
        here.begin());
    const std::size_t from = numbers.size();
    std::size_t length = 0;
    while (guide.piece < known.numbers.size()) {
      const std::uint32_t number = known.numbers[guide.piece];
      if (length + lengths_[number] > shared) break;
      length += lengths_[number];
      numbers.push_back(number);
      ++guide.piece;
    }
    guide.position += static_cast<std::int64_t>(length);
    position += length;
    if (length > 0) taken.push_back({from, numbers.size()});
    taken_letters += length;
    return length > 0;
  };

  while (position < letters.size()) {
    if (std::any_of(guides.begin(), guides.end(), take_known)) continue;
    std::uint32_t piece = longest_match(letters, position);
    for (;;) {
      if (piece == none) {  // nothing fits here: go one piece back and take another one there
        if (numbers.size() == first) throw_runtime("known pieces that are not the pieces of their text");
        given_up[position] = 1;
        const std::uint32_t last = numbers.back();
        numbers.pop_back();
        position -= lengths_[last];
        piece = shorter_match_[last];
        if (!taken.empty() && numbers.size() < taken.back().end) {  // longer ones were not tried
          taken_letters -= lengths_[last];
          taken.back().end = numbers.size();
          if (taken.back().begin == taken.back().end) taken.pop_back();
          piece = longest_match(letters, position);
        }
        continue;
      }
      const std::size_t end = position + lengths_[piece];
      if (given_up[end] == 0 && (numbers.size() == first || stay_apart(numbers.back(), piece))) {
        numbers.push_back(piece);
        position = end;
        break;
      }
      piece = shorter_match_[piece];
    }
  }
  return taken_letters;
}

}  // namespace bigbird
