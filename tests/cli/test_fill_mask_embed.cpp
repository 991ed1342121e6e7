// fill-mask and embed: against what forward computes for the same ids, and the same whatever the batch, the
// threads and the way in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "lib/io/genome/fasta.h"
#include "lib/io/weights/safetensors.h"
#include "lib/tokenization/tokenizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

using Row = std::map<std::string, std::string>;

// Rows of a table by column name.
std::vector<Row> rows_of(const std::string& text) {
  std::vector<Row> rows;
  std::vector<std::string> columns;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("##")) continue;
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, '\t');) fields.push_back(field);
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    Row row;
    EXPECT_EQ(fields.size(), columns.size()) << line;
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = fields[i];
    rows.push_back(row);
  }
  return rows;
}

// A genome, a vocabulary and a model of random weights for all tests of the file.
class FillMaskAndEmbed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    TinyEncoder shape;
    shape.bases = "300k";
    shape.chromosomes = "1";
    shape.seed = "5";
    shape.vocabulary = "150";
    shape.layers = "2";
    shape.max_positions = "1024";
    shape.more = {};
    make_tiny_encoder(folder_->path(), shape);
    write_text(path("windows.bed"),
               "chr1\t100000\t100700\tforward\t0\t+\nchr1\t100000\t100700\treverse\t0\t-\n"
               "chr1\t120000\t120090\tshort\t0\t+\nchr1\t130000\t132500\tlong\t0\t+\n");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static std::string genome() { return path("genome/genome.fa.gz"); }
  static std::string model() { return path("run/final"); }
  static RunResult must(const std::vector<std::string>& arguments, const std::string& input = {}) {
    const RunResult run = run_bigbird(arguments, input);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  static void expect_refused(const std::vector<std::string>& arguments, int status, const std::string& part,
                             const std::string& input = {}) {
    const RunResult run = run_bigbird(arguments, input);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("hint: "), std::string::npos) << run.err;
  }
  static std::string bases(std::int64_t begin, std::int64_t end) {
    return Fasta(genome()).fetch(0, begin, end);
  }

  struct Encoded {
    std::vector<std::int64_t> ids;  // [CLS] tokens [SEP]
    std::vector<std::uint32_t> offsets;
  };
  static Encoded encode(const std::string& sequence) {
    const auto tokenizer = load_tokenizer(model());
    std::vector<std::uint32_t> tokens;
    Encoded encoded;
    tokenizer->encode(sequence, tokens, &encoded.offsets);
    encoded.ids.push_back(tokenizer->special().cls);
    encoded.ids.insert(encoded.ids.end(), tokens.begin(), tokens.end());
    encoded.ids.push_back(tokenizer->special().sep);
    return encoded;
  }
  // A tensor of what `bigbird forward` says of these ids alone.
  static std::vector<float> forward(const std::vector<std::int64_t>& ids, const std::string& tensor) {
    const auto tokens = static_cast<std::int64_t>(ids.size());
    write_safetensors(path("in.safetensors"), {{"input_ids", TensorType::i64, {1, tokens}, ids.data()}});
    must({"forward", "-m", model(), "-i", path("in.safetensors"), "-o", path("out.safetensors")});
    return SafetensorsFile(path("out.safetensors")).floats(tensor);
  }
  // Seven guesses against the softmax of what forward says of row `masked` of these ids.
  static void expect_guesses(const std::vector<Row>& rows, const std::vector<std::int64_t>& ids,
                             std::size_t masked) {
    const std::vector<float> logits = forward(ids, "prediction_logits");
    const std::size_t vocabulary = logits.size() / ids.size();
    std::vector<std::pair<double, std::uint32_t>> probabilities;
    double sum = 0;
    for (std::uint32_t id = 0; id < vocabulary; ++id) {
      probabilities.emplace_back(std::exp(logits[masked * vocabulary + id]), id);
      sum += probabilities.back().first;
    }
    std::sort(probabilities.begin(), probabilities.end(), std::greater<>());
    ASSERT_EQ(rows.size(), 7u);
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      EXPECT_EQ(rows[rank].at("rank"), std::to_string(rank + 1));
      EXPECT_NEAR(std::stod(rows[rank].at("probability")), probabilities[rank].first / sum, 1e-5);
    }
    EXPECT_EQ(rows[0].at("piece"), load_tokenizer(model())->piece(probabilities[0].second));
  }
  struct Embedding {
    std::vector<float> values;
    std::vector<Row> rows;
  };
  static Embedding embed(std::vector<std::string> arguments, const std::string& input = {}) {
    arguments.insert(arguments.begin(), {"embed", "-m", model()});
    arguments.insert(arguments.end(), {"-o", path("vectors.safetensors")});
    must(arguments, input);
    return {SafetensorsFile(path("vectors.safetensors")).floats("embeddings"),
            rows_of(read_text(path("vectors.rows.tsv")))};
  }

  static constexpr std::size_t width = 16;
  static TemporaryFolder* folder_;
};

TemporaryFolder* FillMaskAndEmbed::folder_ = nullptr;

void expect_near(std::span<const float> found, std::span<const float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5) << i;
}

TEST_F(FillMaskAndEmbed, GuessesForARegionAreTheSoftmaxOfForwardsLogits) {
  Encoded encoded = encode(bases(100'000, 100'400));
  const auto tokenizer = load_tokenizer(model());
  const std::size_t token = encoded.offsets.size() / 2;
  const auto actual = static_cast<std::uint32_t>(encoded.ids[token + 1]);
  encoded.ids[token + 1] = tokenizer->special().mask;
  const std::string position = std::to_string(100'000 + encoded.offsets[token] + 1);
  const std::vector<Row> rows = rows_of(must({"fill-mask", "-m", model(), "-f", genome(), "-r",
                                              "chr1:100,001-100,400", "--position", position, "--top", "7"})
                                            .out);
  expect_guesses(rows, encoded.ids, token + 1);
  for (const Row& row : rows) {
    EXPECT_EQ(row.at("sequence"), "chr1");
    EXPECT_EQ(row.at("start"), std::to_string(100'000 + encoded.offsets[token]));
    EXPECT_EQ(row.at("end"), std::to_string(100'000 + encoded.offsets[token + 1]));
    EXPECT_EQ(row.at("actual"), tokenizer->piece(actual));
  }
}

TEST_F(FillMaskAndEmbed, GuessesForATextAreTheSoftmaxOfForwardsLogits) {
  const std::string left = bases(100'000, 100'100);
  const std::string right = bases(100'108, 100'200);
  const Encoded before = encode(left);
  const Encoded after = encode(right);
  std::vector<std::int64_t> ids(before.ids.begin(), before.ids.end() - 1);
  const std::size_t masked = ids.size();
  ids.push_back(load_tokenizer(model())->special().mask);
  ids.insert(ids.end(), after.ids.begin() + 1, after.ids.end());
  const std::vector<Row> rows =
      rows_of(must({"fill-mask", "-m", model(), "--top", "7", left + "[MASK]" + right}).out);
  expect_guesses(rows, ids, masked);
  EXPECT_EQ(rows[0].at("start") + "-" + rows[0].at("end"), "100-106");
  EXPECT_EQ(rows[0].at("actual") + rows[0].at("actual_probability"), "NANA");
}

TEST_F(FillMaskAndEmbed, MasksEveryTokenOfARegionOnce) {
  const Encoded encoded = encode(bases(100'000, 100'120));
  const auto run = [&](const std::string& every) {
    return rows_of(must({"fill-mask", "-m", model(), "-f", genome(), "-r", "chr1:100001-100120", "--every",
                         every, "--top", "1"})
                       .out);
  };
  for (const std::string every : {"1", "7", "1000000"}) {
    const std::vector<Row> rows = run(every);
    ASSERT_EQ(rows.size(), encoded.offsets.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].at("start"), std::to_string(100'000 + encoded.offsets[i]));
    }
  }
  // One at a time is what --position does for one.
  const std::vector<Row> single = run("1000000");
  const std::string position = std::to_string(std::stoi(single[5].at("start")) + 1);
  const std::vector<Row> named = rows_of(must({"fill-mask", "-m", model(), "-f", genome(), "-r",
                                               "chr1:100001-100120", "--position", position, "--top", "1"})
                                             .out);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0], single[5]);
}

TEST_F(FillMaskAndEmbed, FillMaskReadsTextsFromStdin) {
  const std::vector<Row> rows =
      rows_of(must({"fill-mask", "-m", model(), "-", "--top", "2"}, "ACGT[MASK]\n\nGG[MASK]TT[MASK]\n").out);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].at("sequence"), "line1");
  EXPECT_EQ(rows[5].at("sequence"), "line3");
  EXPECT_EQ(rows[5].at("start"), "10");
  EXPECT_EQ(rows[5].at("end"), "16");
}

// What is typed is read as what lies in a file: lower case, U, other IUPAC letters, blanks around [MASK].
TEST_F(FillMaskAndEmbed, TypedSequencesAreReadAsThoseOfFiles) {
  const auto filled = [&](const std::string& text, const std::string& input = {}) {
    const RunResult run = must({"fill-mask", "-m", model(), "--top", "3", text}, input);
    std::vector<Row> rows = rows_of(run.out);
    for (Row& row : rows) row.erase("sequence"), row.erase("start"), row.erase("end");
    return std::pair(rows, run.err);
  };
  const auto [plain, quiet] = filled("ACGTTGCANNN[MASK]GGTCA");
  EXPECT_EQ(quiet.find("IUPAC"), std::string::npos) << quiet;
  for (const char* text : {"acgttgcannn[MASK]ggtca", "ACGUUGCANNN[MASK]ggucA", "ACGTTGCANNN [MASK] GGTCA"}) {
    EXPECT_EQ(filled(text).first, plain) << text;
  }
  const auto [replaced, told] = filled("ACGTTGCARYN[MASK]GGTCA");
  EXPECT_EQ(replaced, plain);
  EXPECT_NE(told.find("2 IUPAC letters other than A C G T N were read as N"), std::string::npos) << told;
  EXPECT_EQ(filled("-", "acguugcannk[MASK]ggtca\r\n").first, plain);

  // Lines of --lines and a FASTA of the same sequences, whatever their letters.
  write_text(path("plain.fa"), ">a\nACGTTGCANNNGGTCA\n>b\nTTACG\n");
  write_text(path("mixed.fa"), ">a\nacguugcarynGGTCA\n>b\nuuacg\n");
  const Embedding expected = embed({path("plain.fa"), "--pool", "token"});
  EXPECT_EQ(embed({path("mixed.fa"), "--pool", "token"}).values, expected.values);
  const Embedding lines = embed({"--lines", "-", "--pool", "token"}, " acguugcarynGGTCA\n\nuuacg \n");
  EXPECT_EQ(lines.values, expected.values);
  ASSERT_EQ(lines.rows.size(), expected.rows.size());
  for (std::size_t i = 0; i < lines.rows.size(); ++i) {
    for (const char* column : {"start", "end", "piece"}) {
      EXPECT_EQ(lines.rows[i].at(column), expected.rows[i].at(column)) << i;
    }
  }
  const std::string counted = must({"embed", "-m", model(), path("mixed.fa"), "-o", path("counted.npy")}).err;
  EXPECT_NE(counted.find("mixed.fa: 2 IUPAC letters"), std::string::npos) << counted;
  write_text(path("lines.txt"), "acguugcarynGGTCA\n");
  EXPECT_EQ(must({"tokenize", "-m", model(), "--lines", path("lines.txt"), "--print", "ids"}).out,
            must({"tokenize", "-m", model(), "--lines", "-", "--print", "ids"}, "ACGTTGCANNNGGTCA\n").out);
}

// Google's layout of special pieces, and [MASK] that takes the blank before it along.
TEST_F(FillMaskAndEmbed, ReadTextWithATextModel) {
  std::filesystem::create_directories(path("text-tokenizer"));
  std::filesystem::copy_file(source_dir() / "tests" / "golden" / "tokenizer_google_layout.model",
                             path("text-tokenizer/spiece.model"));
  std::string text;
  for (int i = 0; i < 30; ++i) text += "The cat sat on the mat.\nsparse attention of a graph\n\n";
  must({"tokenize", "-m", path("text-tokenizer"), "--lines", "-", "-o", path("text")}, text);
  must({"pretrain",
        "--train",
        path("text"),
        "-m",
        path("text-tokenizer"),
        "-o",
        path("text-run"),
        "--layers",
        "1",
        "--width",
        "16",
        "--heads",
        "2",
        "--intermediate",
        "32",
        "--block-size",
        "16",
        "--length",
        "64",
        "--max-positions",
        "128",
        "--batch",
        "2",
        "--steps",
        "1"});
  const std::string text_model = path("text-run/final");
  const std::vector<Row> filled =
      rows_of(must({"fill-mask", "-m", text_model, "--top", "3", "The [MASK] sat"}).out);
  ASSERT_EQ(filled.size(), 3u);
  EXPECT_EQ(filled[0].at("start") + "-" + filled[0].at("end"), "3-10");
  must({"embed", "-m", text_model, "--lines", "-", "--pool", "token", "-o", path("text.npy")},
       "The cat\n\nsat [MASK]\n");
  const std::vector<Row> rows = rows_of(read_text(path("text.rows.tsv")));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].at("id") + " " + rows[1].at("piece"),
            "line1 \xE2\x96\x81"
            "cat");
  EXPECT_EQ(rows[3].at("id") + " " + rows[3].at("piece"), "line3 [MASK]");
  EXPECT_EQ(rows[3].at("start") + "-" + rows[3].at("end"), "3-10");
  expect_refused({"embed", "-m", text_model, "--lines", "-", "--pool", "bin:10", "-o", path("bins.npy")}, 2,
                 "counts bases", "a\n");
  // DNA for a model of text, in each way in.
  const std::string sequence = "ACGTTGCAGGTCA";
  expect_refused({"fill-mask", "-m", text_model, sequence + "[MASK]GG"}, 1, "text: this is DNA");
  expect_refused({"fill-mask", "-m", text_model, "-"}, 1, "line2: this is DNA",
                 "The [MASK]\nacgttgca[MASK]ggtca\n");
  expect_refused({"fill-mask", "-m", text_model, "-f", genome(), "-r", "chr1:100-200"}, 1, "is for text");
  expect_refused({"embed", "-m", text_model, "--lines", "-", "-o", path("x.npy")}, 1, "this is DNA",
                 sequence + "\n");
  expect_refused({"embed", "-m", text_model, "-", "-o", path("x.npy")}, 1, "is for text",
                 ">a\n" + sequence + "\n");
  expect_refused({"tokenize", "-m", text_model, "--lines", "-", "--print", "ids"}, 1, "this is DNA",
                 sequence + "\n");
  expect_refused({"tokenize", "-m", text_model, "-f", genome(), "--print", "ids"}, 1, "a genome is DNA");
  EXPECT_FALSE(std::filesystem::exists(path("x.npy")));
}

TEST_F(FillMaskAndEmbed, FillMaskRefusesWhatItCannotFill) {
  const std::vector<std::string> start{"fill-mask", "-m", model()};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = start;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  expect_refused(start, 2, "needs something to fill");
  expect_refused(with({"ACGT"}), 1, "there is no [MASK] in it");
  expect_refused(with({"-"}), 1, "holds no text");
  expect_refused(with({"Paris is the [MASK] of France."}), 1, "'P' in column 1 is not a base");
  expect_refused(with({"-"}), 1, "line2: 'e' in column 3 is not a base", "AC[MASK]\nThe [MASK] sat\n");
  expect_refused(with({"-f", genome(), "-r", "chr1:1-200000"}), 1, "the model takes 1024");
  expect_refused(with({"-f", genome(), "-r", "chr9:1-20"}), 1, "chr9");
  expect_refused(with({"-f", genome(), "-r", "chr1:100-200", "--position", "201"}), 1, "is outside");
  expect_refused(with({"-f", genome(), "-r", "chr1:100-200", "--position", "150", "--every", "3"}), 2,
                 "every");
  must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", genome(), "-o",
        path("examples"), "--left", "300", "--right", "100"});
  must({"promoter", "finetune", "--data", path("examples"), "--init", model(), "-o", path("tuned"), "--steps",
        "1", "--batch", "2"});
  expect_refused({"fill-mask", "-m", path("tuned/final"), "A[MASK]"}, 1, "no masked-token head");
}

TEST_F(FillMaskAndEmbed, VectorsAreForwardsHiddenStates) {
  const std::string sequence = bases(100'000, 100'700);
  const Encoded encoded = encode(sequence);
  const std::size_t tokens = encoded.offsets.size();
  const std::vector<float> hidden = forward(encoded.ids, "last_hidden_state");
  const auto vector = [&](std::size_t row) { return std::span(hidden).subspan(row * width, width); };
  const std::string fasta = ">one\n" + sequence + "\n";

  const Embedding by_token = embed({"--pool", "token", "-"}, fasta);
  ASSERT_EQ(by_token.rows.size(), tokens);
  expect_near(by_token.values, std::span(hidden).subspan(width, tokens * width));
  const auto tokenizer = load_tokenizer(model());
  for (std::size_t i = 0; i < tokens; ++i) {
    const std::size_t end = i + 1 < tokens ? encoded.offsets[i + 1] : sequence.size();
    EXPECT_EQ(by_token.rows[i].at("row"), std::to_string(i));
    EXPECT_EQ(by_token.rows[i].at("start"), std::to_string(encoded.offsets[i]));
    EXPECT_EQ(by_token.rows[i].at("end"), std::to_string(end));
    EXPECT_EQ(by_token.rows[i].at("piece"), sequence.substr(encoded.offsets[i], end - encoded.offsets[i]));
  }

  expect_near(embed({"--pool", "cls", "-"}, fasta).values, vector(0));

  std::vector<float> mean(width);
  for (std::size_t c = 0; c < width; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < tokens; ++i) sum += vector(i + 1)[c];
    mean[c] = static_cast<float>(sum / static_cast<double>(tokens));
  }
  expect_near(embed({"-"}, fasta).values, mean);

  // Base by base: each base has the vector of its token.
  const Embedding bins = embed({"--pool", "bin:300", "-"}, fasta);
  ASSERT_EQ(bins.rows.size(), 3u);
  for (std::size_t bin = 0; bin < 3; ++bin) {
    const std::size_t begin = bin * 300, end = std::min<std::size_t>(begin + 300, 700);
    std::vector<float> expected(width);
    for (std::size_t c = 0; c < width; ++c) {
      double sum = 0;
      for (std::size_t base = begin; base < end; ++base) {
        const auto after = std::upper_bound(encoded.offsets.begin(), encoded.offsets.end(), base);
        sum += vector(static_cast<std::size_t>(after - encoded.offsets.begin()))[c];
      }
      expected[c] = static_cast<float>(sum / static_cast<double>(end - begin));
    }
    expect_near(std::span(bins.values).subspan(bin * width, width), expected);
    EXPECT_EQ(bins.rows[bin].at("start"), std::to_string(begin));
    EXPECT_EQ(bins.rows[bin].at("end"), std::to_string(end));
  }
}

TEST_F(FillMaskAndEmbed, VectorsDoNotDependOnBatchThreadsOrTheWayIn) {
  const std::vector<std::string> windows{"-f", genome(), "-R", path("windows.bed"), "--pool", "token"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = windows;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return embed(arguments);
  };
  const Embedding together = with({"-@", "3"});
  for (const Embedding& other :
       {with({"--batch-tokens", "1", "-@", "1"}), with({"--batch-tokens", "1200"})}) {
    EXPECT_EQ(other.values, together.values);
    EXPECT_EQ(other.rows, together.rows);
  }
  const Embedding piped =
      embed({"-f", genome(), "-R", "-", "--pool", "token"}, read_text(path("windows.bed")));
  EXPECT_EQ(piped.values, together.values);
  // The reverse strand is the reverse complement read as a sequence of its own, its places mirrored.
  const Embedding reversed =
      embed({"--pool", "token", "-"}, ">r\n" + reverse_complement(bases(100'000, 100'700)) + "\n");
  const auto first = std::find_if(together.rows.begin(), together.rows.end(),
                                  [](const Row& row) { return row.at("id") == "reverse"; });
  const auto begin = static_cast<std::size_t>(first - together.rows.begin());
  ASSERT_LE(begin + reversed.rows.size(), together.rows.size());
  EXPECT_TRUE(std::equal(reversed.values.begin(), reversed.values.end(),
                         together.values.begin() + static_cast<std::ptrdiff_t>(begin * width)));
  for (std::size_t i = 0; i < reversed.rows.size(); ++i) {
    const Row& row = together.rows[begin + i];
    EXPECT_EQ(row.at("strand"), "-");
    EXPECT_EQ(std::stoi(row.at("start")), 100'700 - std::stoi(reversed.rows[i].at("end")));
    EXPECT_EQ(std::stoi(row.at("end")), 100'700 - std::stoi(reversed.rows[i].at("start")));
    EXPECT_EQ(row.at("piece"), reversed.rows[i].at("piece"));
  }
}

TEST_F(FillMaskAndEmbed, EmbedRefusesWhatItCannotPool) {
  const std::vector<std::string> start{"embed", "-m", model(), "-o", path("refused.npy")};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = start;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  expect_refused(start, 2, "in one way");
  expect_refused(with({genome(), "--pool", "bins"}), 2, "no such pooling");
  expect_refused(with({genome(), "--pool", "bin:0"}), 2, "no such pooling");
  expect_refused(with({genome()}), 1, "the model takes 1024");
  expect_refused(with({"--lines", "-"}), 1, "'P' in column 1 is not a base", "Paris is in France.\n");
  expect_refused(with({"-"}), 1, "no sequences");
  expect_refused(with({"-"}), 1, "'!' in record a is not a base", ">a\nAC!\n");
  expect_refused({"embed", "-m", model(), "-o", path("refused.csv"), "-"}, 2,
                 "written as .npy, .safetensors or .h5", ">a\nACGT\n");
  // A tokenizer of another vocabulary in the model's folder.
  std::filesystem::copy(model(), path("mixed"), std::filesystem::copy_options::recursive);
  std::filesystem::copy_file(source_dir() / "tests" / "golden" / "tokenizer_google_layout.model",
                             path("mixed/spiece.model"), std::filesystem::copy_options::overwrite_existing);
  for (const char* name : {"mixed/tokenizer_config.json", "mixed/tokenizer.json"})
    std::filesystem::remove(path(name));
  expect_refused({"embed", "-m", path("mixed"), "-o", path("refused.npy"), "-"}, 1, "the tokenizer has",
                 ">a\nACGT\n");
  expect_refused({"fill-mask", "-m", path("mixed"), "a [MASK]"}, 1, "the tokenizer has");
  for (const char* left : {"refused.npy", "refused.csv", "refused.rows.tsv"}) {
    EXPECT_FALSE(std::filesystem::exists(path(left))) << left;
  }
}

}  // namespace
}  // namespace bigbird::testing
