// Samples with sentences against a packing written apart: every sentence once an epoch, none across samples
// that could be whole, no more of them than a model has global tokens; and which of them are hidden.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/rng.h"
#include "lib/data/masked_sentences.h"
#include "lib/data/mlm_masking.h"
#include "lib/data/pretrain_sampler.h"
#include "tests/support/tiny_text_data.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using Sentence = std::vector<std::int32_t>;
using Text = std::vector<Sentence>;  // a document
using Sample = std::vector<Text>;    // its documents
using Lengths = std::vector<std::vector<std::size_t>>;

// The rules, one after another, on plain lists.
struct PlainPacking {
  std::size_t budget;
  std::size_t most;
  bool join;
  std::vector<bool> starts_word;  // empty: cuts may fall anywhere

  static std::size_t tokens(const Text& text) {
    std::size_t sum = 0;
    for (const Sentence& sentence : text) sum += sentence.size();
    return sum;
  }

  // A document as stretches, each of which fits a sample.
  std::vector<Text> stretches(const Text& document) const {
    std::vector<Text> all;
    Text open;
    const auto close = [&] {
      if (!open.empty()) all.push_back(open);
      open.clear();
    };
    for (Sentence rest : document) {
      if (rest.empty()) continue;
      if (tokens(open) + rest.size() > budget || open.size() == most) close();
      while (rest.size() > budget) {
        std::size_t cut = budget;
        while (!starts_word.empty() && cut > 0 && !starts_word[static_cast<std::size_t>(rest[cut])]) --cut;
        if (cut == 0) cut = budget;
        const auto at = rest.begin() + static_cast<std::ptrdiff_t>(cut);
        all.push_back({Sentence(rest.begin(), at)});
        rest.erase(rest.begin(), at);
      }
      open.push_back(rest);
    }
    close();
    return all;
  }

  std::vector<Sample> operator()(const std::vector<Text>& documents) const {
    std::vector<Sample> samples;
    for (const Text& document : documents) {
      const std::vector<Text> parts = stretches(document);
      if (parts.empty()) continue;
      if (join && parts.size() == 1 && !samples.empty()) {
        // Of a sample's tokens one for each document is its [CLS], the first of which is not of the budget.
        std::size_t used = tokens(parts[0]) + samples.back().size(), sentences = parts[0].size();
        for (const Text& text : samples.back()) {
          used += tokens(text);
          sentences += text.size();
        }
        if (used <= budget && sentences <= most) {
          samples.back().push_back(parts[0]);
          continue;
        }
      }
      for (const Text& part : parts) samples.push_back({part});
    }
    return samples;
  }
};

enum class Kind { dna, text, text_apart };

class SentenceSamples : public ::testing::Test {
 protected:
  SentenceSamples() {
    testing::write_tiny_tokenizer(folder_ / "dna");
    testing::write_tiny_text_tokenizer(folder_ / "text");
    dna_ = load_tokenizer((folder_ / "dna").string());
    text_ = load_tokenizer((folder_ / "text").string());
  }
  const Tokenizer& tokenizer(Kind kind) const { return kind == Kind::dna ? *dna_ : *text_; }

  void write(Kind kind, const Lengths& lengths, std::uint64_t seed = 1) {
    CounterRng rng(seed, Purpose::test, 7);
    documents_.clear();
    TokenShardWriter writer((folder_ / "p").string(), tokenizer(kind).vocab_size(), seed % 2 == 0 ? 300 : 0);
    for (const std::vector<std::size_t>& document : lengths) {
      std::vector<std::uint32_t> ids, sizes;
      Text text;
      for (const std::size_t length : document) {
        Sentence sentence;
        for (std::size_t i = 0; i < length; ++i) {
          const auto letter = static_cast<std::uint32_t>(rng.below(kind == Kind::dna ? 21 : 26));
          const std::uint32_t first = kind == Kind::dna             ? 5
                                      : i == 0 || rng.below(3) == 0 ? testing::first_word_start
                                                                    : testing::first_inner;
          ids.push_back(first + letter);
          sentence.push_back(static_cast<std::int32_t>(ids.back()));
        }
        sizes.push_back(static_cast<std::uint32_t>(length));
        text.push_back(sentence);
      }
      documents_.push_back(text);
      writer.add_document(ids, sizes, ids.size());
    }
    TextShardFacts facts;
    facts.join = kind == Kind::text;
    writer.finish(tokenizer(kind).digest(), nullptr, kind == Kind::dna ? nullptr : &facts);
    shards_ = std::make_unique<TokenShards>((folder_ / "p").string());
  }

  PretrainSampler sampler(Kind kind, std::int64_t length, std::int64_t most, std::uint64_t seed = 1) const {
    return {*shards_, tokenizer(kind), {length, false, seed, most}};
  }
  PlainPacking plain(Kind kind, std::size_t length, std::size_t most) const {
    return {length - 1, most, kind != Kind::text_apart,
            kind == Kind::dna ? std::vector<bool>() : word_starts(*text_)};
  }
  // Documents of sentences of a few tokens; now and then none, or many times the others.
  static Lengths random_lengths(std::uint64_t seed) {
    CounterRng rng(seed, Purpose::test, 3);
    Lengths all(60);
    for (std::vector<std::size_t>& document : all) {
      document.resize(1 + static_cast<std::size_t>(rng.below(rng.below(6) == 0 ? 40 : 8)));
      for (std::size_t& length : document)
        length = static_cast<std::size_t>(rng.below(rng.below(12) == 0 ? 150 : 14));
    }
    return all;
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> dna_, text_;
  std::unique_ptr<TokenShards> shards_;
  std::vector<Text> documents_;
};

// The sample as it is read back by its spans; what is no sentence must be the [CLS] of a document.
Sample read_back(const PretrainSample& sample, std::uint32_t cls) {
  Sample documents;
  std::int32_t at = 0;
  for (const SentenceSpan& span : sample.sentences) {
    if (static_cast<std::size_t>(span.document) == documents.size()) {
      documents.emplace_back();
      EXPECT_EQ(sample.ids[static_cast<std::size_t>(at)], static_cast<std::int32_t>(cls));
      ++at;
    }
    EXPECT_EQ(static_cast<std::size_t>(span.document) + 1, documents.size());
    EXPECT_EQ(span.begin, at);
    EXPECT_GT(span.end, span.begin);
    documents.back().emplace_back(sample.ids.begin() + span.begin, sample.ids.begin() + span.end);
    at = span.end;
  }
  EXPECT_EQ(static_cast<std::size_t>(at), sample.ids.size());
  EXPECT_EQ(sample.types, std::vector<std::int32_t>(sample.ids.size(), 1));
  EXPECT_EQ(sample.next_label, 0);
  return documents;
}

TEST_F(SentenceSamples, EqualAPackingWrittenApart) {
  std::size_t joined = 0, cut = 0, full = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const Kind kind : {Kind::dna, Kind::text, Kind::text_apart}) {
      write(kind, random_lengths(seed), seed);
      const std::size_t length = 20 + 11 * static_cast<std::size_t>(seed), most = 3 + seed % 4 * 5;
      const PretrainSampler samples =
          sampler(kind, static_cast<std::int64_t>(length), static_cast<std::int64_t>(most));
      const std::vector<Sample> expected = plain(kind, length, most)(documents_);
      ASSERT_EQ(samples.size(), expected.size()) << "seed " << seed;
      for (std::uint64_t i = 0; i < samples.size(); ++i) {
        const PretrainSample sample = samples.sample(i, i);
        ASSERT_LE(sample.ids.size(), length);
        ASSERT_EQ(read_back(sample, tokenizer(kind).special().cls), expected[i]) << "seed " << seed;
        joined += sample.sentences.back().document > 0 ? 1u : 0u;
        full += sample.sentences.size() == most ? 1u : 0u;
        cut += sample.sentences.size() == 1 && sample.ids.size() == length ? 1u : 0u;
      }
    }
  }
  EXPECT_GT(joined, 50u);
  EXPECT_GT(full, 20u);
  EXPECT_GT(cut, 20u);
}

TEST_F(SentenceSamples, AnEpochShowsEverySentenceOnceInItsOwnOrder) {
  write(Kind::text, random_lengths(3));
  const PretrainSampler samples = sampler(Kind::text, 64, 9, 5);
  std::uint64_t draw = 0;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const RandomPermutation order(5, Purpose::pretrain_order, 2 * epoch, documents_.size());
    std::vector<Text> documents;
    for (std::uint64_t place = 0; place < order.size(); ++place)
      documents.push_back(documents_[order(place)]);
    std::vector<Sample> expected = plain(Kind::text, 64, 9)(documents), found;
    for (std::size_t i = 0; i < expected.size(); ++i)
      found.push_back(read_back(samples.training_sample(draw++), testing::tiny_cls));
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << "epoch " << epoch;
  }
}

TEST_F(SentenceSamples, MoreSentencesThanGlobalTokensOpenTheNext) {
  write(Kind::dna, {{4, 4, 4, 4, 4, 4, 4}, {2, 2}, {2}});
  const PretrainSampler samples = sampler(Kind::dna, 64, 3);
  // 3, 3, and 1 with the 2 of the next document; the last has no global token left there.
  std::vector<std::size_t> sizes;
  for (std::uint64_t i = 0; i < samples.size(); ++i) sizes.push_back(samples.sample(i, i).sentences.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 3, 1}));
}

TEST_F(SentenceSamples, ALongSentenceIsCutAtItsWordsAndEachPartIsOne) {
  write(Kind::text, {{3, 70, 2}});
  const PretrainSampler samples = sampler(Kind::text, 32, 8);
  std::vector<Sentence> parts;
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    const Sample documents = read_back(samples.sample(i, i), testing::tiny_cls);
    parts.insert(parts.end(), documents.at(0).begin(), documents.at(0).end());
  }
  ASSERT_GE(parts.size(), 5u);  // 3; 70 in three parts or more; 2
  EXPECT_EQ(parts.front(), documents_[0][0]);
  EXPECT_EQ(parts.back(), documents_[0][2]);
  Sentence together;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    EXPECT_LT(parts[i].front(), static_cast<std::int32_t>(testing::first_inner)) << "a part begins a word";
    together.insert(together.end(), parts[i].begin(), parts[i].end());
  }
  EXPECT_EQ(together, documents_[0][1]);
}

TEST_F(SentenceSamples, ManyThreadsDrawWhatOneDrawsFromAnywhere) {
  write(Kind::dna, random_lengths(6));
  const PretrainSampler one = sampler(Kind::dna, 48, 6);
  std::vector<PretrainSample> expected;
  for (std::uint64_t draw = 0; draw < 300; ++draw) expected.push_back(one.training_sample(draw));
  for (const int threads : {2, 5}) {
    kernels::set_thread_count(threads);
    const PretrainSampler other = sampler(Kind::dna, 48, 6);
    std::vector<PretrainSample> found(300);
    kernels::parallel_for_worker(found.size(), [&](std::size_t i, int) {
      const std::size_t draw = 299 - i * 7 % 300;
      found[draw] = other.training_sample(draw);
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].ids, expected[i].ids);
      ASSERT_EQ(found[i].sentences, expected[i].sentences);
    }
  }
  kernels::set_thread_count(0);
}

TEST_F(SentenceSamples, OthersHaveNone) {
  write(Kind::text, random_lengths(2));
  EXPECT_TRUE(sampler(Kind::text, 64, 0).sample(0, 0).sentences.empty());
  write(Kind::dna, random_lengths(2));
  EXPECT_TRUE(sampler(Kind::dna, 64, 0).sample(0, 0).sentences.empty());
}

// --- which are hidden

// Sentences of the given lengths, by document.
std::vector<SentenceSpan> spans_of(const Lengths& documents) {
  std::vector<SentenceSpan> spans;
  std::int32_t at = 0;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    ++at;
    for (const std::size_t length : documents[d]) {
      const auto end = at + static_cast<std::int32_t>(length);
      spans.push_back({at, end, static_cast<std::int32_t>(d)});
      at = end;
    }
  }
  return spans;
}

std::vector<std::size_t> hidden_of(const Lengths& documents, std::uint64_t draw,
                                   std::int64_t rows = 1 << 20) {
  CounterRng rng(3, Purpose::masked_sentences, draw);
  return draw_masked_sentences(spans_of(documents), rows, rng);
}

TEST(MaskedSentences, AreAShareOfThoseOfAnExample) {
  const std::map<std::int64_t, std::int64_t> counts = {{0, 0},  {1, 0},  {2, 0},  {3, 1},   {9, 1},   {10, 2},
                                                       {16, 2}, {17, 3}, {63, 9}, {64, 10}, {200, 10}};
  for (const auto& [sentences, count] : counts) {
    EXPECT_EQ(masked_sentence_count(sentences), count) << sentences;
    const Lengths one = {std::vector<std::size_t>(static_cast<std::size_t>(sentences), 5)};
    EXPECT_EQ(hidden_of(one, 1).size(), static_cast<std::size_t>(count)) << sentences;
  }
  // Each example has its own, whatever stands beside it.
  const Lengths packed = {{9, 9}, std::vector<std::size_t>(10, 6), {8, 8, 8}};
  for (std::uint64_t draw = 0; draw < 50; ++draw) {
    const std::vector<std::size_t> hidden = hidden_of(packed, draw);
    ASSERT_EQ(hidden.size(), 3u);
    EXPECT_TRUE(hidden[0] >= 2 && hidden[0] < hidden[1] && hidden[1] < 12 && hidden[2] >= 12);
  }
}

TEST(MaskedSentences, AreDrawnUniformlyAmongThoseOfFourTokens) {
  const Lengths document = {{3, 4, 1, 9, 30, 2, 4, 4, 3, 3}};
  std::map<std::size_t, int> seen;
  for (std::uint64_t draw = 0; draw < 2000; ++draw) {
    const std::vector<std::size_t> hidden = hidden_of(document, draw);
    ASSERT_EQ(hidden, hidden_of(document, draw));
    ASSERT_EQ(hidden.size(), 2u);
    ASSERT_LT(hidden[0], hidden[1]);
    for (const std::size_t sentence : hidden) ++seen[sentence];
  }
  // 1, 3, 4, 6 and 7, 800 times each; five standard deviations.
  ASSERT_EQ(seen.size(), 5u);
  for (const auto& [sentence, count] : seen) {
    EXPECT_GE(document[0][sentence], 4u);
    EXPECT_NEAR(count, 800, 110) << sentence;
  }
  EXPECT_TRUE(hidden_of({{3, 3, 3, 3}}, 1).empty());
  EXPECT_EQ(hidden_of({{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 7}}, 1).size(), 1u);  // two are wanted
}

TEST(MaskedSentences, KeepTheirRowsWithinTheBound) {
  EXPECT_EQ(most_rows_alone(4096, 64), 2048);
  EXPECT_EQ(most_rows_alone(600, 64), 512);
  EXPECT_EQ(most_rows_alone(100, 64), 128);
  // Twenty documents, a sentence of 17 tokens of each.
  const Lengths packed(20, {17, 17, 17});
  EXPECT_EQ(hidden_of(packed, 1).size(), 20u);
  EXPECT_EQ(hidden_of(packed, 1, 160).size(), 9u);
  EXPECT_TRUE(hidden_of(packed, 1, 16).empty());
  // One of any length fits.
  EXPECT_EQ(hidden_of({{4000, 4000, 4000}}, 1, most_rows_alone(12000, 16)).size(), 1u);
}

}  // namespace
}  // namespace bigbird
