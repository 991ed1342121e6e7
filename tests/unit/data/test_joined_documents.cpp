// Joined documents against a packing written apart, and through the sampler: every token once an epoch, by
// any number of threads, from any draw.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/data/joined_documents.h"
#include "lib/data/pretrain_sampler.h"
#include "tests/support/tiny_text_data.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using Ids = std::vector<std::int32_t>;
using Samples = std::vector<Ids>;

constexpr std::int32_t separator = 1;

// The rules, one after another, on plain lists. A token of an even id begins a word.
Samples plain_packing(const std::vector<Ids>& documents, std::size_t budget, bool join) {
  Samples samples;
  bool open = false;
  for (const Ids& document : documents) {
    if (document.empty()) continue;
    const std::size_t together = open ? samples.back().size() + 1 + document.size() : 0;
    if (join && open && document.size() <= budget && together <= budget) {
      samples.back().push_back(separator);
      samples.back().insert(samples.back().end(), document.begin(), document.end());
      continue;
    }
    Ids rest = document;
    while (rest.size() > budget) {
      std::size_t cut = budget;
      while (cut > 0 && rest[cut] % 2 != 0) --cut;
      if (cut == 0) cut = budget;
      samples.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(cut));
      rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(cut));
    }
    samples.push_back(rest);
    open = true;
  }
  return samples;
}

// Documents whose tokens are all different ids, from 2 on, in sentences of a few tokens; and a table that
// lets even ids begin words.
struct Corpus {
  std::vector<Ids> documents;
  std::vector<bool> starts_word;
  testing::TemporaryFolder folder;
  std::unique_ptr<TokenShards> shards;

  explicit Corpus(const std::vector<std::size_t>& lengths, std::uint64_t tokens_per_shard = 0,
                  std::uint64_t seed = 1) {
    CounterRng rng(seed, Purpose::test, 0);
    std::uint32_t next = 2;
    TokenShardWriter writer((folder / "p").string(), 1'000'000, tokens_per_shard);
    for (const std::size_t length : lengths) {
      std::vector<std::uint32_t> ids, sentences;
      for (std::size_t left = length; left > 0;) {
        const std::size_t tokens = std::min<std::size_t>(left, static_cast<std::size_t>(rng.below(9)));
        sentences.push_back(static_cast<std::uint32_t>(tokens));
        left -= tokens;
      }
      if (sentences.empty()) sentences.push_back(0);
      // Words of one piece, of two, and now and then of more: ids are odd in a row where every second is left
      // out.
      for (std::size_t i = 0; i < length; ++i) {
        next += rng.below(3) == 0 ? 2u : 1u;
        ids.push_back(next);
      }
      documents.emplace_back(ids.begin(), ids.end());
      writer.add_document(ids, sentences, ids.size());
    }
    TextShardFacts facts;
    writer.finish("digest", nullptr, &facts);
    shards = std::make_unique<TokenShards>((folder / "p").string());
    for (std::uint32_t id = 0; id <= next; ++id) starts_word.push_back(id % 2 == 0);
  }
  JoinedDocuments joined(std::int64_t budget, bool join = true, std::uint64_t seed = 1) const {
    return {*shards, starts_word, {budget, join, seed, separator}};
  }
};

std::vector<std::size_t> random_lengths(std::size_t documents, std::uint64_t longest, std::uint64_t seed) {
  CounterRng rng(seed, Purpose::test, 1);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < documents; ++i) {
    // Many short, some empty, some many times the budget.
    const std::uint64_t most = rng.below(5) == 0 ? longest : longest / 20 + 1;
    lengths.push_back(static_cast<std::size_t>(rng.below(most + 1)));
  }
  return lengths;
}

Samples in_order(const JoinedDocuments& joined) {
  Samples samples;
  for (std::uint64_t i = 0; i < joined.size(); ++i) joined.append_sample(i, samples.emplace_back());
  return samples;
}

Samples drawn_samples(const JoinedDocuments& joined, std::uint64_t first, std::uint64_t count) {
  Samples samples;
  for (std::uint64_t i = 0; i < count; ++i) joined.append_draw(first + i, samples.emplace_back());
  return samples;
}

Ids tokens_of(const Samples& samples) {
  Ids all;
  for (const Ids& sample : samples) {
    std::copy_if(sample.begin(), sample.end(), std::back_inserter(all),
                 [](std::int32_t id) { return id != separator; });
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(JoinedDocuments, ShortOnesJoinWhileTheyFit) {
  const Corpus corpus({3, 4, 2, 1, 9, 10, 1});
  // Budget 10: 3 + 1 + 4 = 8, and 2 more with its separator do not fit; 2 + 1 + 1 = 4; 9; 10; 1.
  std::vector<std::size_t> sizes;
  for (const Ids& sample : in_order(corpus.joined(10))) sizes.push_back(sample.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8, 4, 9, 10, 1}));
  const Ids first = in_order(corpus.joined(10))[0];
  EXPECT_EQ(first[3], separator);
  EXPECT_EQ(std::count(first.begin(), first.end(), separator), 1);
}

TEST(JoinedDocuments, TheRestOfALongOneOpensTheNextSample) {
  const Corpus corpus({4, 25, 3, 3});
  const Samples samples = in_order(corpus.joined(10));
  EXPECT_EQ(samples, plain_packing(corpus.documents, 10, true));
  EXPECT_EQ(samples[0].size(), 4u);  // closed although a part of the long one would fit
  // The last stretch of the long document, and what follows it as far as that fits.
  const auto rest = std::find_if(samples.begin(), samples.end(), [&](const Ids& sample) {
    return std::find(sample.begin(), sample.end(), corpus.documents[1].back()) != sample.end();
  });
  ASSERT_NE(rest, samples.end());
  EXPECT_NE(std::find(rest->begin(), rest->end(), separator), rest->end());
}

TEST(JoinedDocuments, EqualAPackingWrittenApart) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::size_t budget = 5 + 7 * static_cast<std::size_t>(seed);
    const Corpus corpus(random_lengths(150, 4 * budget, seed), seed % 3 == 0 ? 200 : 0, seed);
    for (const bool join : {true, false}) {
      EXPECT_EQ(in_order(corpus.joined(static_cast<std::int64_t>(budget), join)),
                plain_packing(corpus.documents, budget, join))
          << "seed " << seed << " join " << join;
    }
  }
}

TEST(JoinedDocuments, EqualItInEveryEpochsOrder) {
  const Corpus corpus(random_lengths(120, 90, 3));
  const JoinedDocuments joined = corpus.joined(30, true, 5);
  std::uint64_t first = 0;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    const RandomPermutation order(5, Purpose::pretrain_order, 2 * epoch, corpus.documents.size());
    std::vector<Ids> documents;
    for (std::uint64_t place = 0; place < order.size(); ++place)
      documents.push_back(corpus.documents[order(place)]);
    Samples expected = plain_packing(documents, 30, true);
    ASSERT_EQ(joined.epoch_size(epoch), expected.size());
    Samples found = drawn_samples(joined, first, expected.size());
    EXPECT_NE(found, expected) << "samples are visited in the order of the documents";
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << "epoch " << epoch;
    first += expected.size();
  }
}

TEST(JoinedDocuments, ShowEveryTokenOnceAnEpoch) {
  const Corpus corpus(random_lengths(300, 200, 4), 500);
  Ids all;
  for (const Ids& document : corpus.documents) all.insert(all.end(), document.begin(), document.end());
  for (const bool join : {true, false}) {
    const JoinedDocuments joined = corpus.joined(40, join);
    EXPECT_EQ(tokens_of(in_order(joined)), all);
    std::uint64_t first = 0;
    std::set<Samples> orders;
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      const Samples samples = drawn_samples(joined, first, joined.epoch_size(epoch));
      EXPECT_EQ(tokens_of(samples), all) << "epoch " << epoch;
      orders.insert(samples);
      first += samples.size();
    }
    EXPECT_EQ(orders.size(), 5u);
  }
}

TEST(JoinedDocuments, KeepTheBudgetAndTheOrderOfADocument) {
  const Corpus corpus(random_lengths(200, 150, 5));
  for (const std::int64_t budget : {1, 2, 7, 50}) {
    const JoinedDocuments joined = corpus.joined(budget);
    for (const Ids& sample : in_order(joined)) {
      ASSERT_FALSE(sample.empty());
      ASSERT_LE(static_cast<std::int64_t>(sample.size()), budget);
      ASSERT_NE(sample.front(), separator);
      ASSERT_NE(sample.back(), separator);
      for (std::size_t i = 1; i < sample.size(); ++i) {
        if (sample[i] == separator) {
          ASSERT_NE(sample[i - 1], separator);
        } else if (sample[i - 1] != separator) {
          ASSERT_GT(sample[i], sample[i - 1]);
        }
      }
    }
  }
}

TEST(JoinedDocuments, AreCutAtWordStartsUnlessAWordIsTooLong) {
  const Corpus corpus({5000});
  const Ids& document = corpus.documents[0];
  std::size_t inside = 0;
  const Samples samples = in_order(corpus.joined(20));
  for (std::size_t i = 1; i < samples.size(); ++i) {
    ASSERT_EQ(samples[i].front() % 2, 0) << "sample " << i;
    // As long as it can be: the next word would not have fitted.
    const auto next = std::find(document.begin(), document.end(), samples[i].front());
    auto end = next + 1;
    while (end != document.end() && *end % 2 != 0) ++end;
    ASSERT_GT(samples[i - 1].size() + static_cast<std::size_t>(end - next), 20u);
  }
  for (const Ids& sample : in_order(corpus.joined(2))) inside += sample.front() % 2 != 0 ? 1u : 0u;
  EXPECT_GT(inside, 0u);
}

TEST(JoinedDocuments, AnyDrawIsFoundWithoutThoseBefore) {
  const Corpus corpus(random_lengths(100, 80, 6));
  const JoinedDocuments walked = corpus.joined(25);
  const Samples all = drawn_samples(walked, 0, 400);
  for (const std::uint64_t draw : {399u, 0u, 257u, 31u, 398u, 120u}) {
    const JoinedDocuments fresh = corpus.joined(25);
    EXPECT_EQ(drawn_samples(fresh, draw, 1)[0], all[draw]) << draw;
  }
  const JoinedDocuments back = corpus.joined(25);
  for (std::uint64_t draw = 400; draw-- > 0;) ASSERT_EQ(drawn_samples(back, draw, 1)[0], all[draw]);
  EXPECT_NE(drawn_samples(corpus.joined(25, true, 2), 0, 50), Samples(all.begin(), all.begin() + 50));
}

TEST(JoinedDocuments, ManyThreadsDrawWhatOneDraws) {
  const Corpus corpus(random_lengths(100, 80, 7));
  const JoinedDocuments one = corpus.joined(25);
  const Samples expected = drawn_samples(one, 0, 600);
  for (const int threads : {2, 5}) {
    kernels::set_thread_count(threads);
    const JoinedDocuments joined = corpus.joined(25);
    Samples found(600);
    kernels::parallel_for_worker(found.size(), [&](std::size_t i, int) {
      const std::size_t draw = i * 7 % 600;
      joined.append_draw(draw, found[draw]);
    });
    EXPECT_EQ(found, expected);
  }
  kernels::set_thread_count(0);
}

// --- through the sampler

class TextSampler : public ::testing::Test {
 protected:
  TextSampler() {
    testing::write_tiny_text_tokenizer(folder_ / "tokenizer");
    tokenizer_ = load_tokenizer((folder_ / "tokenizer").string());
    CounterRng rng(1, Purpose::test, 0);
    for (std::size_t d = 0; d < 40; ++d) {
      std::vector<std::uint32_t> ids;
      const auto tokens = static_cast<std::size_t>(rng.below(d % 8 == 0 ? 300 : 30));
      for (std::size_t i = 0; i < tokens; ++i) {
        ids.push_back((i == 0 || rng.below(3) == 0 ? testing::first_word_start : testing::first_inner) +
                      static_cast<std::uint32_t>(rng.below(26)));
      }
      documents_.push_back(ids);
    }
  }
  TokenShards shards(bool join = true) {
    testing::write_text_shards((folder_ / "p").string(), *tokenizer_, documents_, join);
    return TokenShards((folder_ / "p").string());
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<std::vector<std::uint32_t>> documents_;
};

TEST_F(TextSampler, SamplesAreDocumentsBetweenSpecialPieces) {
  const TokenShards text = shards();
  const PretrainSampler sampler(text, *tokenizer_, {64, false, 1});
  EXPECT_EQ(sampler.budget(), 62);
  const std::vector<bool> starts = [&] {
    std::vector<bool> table(testing::tiny_text_pieces);
    for (std::uint32_t id = 7; id < testing::first_inner; ++id) table[id] = true;
    return table;
  }();
  const JoinedDocuments joined(text, starts, {62, true, 1, static_cast<std::int32_t>(testing::tiny_sep)});
  ASSERT_EQ(sampler.size(), joined.size());
  std::size_t separators = 0;
  for (std::uint64_t i = 0; i < sampler.size(); ++i) {
    const PretrainSample sample = sampler.sample(i, i);
    Ids expected = {static_cast<std::int32_t>(testing::tiny_cls)};
    joined.append_sample(i, expected);
    separators += static_cast<std::size_t>(std::count(expected.begin(), expected.end(), 5));
    expected.push_back(static_cast<std::int32_t>(testing::tiny_sep));
    EXPECT_EQ(sample.ids, expected);
    EXPECT_EQ(sample.types, Ids(expected.size(), 0));
    EXPECT_EQ(sample.next_label, 0);
  }
  EXPECT_GT(separators, 5u);
  for (std::uint64_t draw = 0; draw < 3 * sampler.size(); ++draw) {
    Ids expected = {static_cast<std::int32_t>(testing::tiny_cls)};
    joined.append_draw(draw, expected);
    expected.push_back(static_cast<std::int32_t>(testing::tiny_sep));
    EXPECT_EQ(sampler.training_sample(draw).ids, expected);
  }
}

TEST_F(TextSampler, WhetherDocumentsJoinStandsInTheShards) {
  const TokenShards together = shards(true);
  EXPECT_TRUE(together.is_text());
  EXPECT_TRUE(together.joins_documents());
  const std::uint64_t joined = PretrainSampler(together, *tokenizer_, {64, false, 1}).size();
  const TokenShards apart = shards(false);
  EXPECT_FALSE(apart.joins_documents());
  const PretrainSampler sampler(apart, *tokenizer_, {64, false, 1});
  EXPECT_GT(sampler.size(), joined);
  for (std::uint64_t i = 0; i < sampler.size(); ++i) {
    const Ids ids = sampler.sample(i, i).ids;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 5), 1);
  }
}

TEST_F(TextSampler, PairsOfTextAreCutAsPairsOfDnaAre) {
  const TokenShards text = shards();
  const PretrainSampler a(text, *tokenizer_, {64, true, 1}), b(text, tokenizer_->special(), {64, true, 1});
  ASSERT_EQ(a.size(), b.size());
  for (std::uint64_t draw = 0; draw < 100; ++draw) {
    EXPECT_EQ(a.training_sample(draw).ids, b.training_sample(draw).ids);
  }
}

TEST_F(TextSampler, ShardsOfDnaAreSampledAsBefore) {
  testing::TemporaryFolder folder;
  testing::write_tiny_tokenizer(folder / "tokenizer");
  testing::write_tiny_shards((folder / "p").string(), folder / "tokenizer");
  const auto tokenizer = load_tokenizer((folder / "tokenizer").string());
  const TokenShards dna((folder / "p").string());
  EXPECT_FALSE(dna.is_text());
  for (const bool pairs : {true, false}) {
    const PretrainSampler a(dna, *tokenizer, {64, pairs, 1}), b(dna, tokenizer->special(), {64, pairs, 1});
    ASSERT_EQ(a.size(), b.size());
    for (std::uint64_t draw = 0; draw < 2 * a.size(); ++draw) {
      EXPECT_EQ(a.training_sample(draw).ids, b.training_sample(draw).ids);
    }
  }
}

TEST_F(TextSampler, RefusesWhatItCannotSample) {
  const TokenShards text = shards();
  EXPECT_THROW(PretrainSampler(text, *tokenizer_, {3, false, 1}), Error);
  testing::write_tiny_tokenizer(folder_ / "dna", 16);
  const auto dna = load_tokenizer((folder_ / "dna").string());
  EXPECT_THROW(PretrainSampler(text, *dna, {64, false, 1}), Error);
  documents_ = {{}, {}};
  const TokenShards empty = shards();
  EXPECT_THROW(PretrainSampler(empty, *tokenizer_, {64, false, 1}), Error);
}

TEST_F(TextSampler, ADescriptionOfAnotherKindIsRefused) {
  shards();
  const std::string path = (folder_ / "p.json").string();
  const std::string text = testing::read_text(path);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    testing::write_text(path, changed);
    return [&] { TokenShards opened((folder_ / "p").string()); };
  };
  EXPECT_THROW(with("\"alphabet\": \"text\"", "\"alphabet\": \"runes\"")(), Error);
  EXPECT_THROW(with("\"join\": true", "\"join\": \"yes\"")(), Error);
  EXPECT_THROW(with("\"join\": true,", "")(), Error);
  EXPECT_THROW(with("\"bytes\":", "\"bases\":")(), Error);
  EXPECT_NO_THROW(with("\"join\": true", "\"join\": false")());
}

}  // namespace
}  // namespace bigbird
