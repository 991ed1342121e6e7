// Encoding: our encoder against the SentencePiece library and against the oracle, byte offsets, model files,
// and folders that are broken.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/bpe_trainer.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "reference/tokenization.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

// Random bases with repeats, homopolymers and N runs, as long as asked.
std::string dna(CounterRng& rng, std::size_t length) {
  std::string text;
  while (text.size() < length) {
    const std::uint64_t kind = rng.below(12);
    if (kind == 0) {
      text.append(static_cast<std::size_t>(rng.between(1, 40)), "ACGTN"[rng.below(5)]);
    } else if (kind == 1 && text.size() > 60) {
      text += text.substr(static_cast<std::size_t>(rng.below(text.size() - 50)),
                          static_cast<std::size_t>(rng.between(5, 50)));
    } else if (kind == 2) {
      const std::string unit{"ACGT"[rng.below(4)], "ACGT"[rng.below(4)]};
      for (std::int64_t i = rng.between(1, 20); i > 0; --i) text += unit;
    } else {
      for (std::int64_t i = rng.between(1, 60); i > 0; --i) text += "ACGT"[rng.below(4)];
    }
  }
  text.resize(length);
  return text;
}

std::vector<std::string> train(std::uint64_t index, std::size_t sentences, std::uint32_t wanted,
                               std::uint32_t limit) {
  CounterRng rng(11, Purpose::test, index);
  BpeSample sample;
  for (std::size_t i = 0; i < sentences; ++i) {
    sample.add(dna(rng, static_cast<std::size_t>(rng.between(1, 900))));
  }
  return make_exact_bpe_trainer(PairRule::apart)->train(sample, {wanted, limit});
}

struct BothTokenizers {
  std::unique_ptr<Tokenizer> own;
  std::unique_ptr<Tokenizer> library;
};

BothTokenizers both(const std::vector<std::string>& learnt) {
  const std::string bytes = serialize_sentencepiece_model(make_dna_model(learnt, 0));
  const SentencePieceModel model = parse_sentencepiece_model(bytes, "model");
  EXPECT_TRUE(model.is_dna_bpe());
  return {make_dna_tokenizer(model, {}, bytes), make_sentencepiece_tokenizer(model, {}, bytes, "model")};
}

std::vector<std::uint32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::uint32_t> ids;
  tokenizer.encode(text, ids);
  return ids;
}

TEST(DnaTokenizer, GivesTheLibrarysIdsOnAllLengths) {
  const BothTokenizers tokenizers = both(train(1, 120, 1500, 64));
  EXPECT_EQ(tokenizers.own->vocab_size(), 1510u);
  CounterRng rng(3, Purpose::test, 2);
  for (std::size_t length = 0; length < 400; ++length) {
    const std::string text = dna(rng, length);
    ASSERT_EQ(encode(*tokenizers.own, text), encode(*tokenizers.library, text)) << text;
  }
  for (int i = 0; i < 60; ++i) {
    const std::string text = dna(rng, static_cast<std::size_t>(rng.between(500, 9000)));
    ASSERT_EQ(encode(*tokenizers.own, text), encode(*tokenizers.library, text)) << text;
  }
}

TEST(DnaTokenizer, GivesTheLibrarysIdsForLongPiecesAndRuns) {
  std::vector<std::string> sentences{std::string(5000, 'N'), std::string(3000, 'A')};
  BpeSample sample;
  for (const std::string& sentence : sentences) sample.add(sentence);
  for (const std::string& piece : train(4, 30, 600, 0)) sample.add(piece + piece);
  const BothTokenizers tokenizers = both(make_exact_bpe_trainer(PairRule::apart)->train(sample, {400, 0}));
  for (std::size_t length = 1; length < 3000; length += 37) {
    for (const char letter : dna_alphabet) {
      const std::string text(length, letter);
      ASSERT_EQ(encode(*tokenizers.own, text), encode(*tokenizers.library, text)) << length << letter;
    }
  }
}

TEST(DnaTokenizer, TurnsRunsOfOtherBytesIntoOneUnknownAsTheLibraryDoes) {
  const BothTokenizers tokenizers = both(train(5, 30, 300, 64));
  for (const std::string text : {"acgt", "ACxyGT", "x", "xxACGTACGTzz", "AxCxGxT", "[CLS]ACGT", "AC GT"}) {
    EXPECT_EQ(encode(*tokenizers.own, text), encode(*tokenizers.library, text)) << text;
  }
}

TEST(DnaTokenizer, GivesTheLibrarysIdsOnRealSequence) {
  BIGBIRD_REQUIRE_SHARED();
  const std::string fasta =
      testing::read_text(*testing::shared_dir() / "data" / "mitochondria" / "chrM_hg19.fa");
  std::string bases;
  for (std::size_t i = fasta.find('\n'); i < fasta.size(); ++i) {
    const char base = static_cast<char>(fasta[i] & ~0x20);
    if (std::string_view("ACGTN").find(base) != std::string_view::npos) bases += base;
  }
  ASSERT_GT(bases.size(), 16000u);
  BpeSample sample;
  for (std::size_t i = 0; i < bases.size(); i += 700) sample.add(bases.substr(i, 700));
  const BothTokenizers tokenizers = both(make_exact_bpe_trainer(PairRule::apart)->train(sample, {1500, 64}));
  for (std::size_t begin = 0; begin + 1000 < bases.size(); begin += 13) {
    const std::string_view text = std::string_view(bases).substr(begin, 200 + begin % 700);
    ASSERT_EQ(encode(*tokenizers.own, text), encode(*tokenizers.library, text)) << text;
  }
  EXPECT_EQ(encode(*tokenizers.own, bases), encode(*tokenizers.library, bases));
}

TEST(DnaTokenizer, MapsEveryIdBackToItsBases) {
  const BothTokenizers tokenizers = both(train(6, 60, 800, 64));
  CounterRng rng(3, Purpose::test, 7);
  for (int round = 0; round < 50; ++round) {
    std::string text = dna(rng, static_cast<std::size_t>(rng.between(0, 700)));
    if (round % 3 == 0) text.insert(text.size() / 2, "xy");
    for (const Tokenizer* tokenizer : {tokenizers.own.get(), tokenizers.library.get()}) {
      std::vector<std::uint32_t> ids;
      std::vector<std::uint32_t> offsets;
      tokenizer->encode(text, ids, &offsets);
      ASSERT_EQ(ids.size(), offsets.size());
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::size_t end = i + 1 < ids.size() ? offsets[i + 1] : text.size();
        const std::string bases = text.substr(offsets[i], end - offsets[i]);
        if (ids[i] == tokenizer->special().unknown) {
          EXPECT_EQ(bases, "xy");
        } else {
          EXPECT_EQ(bases, tokenizer->piece(ids[i]));
          EXPECT_EQ(bases.size(), tokenizer->piece_length(ids[i]));
        }
      }
    }
  }
}

TEST(DnaTokenizer, AppendsToWhatIsThere) {
  const BothTokenizers tokenizers = both(train(6, 20, 100, 64));
  std::vector<std::uint32_t> ids{7};
  std::vector<std::uint32_t> offsets{9};
  tokenizers.own->encode("ACGT", ids, &offsets);
  EXPECT_EQ(ids[0], 7u);
  EXPECT_EQ(offsets[0], 9u);
  EXPECT_EQ(offsets[1], 0u);
  EXPECT_EQ(std::vector<std::uint32_t>(ids.begin() + 1, ids.end()), encode(*tokenizers.own, "ACGT"));
}

TEST(DnaTokenizer, OrdersIdsAsTheFormatSays) {
  const BothTokenizers tokenizers = both({"AC", "GT", "ACGT"});
  const std::vector<std::string> expected{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "A",   "C",
                                          "G",     "T",     "N",     "AC",    "GT",     "ACGT"};
  ASSERT_EQ(tokenizers.own->vocab_size(), expected.size());
  for (std::uint32_t id = 0; id < expected.size(); ++id) {
    EXPECT_EQ(tokenizers.own->piece(id), expected[id]);
    EXPECT_EQ(tokenizers.own->is_special(id), id < 5);
    EXPECT_EQ(tokenizers.own->piece_length(id), id < 5 ? 0u : expected[id].size());
  }
  EXPECT_EQ(encode(*tokenizers.own, "ACGTN"), (std::vector<std::uint32_t>{12, 9}));
  EXPECT_THROW(tokenizers.own->piece(13), Error);
}

// Pieces in an order that no training gives: children later than parents, pieces that nothing encodes to.
TEST(BpeEncoder, EqualsTheOracleForRandomVocabulariesRegularOrNot) {
  int irregular = 0;
  for (std::uint64_t index = 0; index < 400; ++index) {
    CounterRng rng(5, Purpose::test, index);
    const std::uint64_t letters = 2 + rng.below(4);
    std::vector<std::string> learnt;
    for (std::int64_t i = rng.between(0, 25); i > 0; --i) {
      std::string piece;
      for (std::int64_t k = rng.between(2, 6); k > 0; --k) piece += "ACGTN"[rng.below(letters)];
      if (std::find(learnt.begin(), learnt.end(), piece) == learnt.end()) learnt.push_back(piece);
    }
    std::vector<std::string> pieces{"A", "C", "G", "T", "N"};
    pieces.insert(pieces.end(), learnt.begin(), learnt.end());
    const BpeEncoder encoder(pieces);
    irregular += encoder.is_regular() ? 0 : 1;
    for (int round = 0; round < 20; ++round) {
      std::string text;
      for (std::int64_t i = rng.between(0, 40); i > 0; --i) text += "ACGTN"[rng.below(letters)];
      std::vector<std::uint32_t> numbers;
      encoder.encode(text, numbers);
      std::vector<std::string> found;
      for (const std::uint32_t number : numbers) found.push_back(pieces[number]);
      ASSERT_EQ(found, reference::encode_bpe(text, learnt)) << text;
      std::vector<std::uint32_t> by_rule;
      encoder.encode_by_rule(text, by_rule);
      ASSERT_EQ(numbers, by_rule);
    }
  }
  EXPECT_GT(irregular, 10);
  EXPECT_LT(irregular, 390);
}

TEST(SentencePieceModel, SurvivesWritingAndReading) {
  const SentencePieceModel written = make_dna_model({"AC", "NNNN"}, 64);
  const SentencePieceModel read = parse_sentencepiece_model(serialize_sentencepiece_model(written), "model");
  ASSERT_EQ(read.pieces.size(), written.pieces.size());
  for (std::size_t i = 0; i < read.pieces.size(); ++i) {
    EXPECT_EQ(read.pieces[i].text, written.pieces[i].text);
    EXPECT_EQ(read.pieces[i].score, written.pieces[i].score);
    EXPECT_EQ(read.pieces[i].type, written.pieces[i].type);
  }
  EXPECT_EQ(read.type, ModelType::bpe);
  EXPECT_EQ(read.max_piece_length, 64u);
  EXPECT_EQ(read.normalizer, "identity");
  EXPECT_FALSE(read.add_dummy_prefix);
  EXPECT_FALSE(read.remove_extra_whitespaces);
  EXPECT_FALSE(read.escape_whitespaces);
}

TEST(SentencePieceModel, EveryCutOrFlippedByteIsReadOrRefusedButNeverWorse) {
  const std::string bytes = serialize_sentencepiece_model(make_dna_model({"AC", "GT", "ACGT"}, 64));
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0xff);
    for (const std::string& damaged : {bytes.substr(0, i), flipped}) {
      try {
        parse_sentencepiece_model(damaged, "model");
      } catch (const Error& error) {
        EXPECT_EQ(error.message().rfind("model: ", 0), 0u) << error.message();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 50);
}

// A tokenizer folder with a file swapped for something broken.
Error load_error(const std::string& folder) {
  try {
    load_tokenizer(folder);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "loaded";
  return {ErrorKind::runtime, ""};
}

TEST(LoadTokenizer, NamesWhatIsWrongWithTheFolder) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_NE(load_error(path + "/none").message().find("none: no such tokenizer folder"), std::string::npos);
  EXPECT_NE(load_error(path).message().find("spiece.model: no such file"), std::string::npos);
  testing::write_text(folder / "spiece.model", "this is not a protobuf");
  EXPECT_NE(load_error(path).message().find("spiece.model"), std::string::npos);
  EXPECT_FALSE(load_error(path).hint().empty());
  testing::write_text(folder / "spiece.model", "");
  EXPECT_NE(load_error(path).message().find("no pieces"), std::string::npos);
  SentencePieceModel model = make_dna_model({"AC"}, 64);
  model.pieces[4].text = "[HIDDEN]";
  testing::write_text(folder / "spiece.model", serialize_sentencepiece_model(model));
  EXPECT_NE(load_error(path).message().find("[MASK]"), std::string::npos);
  testing::write_text(folder / "tokenizer_config.json", "[1]");
  EXPECT_NE(load_error(path).message().find("tokenizer_config.json"), std::string::npos);
  testing::write_text(folder / "tokenizer_config.json", R"({"mask_token": {"content": "[HIDDEN]"}})");
  EXPECT_EQ(load_tokenizer(path)->special().mask, 4u);
}

TEST(LoadTokenizer, UsesTheLibraryForModelsThatAreNotDna) {
  const TemporaryFolder folder;
  SentencePieceModel model = make_dna_model({"AC"}, 64);
  model.pieces.push_back({"\xE2\x96\x81hello", -30});
  model.pieces.push_back({"\xE2\x96\x81n\xC3\xA9", -31});
  testing::write_text(folder / "spiece.model", serialize_sentencepiece_model(model));
  const auto tokenizer = load_tokenizer(folder.path().string());
  EXPECT_FALSE(tokenizer->is_dna());
  EXPECT_EQ(tokenizer->piece_length(11), 6u);
  EXPECT_EQ(tokenizer->piece_length(12), 4u);
  EXPECT_EQ(tokenizer->piece_characters(12), 3u);  // the blank before it among them
  EXPECT_EQ(tokenizer->piece_characters(0), 0u);
  EXPECT_EQ(encode(*tokenizer, "AC"), std::vector<std::uint32_t>{10});
}

TEST(SentencePieceBpeTrainer, TrainsPiecesThatTheSameFilesHold) {
  CounterRng rng(2, Purpose::test, 1);
  BpeSample sample;
  for (int i = 0; i < 20; ++i) sample.add(dna(rng, 900));
  sample.add(dna(rng, 50000));  // a line that 0.1.97 would crash on
  const auto trainer = make_sentencepiece_bpe_trainer();
  EXPECT_EQ(trainer->name().rfind("sentencepiece ", 0), 0u);
  const auto learnt = trainer->train(sample, {200, 16});
  ASSERT_EQ(learnt.size(), 200u);
  for (const std::string& piece : learnt) {
    EXPECT_LE(piece.size(), 16u);
    EXPECT_EQ(piece.find_first_not_of("ACGTN"), std::string::npos) << piece;
  }
  const BothTokenizers tokenizers = both(learnt);
  const std::string text = dna(rng, 5000);
  EXPECT_EQ(encode(*tokenizers.own, text), encode(*tokenizers.library, text));
  EXPECT_THROW(trainer->train(sample, {200, 0}), Error);
}

}  // namespace
}  // namespace bigbird
