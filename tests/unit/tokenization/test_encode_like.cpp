// Texts encoded with the help of one that is known: the ids are always those of encode().
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/bpe_trainer.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers encode(const BpeEncoder& encoder, std::string_view text) {
  Numbers numbers;
  encoder.encode(text, numbers);
  return numbers;
}

// Repeats of short units, so that a change travels far.
std::string some_text(CounterRng& rng, const std::string& alphabet, std::size_t size) {
  std::string text;
  while (text.size() < size) {
    std::string unit;
    for (std::int64_t i = rng.between(1, 4); i > 0; --i) unit += alphabet[rng.below(alphabet.size())];
    for (std::int64_t i = rng.below(3) == 0 ? rng.between(2, 12) : 1; i > 0; --i) text += unit;
  }
  return text.substr(0, size);
}

// Another text with its offsets, some of them wrong: a change at a place, a moved window, or both.
struct Changed {
  std::string text;
  std::vector<std::int64_t> offsets;
};

Changed changed(CounterRng& rng, const std::string& known, const std::string& alphabet) {
  Changed made;
  const std::size_t size = known.size();
  const std::size_t moved = rng.below(3) == 0 ? rng.below(size + 1) : 0;
  const std::size_t at = moved + rng.below(size + 1 - moved);
  const std::size_t removed = std::min<std::size_t>(rng.below(4), size - at);
  const std::string added = some_text(rng, alphabet, rng.below(4));
  made.text = known.substr(moved, at - moved) + added + known.substr(at + removed);
  if (rng.below(2) == 0) made.text += some_text(rng, alphabet, rng.below(9));  // flank that is fetched
  if (rng.below(4) == 0) made.text.resize(rng.below(made.text.size() + 1));    // or dropped
  const auto first = static_cast<std::int64_t>(moved);
  made.offsets = {first,
                  first + static_cast<std::int64_t>(removed) - static_cast<std::int64_t>(added.size())};
  if (rng.below(3) == 0) made.offsets.push_back(rng.between(-5, 5));
  if (rng.below(4) == 0) made.offsets.erase(made.offsets.begin());
  return made;
}

void expect_same(const BpeEncoder& encoder, CounterRng& rng, const std::string& alphabet,
                 const std::string& others) {
  for (int round = 0; round < 25; ++round) {
    std::string known = some_text(rng, alphabet, 1 + rng.below(80));
    Numbers numbers = encode(encoder, known);
    if (rng.below(4) == 0) numbers.resize(rng.below(numbers.size() + 1));  // a sequence that was cut
    Changed other = changed(rng, known, alphabet);
    if (rng.below(6) == 0 && !other.text.empty())
      other.text[rng.below(other.text.size())] = others[rng.below(others.size())];
    Numbers found{7};
    encoder.encode_like(other.text, {known, numbers, other.offsets}, found);
    ASSERT_EQ(found[0], 7u);
    found.erase(found.begin());
    ASSERT_EQ(found, encode(encoder, other.text)) << known << " " << other.text;
    Numbers by_rule;
    encoder.encode_by_rule(other.text, by_rule);
    ASSERT_EQ(found, by_rule) << known << " " << other.text;
  }
}

// The numbers do not stand on the caller's word: a text with nothing in common is encoded as well.
TEST(EncodeLike, GivesTheNumbersOfRandomVocabulariesRegularOrNot) {
  int regular = 0;
  for (std::uint64_t index = 0; index < 500; ++index) {
    CounterRng rng(8, Purpose::test, index);
    const std::string alphabet = std::string("ACGTN").substr(0, 2 + rng.below(4));
    std::vector<std::string> pieces{"A", "C", "G", "T", "N"};
    for (std::int64_t i = rng.between(0, 30); i > 0; --i) {
      // Mostly of two pieces that are there, as training makes them.
      std::string piece = rng.below(5) == 0
                              ? some_text(rng, alphabet, 2 + rng.below(5))
                              : pieces[rng.below(pieces.size())] + pieces[rng.below(pieces.size())];
      if (piece.size() <= 9 && std::find(pieces.begin(), pieces.end(), piece) == pieces.end())
        pieces.push_back(piece);
    }
    const BpeEncoder encoder(pieces);
    regular += encoder.is_regular() ? 1 : 0;
    expect_same(encoder, rng, alphabet, "xACGT");
  }
  EXPECT_GT(regular, 250);
  EXPECT_LT(regular, 500);
}

TEST(EncodeLike, GivesTheNumbersOfListedMerges) {
  int regular = 0;
  for (std::uint64_t index = 0; index < 300; ++index) {
    CounterRng rng(9, Purpose::test, index);
    const std::string alphabet = std::string("ACGTN").substr(0, 2 + rng.below(4));
    std::vector<std::string> pieces;
    for (const char letter : alphabet) pieces.emplace_back(1, letter);
    std::vector<BpeMerge> merges;
    for (std::int64_t i = rng.between(0, 30); i > 0; --i) {
      const std::uint64_t left = rng.below(pieces.size()), right = rng.below(pieces.size());
      const std::string made = pieces[left] + pieces[right];
      if (std::find(pieces.begin(), pieces.end(), made) != pieces.end()) continue;
      merges.push_back({static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right),
                        static_cast<std::uint32_t>(pieces.size())});
      pieces.push_back(made);
    }
    const BpeEncoder encoder(pieces, merges);
    regular += encoder.is_regular() ? 1 : 0;
    expect_same(encoder, rng, alphabet, "xAC");
  }
  EXPECT_GT(regular, 250);
}

TEST(EncodeLike, TakesNothingOverThatIsNotTheSame) {
  const BpeEncoder encoder(std::vector<std::string>{"A", "C", "G", "T", "N", "AC", "GT", "ACGT"});
  const std::string known = "ACGTACGT";
  const Numbers numbers = encode(encoder, known);
  for (const std::int64_t offset : {-100, -8, -4, -1, 0, 1, 4, 7, 8, 100}) {
    const std::vector<std::int64_t> offsets{offset};
    for (const std::string text :
         {"", "T", "TTTTTTTT", "ACGTACGT", "CGTACGTA", "ACGTACG", "NNACGT", "xACGTx"}) {
      Numbers found;
      encoder.encode_like(text, {known, numbers, offsets}, found);
      EXPECT_EQ(found, encode(encoder, text)) << offset << " " << text;
    }
  }
}

// --- Tokenizers, over real sequence

std::vector<std::int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  Numbers ids;
  tokenizer.encode(text, ids);
  return {ids.begin(), ids.end()};
}

void expect_same_of_windows(const Tokenizer& tokenizer, const std::string& genome) {
  constexpr std::size_t window = 2000;
  CounterRng rng(10, Purpose::test, 0);
  for (int round = 0; round < 150; ++round) {
    const std::size_t begin = rng.below(genome.size() - 2 * window);
    std::string known = genome.substr(begin, window);
    if (round % 5 == 0) known.replace(0, 300, std::string(300, 'N'));  // beyond the contig's end
    if (round % 7 == 0) known.replace(900, 30, std::string(30, 'N'));
    const std::vector<std::int32_t> known_ids = ids_of(tokenizer, known);
    // ALT: bases are exchanged, inserted or removed, and the window keeps its length.
    const std::size_t at = rng.below(window),
                      removed = std::min<std::size_t>(rng.below(3) * rng.below(20), window - at);
    const std::string added = some_text(rng, "ACGT", rng.below(3) * rng.below(20) + (removed == 0 ? 1 : 0));
    std::string text =
        known.substr(0, at) + added + known.substr(at + removed) + genome.substr(begin + window, removed);
    text.resize(window, 'N');
    std::vector<std::int64_t> offsets{
        0, static_cast<std::int64_t>(removed) - static_cast<std::int64_t>(added.size())};
    // Or a neighbour's window.
    if (round % 3 == 0) {
      const std::size_t moved = rng.below(window);
      text = genome.substr(begin + moved, window);
      offsets = {static_cast<std::int64_t>(moved)};
    }
    for (const bool reverse : {false, true}) {
      const std::string here = reverse ? reverse_complement(text) : text;
      const std::string there = reverse ? reverse_complement(known) : known;
      const std::vector<std::int32_t> there_ids = reverse ? ids_of(tokenizer, there) : known_ids;
      std::vector<std::int64_t> turned = offsets;
      if (reverse) {
        for (std::int64_t& offset : turned) offset = -offset;
      }
      Numbers found;
      tokenizer.encode_like(here, {there, there_ids, turned}, found);
      ASSERT_EQ(std::vector<std::int32_t>(found.begin(), found.end()), ids_of(tokenizer, here)) << here;
    }
  }
}

std::string real_sequence() {
  const std::string fasta =
      testing::read_text(*testing::shared_dir() / "data" / "mitochondria" / "chrM_hg19.fa");
  std::string bases;
  for (std::size_t i = fasta.find('\n'); i < fasta.size(); ++i) {
    const char base = static_cast<char>(fasta[i] & ~0x20);
    if (std::string_view("ACGTN").find(base) != std::string_view::npos) bases += base;
  }
  return bases;
}

TEST(EncodeLike, GivesTheIdsOfADnaVocabulary) {
  BIGBIRD_REQUIRE_SHARED();
  const std::string genome = real_sequence();
  BpeSample sample;
  for (std::size_t i = 0; i < genome.size(); i += 700) sample.add(genome.substr(i, 700));
  const std::string bytes = serialize_sentencepiece_model(
      make_dna_model(make_exact_bpe_trainer(PairRule::apart)->train(sample, {1500, 64}), 64));
  expect_same_of_windows(*make_dna_tokenizer(parse_sentencepiece_model(bytes, "model"), {}, bytes), genome);
}

TEST(EncodeLike, GivesTheIdsOfGenaLmsVocabularies) {
  BIGBIRD_REQUIRE_SHARED();
  for (const std::string name : {"t2t_1000h_multi_32k", "BPE_32k"}) {
    const auto file = *testing::shared_dir() / "data" / "tokenizer-gena-lm" / (name + ".tokenizer.json.gz");
    const testing::TemporaryFolder folder;
    testing::write_text(folder / "tokenizer.json", InputStream(file.string()).read_all());
    expect_same_of_windows(*load_tokenizer(folder.path().string()), real_sequence());
  }
}

// Steps that change or cut a text of A, C, G and T: there nothing may be taken over.
TEST(EncodeLike, LeavesTokenizersThatCutBasesAlone) {
  const auto with = [](const std::string& added, const std::string& pattern, const std::string& split) {
    return R"({"version": "1.0", "added_tokens": [{"id": 0, "content": "[UNK]", "special": true},
      {"id": 1, "content": "[CLS]", "special": true}, {"id": 2, "content": "[SEP]", "special": true},
      {"id": 3, "content": "[PAD]", "special": true}, {"id": 4, "content": "[MASK]", "special": true},
      {"id": 11, "content": ")" +
           added + R"(", "special": false}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"Regex": ")" +
           pattern + R"("}, "content": "C"}]},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": ")" +
           split + R"("}, "behavior": "Isolated", "invert": false},
    "model": {"type": "BPE", "dropout": null, "unk_token": "[UNK]", "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false,
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "A": 5, "C": 6, "G": 7, "T": 8,
                "AC": 9, "GT": 10, ")" +
           added + R"(": 11}, "merges": ["A C", "G T"]}})";
  };
  for (const std::string& file :
       {with("-", "N", "N"), with("GAC", "N", "N"), with("-", "[TN]{2,}", "N"), with("-", "N", "GT")}) {
    const testing::TemporaryFolder folder;
    testing::write_text(folder / "tokenizer.json", file);
    const auto tokenizer = load_tokenizer(folder.path().string());
    CounterRng rng(12, Purpose::test, 0);
    for (int round = 0; round < 300; ++round) {
      const std::string known = some_text(rng, "ACGT", 1 + rng.below(40));
      const Changed other = changed(rng, known, "ACGT");
      Numbers found;
      tokenizer->encode_like(other.text, {known, ids_of(*tokenizer, known), other.offsets}, found);
      ASSERT_EQ(std::vector<std::int32_t>(found.begin(), found.end()), ids_of(*tokenizer, other.text))
          << known << " " << other.text;
    }
  }
}

}  // namespace
}  // namespace bigbird
