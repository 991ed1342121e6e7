// promoter calibrate and chromatin calibrate, and what --calibrated makes of scores: models of random weights
// whose labels are drawn from known odds, numbers recomputed from the file, shards, and inputs that must be
// refused.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/genomics/chromatin/dataset.h"
#include "tests/cli/text_fixture.h"
#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

double odds_of(double p) {
  return std::log(p / (1 - p));
}
double probability_of(double z) {
  return 1 / (1 + std::exp(-z));
}

class Calibrate : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyClassifier shape;
    write_tiny_classifier(path("chromatin"), shape);
    shape.problem = ProblemType::single_label;
    shape.profiles = {{"promoter", "."}};
    shape.labels = 2;
    shape.window = {"promoter", 100, 60, 1};
    write_tiny_classifier(path("promoter"), shape);
    shape.seed = 2;
    write_tiny_classifier(path("promoter2"), shape);
    make_promoter_data();
    make_chromatin_data();
  }

  // Labels drawn with half of the logit that the model gives, less 1.
  static void make_promoter_data() {
    std::filesystem::create_directories(path("data"));
    for (const char* side : {"valid", "test", "few"}) {
      const int windows = std::string(side) == "few" ? 12 : 300;
      CounterRng random(11, Purpose::test, static_cast<std::uint64_t>(side[0]));
      std::string fasta;
      std::vector<std::string> sequences;
      for (int i = 0; i < windows; ++i) {
        std::string& bases = sequences.emplace_back();
        for (int base = 0; base < 100; ++base) bases += "ACGT"[random.below(4)];
        fasta += fmt::format(">w{}\n{}\n", i, bases);
      }
      const std::string windows_file = write(fmt::format("{}.fa", side), fasta);
      std::string table = "id\tsequence\tlabel\n";
      std::size_t i = 0;
      for (const auto& row : read_table(
               must({"promoter", "predict", "-m", path("promoter"), windows_file, "--strands", "+"}).out)) {
        const double chance = probability_of(0.5 * odds_of(std::stod(row.at("score"))) - 1);
        table += fmt::format("w{}\t{}\t{}\n", i, sequences[i], random.uniform() < chance ? 1 : 0);
        ++i;
      }
      write(fmt::format("data/{}.tsv", side), table);
    }
  }

  // Bins of 20 bases of one contig, sides one behind the other. Labels of profile 0 follow odds 8 times
  // smaller than the model's; those of profile 1 are drawn at random; profile 2 has no positive.
  static void make_chromatin_data() {
    CounterRng random(12, Purpose::test, 0);
    std::string bases;
    for (int i = 0; i < 14'000; ++i) bases += "ACGT"[random.below(4)];
    write("genome.fa", ">chr1\n" + bases + "\n");
    std::string bed;
    for (int i = 0; i < 600; ++i) bed += fmt::format("chr1\t{}\t{}\n", 100 + 20 * i, 120 + 20 * i);
    write("bins.bed", bed);
    const auto rows = read_table(must(chromatin({"-f", path("genome.fa"), "-R", path("bins.bed")})).out);
    const auto make = [&](const std::string& name, bool with_test) {
      ChromatinDatasetWriter writer(path(name), false, {{"chr1", 14'000}}, TinyClassifier().profiles,
                                    TinyClassifier().window, {});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double chance = probability_of(odds_of(std::stod(rows[i].at("K562|CTCF:0"))) - std::log(8.0));
        std::uint8_t label = random.uniform() < chance ? 1 : 0;
        if (random.below(5) == 0) label |= 2;
        writer.write({0,
                      i < 300     ? Split::valid
                      : with_test ? Split::test
                                  : Split::none,
                      static_cast<std::int64_t>(100 + 20 * i)},
                     {&label, 1});
      }
      writer.commit("../genome.fa", "{}");
    };
    make("bins", true);
    make("bins-valid", false);
  }

  static Words chromatin(const Words& more) {
    return Words{"chromatin", "predict", "-m", path("chromatin")} + more;
  }
  static Words predict(const Words& more) {
    return Words{"promoter", "predict", "-m", path("promoter"), "--data", path("data/test.tsv")} + more;
  }
  static Words calibrate(const Words& more) {
    return Words{"promoter", "calibrate", "-m", path("promoter"), "--force"} + more;
  }
  static Words calibrate_bins(const Words& more) {
    return Words{"chromatin", "calibrate", "-m", path("chromatin"), "--force"} + more;
  }
  static nlohmann::json calibration(const std::string& model) {
    return nlohmann::json::parse(read_text(path(model + "/calibration.json")));
  }
  static std::vector<double> scores(const Words& words, const std::string& column = "score") {
    std::vector<double> values;
    for (const auto& row : read_table(must(words).out)) values.push_back(std::stod(row.at(column)));
    return values;
  }
  // A copy of a model, calibrated.
  static std::string copy_of(const std::string& model, const std::string& name) {
    std::filesystem::remove_all(path(name));
    std::filesystem::copy(path(model), path(name), std::filesystem::copy_options::recursive);
    return path(name);
  }
};

double platt(const nlohmann::json& output, double score) {
  const auto& curve = output.at("platt");
  return probability_of(curve.at("slope").get<double>() * odds_of(score) + curve.at("offset").get<double>());
}

// Typed, of the model folder, of the data's manifest, or a half: prior correction begins there.
TEST_F(Calibrate, TheShareOfPromotersInTrainingIsWhatModelOrDataTell) {
  const auto share = [&](const Words& more, const std::string& says) {
    const RunResult done = must(calibrate(Words{"--data", path("data")} + more));
    EXPECT_NE(done.err.find(says), std::string::npos) << done.err;
    return calibration("promoter").at("train_prior").get<double>();
  };
  EXPECT_EQ(share({}, "neither model nor data have the fraction"), 0.5);
  write("data/manifest.json",
        R"({"negatives": {"kind": "genomic:3"}, "window": {"length": 100, "tss_offset": 60},
            "splits": [{"train": {"positives": 10, "negatives": 30}}]})");
  EXPECT_EQ(share({}, "0.25 of the training examples, by " + path("data")), 0.25);
  const std::string profiles = read_text(path("promoter/profiles.tsv"));
  write("promoter/profiles.tsv", "##train_prior=0.1\n" + profiles);
  EXPECT_EQ(share({}, "0.1 of the training examples, by " + path("promoter")), 0.1);
  EXPECT_EQ(share({"--train-prior", "0.3"}, ""), 0.3);
  write("promoter/profiles.tsv", "##train_prior=1.5\n" + profiles);
  refused(calibrate({"--data", path("data")}), 1, "train_prior 1.5");
  write("promoter/profiles.tsv", profiles);
  std::filesystem::remove(path("data/manifest.json"));
}

TEST_F(Calibrate, APromoterModelLearnsTheOddsOfItsLabels) {
  const RunResult run = must(calibrate({"--data", path("data"), "--curve", path("curve.tsv"), "--svg",
                                        path("curve.svg"), "--bins", "10", "-@", "2"}));
  const auto json = calibration("promoter");
  EXPECT_EQ(json.at("task"), "promoter");
  EXPECT_EQ(json.at("strands"), "+");
  EXPECT_EQ(json.at("windows"), 300);
  EXPECT_EQ(json.at("prior"), nullptr);
  EXPECT_EQ(json.at("train_prior"), 0.5);
  const auto& output = json.at("outputs").at(0);
  EXPECT_NEAR(output.at("platt").at("slope").get<double>(), 0.5, 0.2);
  EXPECT_NEAR(output.at("platt").at("offset").get<double>(), -1, 0.35);
  const double share = output.at("positives").get<double>() / 300;
  EXPECT_NEAR(output.at("shift").get<double>(), odds_of(share), 1e-12);

  const auto table = read_table(run.out);
  ASSERT_EQ(table.size(), 4u);
  for (const auto& row : table) EXPECT_EQ(row.at("measured_on"), "test");
  EXPECT_EQ(table[0].at("method"), "none");
  EXPECT_EQ(table[3].at("method"), "isotonic");
  EXPECT_LT(std::stod(table[2].at("ece")), std::stod(table[0].at("ece")) / 2);
  EXPECT_LT(std::stod(table[2].at("log_loss")), std::stod(table[0].at("log_loss")));
  EXPECT_LT(std::stod(table[2].at("brier")), std::stod(table[0].at("brier")));
  EXPECT_EQ(table[2].at("auroc"), table[0].at("auroc"));
  EXPECT_EQ(table[0].at("examples"), "300");
  EXPECT_FALSE(holds(run.out, "##")) << run.out;
  EXPECT_TRUE(holds(read_text(path("curve.tsv.provenance.json")), "bigbird promoter calibrate"));

  const auto curve = read_table(read_text(path("curve.tsv")));
  int examples = 0;
  for (const auto& row : curve) {
    if (row.at("method") == "platt" && row.at("bins") == "equal_width") examples += std::stoi(row.at("n"));
  }
  EXPECT_EQ(examples, 300);
  EXPECT_TRUE(holds(read_text(path("curve.svg")), "isotonic, calibration error"));
  EXPECT_TRUE(holds(must({"info", path("promoter")}).out, "calibration.fitted_outputs\t1"));
  EXPECT_TRUE(
      holds(must({"check", path("promoter")}).out, "calibration\tok\t1 of 1 outputs fitted on 300 windows"));
}

TEST_F(Calibrate, TheFileDependsNeitherOnThreadsNorOnBatches) {
  must(calibrate({"--data", path("data"), "-@", "1", "--batch-tokens", "64"}));
  const std::string one = read_text(path("promoter/calibration.json"));
  must(calibrate({"--data", path("data"), "-@", "3"}));
  EXPECT_EQ(read_text(path("promoter/calibration.json")), one);
  must(calibrate_bins({"--data", path("bins"), "-@", "1"}));
  const std::string bins = read_text(path("chromatin/calibration.json"));
  must(calibrate_bins({"--data", path("bins"), "-@", "2"}));
  EXPECT_EQ(read_text(path("chromatin/calibration.json")), bins);
}

TEST_F(Calibrate, PredictionsAreThoseOfTheFile) {
  must(calibrate({"--data", path("data")}));
  const auto output = calibration("promoter").at("outputs").at(0);
  // What is calibrated is of the strand that the fit read, unless another is typed.
  const std::vector<double> plain = scores(predict({"--strands", "+"}));
  EXPECT_NE(scores(predict({})), plain);
  EXPECT_EQ(scores(predict({"--calibrated", "none"})), scores(predict({"--strands", "both"})));
  const std::vector<double> by_prior = scores(predict({"--calibrated", "prior"})),
                            by_platt = scores(predict({"--calibrated", "platt"})),
                            by_steps = scores(predict({"--calibrated", "isotonic"}));
  const auto knots = output.at("isotonic").at("scores").get<std::vector<double>>();
  const auto values = output.at("isotonic").at("values").get<std::vector<double>>();
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(by_platt[i], platt(output, plain[i]), 1e-7);
    EXPECT_NEAR(by_prior[i], probability_of(odds_of(plain[i]) + output.at("shift").get<double>()), 1e-7);
    std::size_t above = 0;
    while (above < knots.size() && knots[above] <= plain[i]) ++above;
    if (above == 0 || above == knots.size()) {
      EXPECT_NEAR(by_steps[i], above == 0 ? values.front() : values.back(), 1e-7);
    } else if (knots[above] - knots[above - 1] > 1e-4) {  // scores are read with nine digits
      const double part = (plain[i] - knots[above - 1]) / (knots[above] - knots[above - 1]);
      EXPECT_NEAR(by_steps[i], values[above - 1] + part * (values[above] - values[above - 1]), 1e-4);
    }
  }
  const RunResult run = must(predict({"--calibrated", "platt", "--provenance", "inline"}));
  EXPECT_TRUE(holds(run.out, "##calibrated=platt\n"));
  EXPECT_TRUE(
      holds(run.out, "##bigbird_input=calibration:" + path("promoter/calibration.json") + " sha256="));
  EXPECT_FALSE(holds(must(predict({})).out, "calibrat"));
  EXPECT_FALSE(holds(must(predict({"--calibrated", "platt", "--no-provenance"})).out, "##"));
}

// Calibrated is each model; then comes their mean.
TEST_F(Calibrate, SeveralModelsAreCalibratedOneByOne) {
  must(calibrate({"--data", path("data")}));
  must({"promoter", "calibrate", "-m", path("promoter2"), "--data", path("data"), "--force"});
  const std::vector<double> both = scores(predict({"-m", path("promoter2"), "--calibrated", "platt"})),
                            one = scores(predict({"--calibrated", "platt"})),
                            two = scores({"promoter", "predict", "-m", path("promoter2"), "--data",
                                          path("data/test.tsv"), "--calibrated", "platt"});
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(both[i], (one[i] + two[i]) / 2, 1e-8);
}

// Of both strands the mean is calibrated, not each.
TEST_F(Calibrate, TheMeanOverStrandsIsCalibrated) {
  must(calibrate({"--data", path("data"), "--strands", "both"}));
  const auto json = calibration("promoter");
  EXPECT_EQ(json.at("strands"), "both");
  const std::vector<double> plain = scores(predict({"--strands", "both"})),
                            by_platt = scores(predict({"--strands", "both", "--calibrated", "platt"}));
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_NEAR(by_platt[i], platt(json.at("outputs").at(0), plain[i]), 1e-7);
  const std::string warning = "was fitted on scores of the strands both, and + are read here";
  EXPECT_TRUE(holds(must(predict({"--strands", "+", "--calibrated", "platt"})).err, warning));
  EXPECT_FALSE(holds(must(predict({"--strands", "both", "--calibrated", "platt"})).err, "was fitted"));
}

TEST_F(Calibrate, AWantedPriorMovesEveryMethod) {
  must(calibrate({"--data", path("data")}));
  const auto before = calibration("promoter").at("outputs").at(0);
  const auto table = read_table(
      must(calibrate({"--data", path("data"), "--prior", "0.01", "--train-prior", "0.4", "--max-n", "0.9"}))
          .out);
  const auto json = calibration("promoter");
  const auto& output = json.at("outputs").at(0);
  EXPECT_EQ(json.at("prior"), 0.01);
  EXPECT_EQ(json.at("train_prior"), 0.4);
  EXPECT_NEAR(output.at("shift").get<double>(), odds_of(0.01) - odds_of(0.4), 1e-12);
  const double share = output.at("positives").get<double>() / 300;
  EXPECT_NEAR(output.at("platt").at("offset").get<double>() - before.at("platt").at("offset").get<double>(),
              odds_of(0.01) - odds_of(share), 1e-12);
  // Measured as if one of a hundred were positive: without calibration far off.
  EXPECT_GT(std::stod(table[0].at("ece")), 0.2);
  EXPECT_LT(std::stod(table[2].at("ece")), 0.02);
  refused(calibrate({"--data", path("data"), "--prior", "1"}), 2, "--prior 1: must be between 0 and 1");
  refused(calibrate({"--data", path("data"), "--train-prior", "0"}), 2, "--train-prior 0");
}

TEST_F(Calibrate, WithoutATestSideFoldsAreMeasured) {
  const Words valid = {"--valid", path("data/valid.tsv")};
  const RunResult one = must(calibrate(valid + Words{"-o", path("errors.tsv"), "--no-provenance"}));
  EXPECT_EQ(one.out, "");
  const std::string errors = read_text(path("errors.tsv"));
  const auto table = read_table(errors);
  EXPECT_EQ(table[0].at("measured_on"), "valid, 5-fold");
  EXPECT_EQ(table[0].at("examples"), "300");
  const std::string file = read_text(path("promoter/calibration.json"));
  EXPECT_EQ(must(calibrate(valid + Words{"--no-provenance"})).out, errors);
  EXPECT_NE(must(calibrate(valid + Words{"--no-provenance", "--seed", "2"})).out, errors);
  EXPECT_EQ(read_text(path("promoter/calibration.json")), file) << "the folds are of the measure alone";
  const RunResult test = must(calibrate(valid + Words{"--test", path("data/test.tsv")}));
  EXPECT_EQ(read_table(test.out)[0].at("measured_on"), "test");
}

TEST_F(Calibrate, FastaPairsToo) {
  std::string positives, negatives;
  for (const auto& row : split(read_text(path("data/valid.tsv")), '\n')) {
    const auto fields = split(row, '\t');
    if (fields.size() != 3 || fields[2] == "label") continue;
    (fields[2] == "1" ? positives : negatives) += ">" + fields[0] + "\n" + fields[1] + "\n";
  }
  write("p.fa", positives);
  write("n.fa", negatives);
  must(calibrate({"--valid", path("data/valid.tsv"), "--no-provenance"}));
  const auto table = calibration("promoter");
  must(calibrate({"--valid", path("p.fa"), "--valid-negatives", path("n.fa"), "--test", path("p.fa"),
                  "--test-negatives", path("n.fa"), "--no-provenance"}));
  EXPECT_EQ(calibration("promoter").at("outputs"), table.at("outputs"));
  refused(calibrate({"--valid", path("p.fa")}), 1, "a FASTA file has no labels");
  refused(calibrate({"--data", path("data"), "--valid-negatives", path("n.fa")}), 2, "in one way");
  refused(calibrate({"--data", path("data"), "--test-negatives", path("n.fa")}), 2, "in one way");
}

TEST_F(Calibrate, AScanIsThatOfPredict) {
  must(calibrate({"--data", path("data")}));
  const auto track = [&](const Words& more) {
    std::vector<double> values;
    for (const std::string& line :
         split(must(Words{"promoter", "scan", "-m", path("promoter"), "-f", path("genome.fa"), "-r",
                          "chr1:2001-2400", "--step", "50", "--strands", "+", "--threshold", "0"} +
                    more)
                   .out,
               '\n')) {
      if (!line.empty() && line[0] != '#' && !line.starts_with("track"))
        values.push_back(std::stod(line.substr(line.rfind('\t') + 1)));
    }
    return values;
  };
  const std::vector<double> plain = track({}), by_platt = track({"--calibrated", "platt"});
  ASSERT_EQ(plain.size(), 8u);
  ASSERT_EQ(by_platt.size(), 8u);
  const auto output = calibration("promoter").at("outputs").at(0);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(by_platt[i], platt(output, plain[i]), 1e-5);
  const RunResult run = must({"promoter", "scan", "-m", path("promoter"), "-f", path("genome.fa"), "-r",
                              "chr1:2001-2400", "--step", "50", "--calibrated", "platt", "-o",
                              path("scan.bedgraph"), "--summary", path("scan.json")});
  EXPECT_TRUE(holds(read_text(path("scan.bedgraph.provenance.json")), R"("calibrated":"platt")"));
  EXPECT_TRUE(holds(read_text(path("scan.json")), "\"calibration\"")) << read_text(path("scan.json"));
}

TEST_F(Calibrate, EveryProfileOfAChromatinModelHasItsOwn) {
  const RunResult run = must(calibrate_bins({"--data", path("bins"), "--table", path("profiles.tsv")}));
  EXPECT_TRUE(
      holds(run.err, "not fitted, prior correction replaces platt and isotonic: 2 K562|DNase (no positive)"))
      << run.err;
  const auto json = calibration("chromatin");
  ASSERT_EQ(json.at("outputs").size(), 3u);
  EXPECT_EQ(json.at("strands"), "both");
  EXPECT_EQ(json.at("positive_weight"), 1.0);
  EXPECT_EQ(json.at("outputs").at(2).at("platt"), nullptr);
  EXPECT_EQ(json.at("outputs").at(0).at("name"), "K562|CTCF");
  EXPECT_NEAR(json.at("outputs").at(1).at("platt").at("slope").get<double>(), 0, 0.4);
  const auto table = read_table(run.out);
  EXPECT_EQ(table[0].at("examples"), "900");
  EXPECT_EQ(table[0].at("measured_on"), "test");
  EXPECT_LT(std::stod(table[2].at("log_loss")), std::stod(table[0].at("log_loss")));
  const auto profiles = read_table(read_text(path("profiles.tsv")));
  ASSERT_EQ(profiles.size(), 12u);
  EXPECT_EQ(profiles[2].at("method"), "platt");
  EXPECT_LT(std::stod(profiles[2].at("ece_equal_count")), std::stod(profiles[0].at("ece_equal_count")));
  EXPECT_EQ(profiles[11].at("fitted"), "0");
  EXPECT_EQ(profiles[11].at("auroc"), "NA");
  EXPECT_EQ(profiles[0].at("fitted"), "1");

  const Words bins = {"-f", path("genome.fa"), "-R", path("bins.bed"), "--no-provenance"};
  const auto plain = read_table(must(chromatin(bins)).out);
  const auto by_platt = read_table(must(chromatin(bins + Words{"--calibrated", "platt"})).out);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (const auto& [column, output] : {std::pair<const char*, int>{"K562|CTCF:0", 0}, {"K562|CTCF:1", 1}}) {
      EXPECT_NEAR(
          std::stod(by_platt[i].at(column)),
          platt(json.at("outputs").at(static_cast<std::size_t>(output)), std::stod(plain[i].at(column))),
          1e-6);
    }
    // Positives have weight 1: nothing is shifted.
    EXPECT_NEAR(std::stod(by_platt[i].at("K562|DNase")), std::stod(plain[i].at("K562|DNase")), 1e-6);
  }
  EXPECT_TRUE(
      holds(must(chromatin(bins + Words{"--calibrated", "isotonic"})).err, "1 of 3 outputs were not fitted"));
  EXPECT_FALSE(holds(must(chromatin(bins + Words{"--calibrated", "prior"})).err, "not fitted"));
}

TEST_F(Calibrate, TheWeightOfPositivesIsTakenBack) {
  const std::string weighted = copy_of("chromatin", "weighted");
  std::string config = read_text(weighted + "/config.json");
  const auto parsed = nlohmann::json::parse(config);
  auto changed = parsed;
  changed["bigbird"]["positive_weight"] = 8.0;
  write_text(weighted + "/config.json", changed.dump(2) + "\n");
  must({"chromatin", "calibrate", "-m", weighted, "--data", path("bins"), "-f", path("genome.fa"), "--split",
        "valid", "--measure-split", "test", "--samples", "200", "--max-n", "0.5", "--force"});
  const auto json = calibration("weighted");
  EXPECT_EQ(json.at("windows"), 200);
  EXPECT_EQ(json.at("positive_weight"), 8.0);
  for (const auto& output : json.at("outputs"))
    EXPECT_NEAR(output.at("shift").get<double>(), -std::log(8.0), 1e-12);
}

TEST_F(Calibrate, ChromatinWithoutTestBinsIsMeasuredByFolds) {
  const auto measured_on = [&](const Words& more) {
    return read_table(must(calibrate_bins(more)).out)[0].at("measured_on");
  };
  EXPECT_EQ(measured_on({"--data", path("bins-valid")}), "valid, 5-fold");
  EXPECT_EQ(measured_on({"--data", path("bins"), "--measure-split", "valid"}), "valid, 5-fold");
  EXPECT_EQ(measured_on({"--data", path("bins"), "--split", "test"}), "test, 5-fold");
  refused(calibrate_bins({"--data", path("bins-valid"), "--measure-split", "test"}), 1, "no bins to score");
  refused(calibrate_bins({"--data", path("bins"), "--split", "train"}), 1, "no bins to score");
  refused(calibrate_bins({"--data", path("bins"), "--split", "exam"}), 1, "--split exam");
}

TEST_F(Calibrate, ChromatinTakesStrandsSeedBinsAndPictures) {
  const auto errors = [&](const Words& more) {
    return must(calibrate_bins(Words{"--data", path("bins-valid"), "--no-provenance"} + more)).out;
  };
  EXPECT_NE(errors({"--seed", "1"}), errors({"--seed", "2"}));
  EXPECT_EQ(errors({"--seed", "1"}), errors({}));
  errors({"--bins", "4", "--curve", path("bins.tsv"), "--svg", path("bins.svg")});
  const auto curve = read_table(read_text(path("bins.tsv")));
  std::size_t rows = 0;
  for (const auto& row : curve) rows += row.at("bins") == "equal_width" ? 1U : 0U;
  EXPECT_EQ(rows, 4u * 4u);
  EXPECT_TRUE(holds(read_text(path("bins.svg")), "measured on valid, 5-fold"));
  errors({"--strands", "+"});
  EXPECT_EQ(calibration("chromatin").at("strands"), "+");
}

// What is calibrated, and how, belongs to what a run is known by.
TEST_F(Calibrate, RunsOfOtherCalibrationsAreOtherRuns) {
  must(calibrate_bins({"--data", path("bins")}));
  const Words bins = {"-f", path("genome.fa"), "-R", path("bins.bed"), "--chunk-size", "100", "--calibrated"};
  const auto part = [&](const std::string& name, const std::string& shard, const std::string& method) {
    std::filesystem::remove(path(name));
    must(chromatin(bins + Words{method, "--shard", shard, "-o", path(name)}));
  };
  must(chromatin(bins + Words{"platt", "-o", path("whole.tsv")}));
  part("part1", "1/2", "platt");
  part("part2", "2/2", "platt");
  must({"merge", path("part1"), path("part2"), "-o", path("merged.tsv")});
  EXPECT_EQ(read_text(path("merged.tsv")), read_text(path("whole.tsv")));
  part("part2", "2/2", "isotonic");
  refused({"merge", path("part1"), path("part2"), "-o", path("no.tsv")}, 1, "calibrated differs");
  // The same method of another fit.
  must(calibrate_bins({"--data", path("bins"), "--split", "test", "--measure-split", "valid"}));
  part("part2", "2/2", "platt");
  refused({"merge", path("part1"), path("part2"), "-o", path("no.tsv")}, 1, "calibrated differs");
  const auto scanned = [&](const char* shard, const char* method) {
    const std::string name = path(std::string("scan") + shard[0]);
    std::filesystem::remove(name);
    must({"promoter", "scan", "-m", path("promoter"), "-f", path("genome.fa"), "--step", "200",
          "--chunk-size", "20", "--shard", shard, "-o", name, "--calibrated", method});
  };
  must(calibrate({"--data", path("data")}));
  scanned("1/2", "platt");
  scanned("2/2", "prior");
  const Words merge = {"merge", path("scan1"), path("scan2"), "-o", path("scan.bedgraph")};
  refused(merge, 1, "calibrated differs");
  scanned("2/2", "platt");
  must(merge);
  refused(chromatin(bins + Words{"platt", "--ablations", "-O", "npy", "-o", path("v.npy")}), 2,
          "--ablations");
}

// A run that ended early, at a bin that is none, goes on with its own calibration alone.
TEST_F(Calibrate, ARunGoesOnWithItsOwnCalibration) {
  must(calibrate_bins({"--data", path("bins")}));
  const std::string bins = read_text(path("bins.bed"));
  const auto run = [&](const std::string& method, const Words& more) {
    return chromatin(Words{"-f", path("genome.fa"), "-R", path("some.bed"), "--chunk-size", "100", "-o",
                           path("broken.tsv"), "--calibrated", method} +
                     more);
  };
  write("some.bed", bins + "chr1\t100\t101\n");
  refused(run("platt", {}), 1, "some.bed:601");
  write("some.bed", bins);
  refused(run("isotonic", {"--resume"}), 1, "finished parts of another run");
  refused(run("none", {"--resume"}), 1, "finished parts of another run");
  EXPECT_TRUE(holds(must(run("platt", {"--resume"})).err, "were finished by the run before"));
}

TEST_F(Calibrate, ConvertTakesItAlongWhereTheWeightsStay) {
  must(calibrate({"--data", path("data")}));
  must({"convert", path("promoter"), path("same"), "--force"});
  EXPECT_TRUE(holds(must({"check", path("same")}).out, "calibration\tok"));
  const Words calibrated = {"--data", path("data/test.tsv"), "--calibrated", "platt"};
  EXPECT_EQ(scores(Words{"promoter", "predict", "-m", path("same")} + calibrated),
            scores(Words{"promoter", "predict", "-m", path("promoter")} + calibrated));
  const RunResult rounded =
      must({"convert", path("promoter"), path("rounded"), "--dtype", "bf16", "--force"});
  EXPECT_TRUE(holds(rounded.err, "is not copied")) << rounded.err;
  EXPECT_FALSE(std::filesystem::exists(path("rounded/calibration.json")));
  // Made anew, it does not disturb the digests of the other files.
  must({"check", path("same"), "--write-digest"});
  must({"promoter", "calibrate", "-m", path("same"), "--data", path("data"), "--prior", "0.1", "--force"});
  EXPECT_TRUE(holds(must({"check", path("same")}).out, "files\tok"));
}

TEST_F(Calibrate, WhatIsNotThereOrDamagedIsNamed) {
  const std::string model = copy_of("promoter", "fresh");
  std::filesystem::remove(model + "/calibration.json");
  const Words fresh = {"promoter",           "predict",      "-m",   model, "--data",
                       path("data/few.tsv"), "--calibrated", "platt"};
  const RunResult run = refused(fresh, 1, model + ": has no calibration");
  EXPECT_TRUE(holds(run.err, "`bigbird promoter calibrate`")) << run.err;
  EXPECT_TRUE(holds(run.err, "--calibrated")) << run.err;
  refused({"promoter", "scan", "-m", model, "-f", path("genome.fa"), "--calibrated", "platt"}, 1,
          "has no calibration");
  refused(predict({"--calibrated", "temperature"}), 2, "'temperature' is not a method of calibration");
  EXPECT_TRUE(holds(must({"info", model}).out, "calibration\tnone"));

  must({"promoter", "calibrate", "-m", model, "--data", path("data")});
  refused({"promoter", "calibrate", "-m", model, "--data", path("data")}, 1,
          model + "/calibration.json: is there already");
  must(fresh);
  const std::string whole = read_text(model + "/calibration.json");
  const auto with = [&](const std::string& old_text, const std::string& new_text) {
    std::string text = whole;
    text.replace(text.find(old_text), old_text.size(), new_text);
    write_text(model + "/calibration.json", text);
  };
  with("\"slope\":", "\"slop\":");
  refused(fresh, 1, "calibration.json: outputs[0].platt.slope is missing");
  EXPECT_TRUE(holds(run_bigbird({"check", model}).out, "calibration\tfailed"));
  EXPECT_EQ(run_bigbird({"check", model}).status, 1);
  EXPECT_TRUE(holds(must({"info", model}).out, "calibration.error"));
  with("\"weights\": \"", "\"weights\": \"0");
  refused(fresh, 1, "calibration.json: weights differs");
  EXPECT_TRUE(holds(run_bigbird({"check", model}).out, "made for other weights"));
  with("    {\"name\"",
       "    {\"name\":\"x\",\"positives\":1,\"negatives\":1,\"shift\":0,\"platt\":null,"
       "\"isotonic\":null},\n    {\"name\"");
  refused(fresh, 1, "outputs has 2 entries, and the model has 1 outputs");
}

TEST_F(Calibrate, DataAndModelsThatDoNotServeAreNamed) {
  std::filesystem::create_directories(path("empty"));
  refused(calibrate({"--data", path("empty")}), 1, "holds no valid side");
  refused(calibrate({}), 2, "give the windows in one way");
  refused(calibrate({"--data", path("data"), "--valid", path("data/valid.tsv")}), 2, "in one way");
  const std::string bases(100, 'A');
  write("one.tsv", "sequence\tlabel\n" + bases + "\t1\n" + bases + "\t1\n");
  refused(calibrate({"--valid", path("one.tsv")}), 1, "one.tsv: all 2 windows are of class 1");
  refused(calibrate({"--valid", path("data/valid.tsv"), "--test", path("one.tsv")}), 1,
          "one.tsv: all 2 windows");
  write("two.tsv", "sequence\tlabel\n" + bases + "\t2\n" + bases + "\t1\n");
  refused(calibrate({"--valid", path("two.tsv")}), 1, "two.tsv: example row1 has label 2");
  write("n.tsv", "sequence\tlabel\n" + std::string(100, 'N') + "\t1\n");
  refused(calibrate({"--valid", path("n.tsv")}), 1, "n.tsv: no windows");

  TinyClassifier shape;
  shape.problem = ProblemType::single_label;
  shape.profiles = {};
  shape.labels = 3;
  shape.window = {"promoter", 100, 60, 1};
  write_tiny_classifier(path("three"), shape);
  refused({"promoter", "calibrate", "-m", path("three"), "--data", path("data")}, 1, "has 3 classes");
  shape.problem = ProblemType::regression;
  shape.labels = 1;
  write_tiny_classifier(path("regression"), shape);
  refused({"promoter", "calibrate", "-m", path("regression"), "--data", path("data")}, 1,
          "not a promoter classifier");
  refused({"promoter", "calibrate", "-m", path("chromatin"), "--data", path("data"), "--force"}, 1,
          "not a promoter");
  refused({"chromatin", "calibrate", "-m", path("promoter"), "--data", path("bins"), "--force"}, 1,
          "a model of the task promoter");
  shape = {};
  shape.problem = ProblemType::regression;
  write_tiny_classifier(path("regression"), shape);
  refused({"chromatin", "calibrate", "-m", path("regression"), "--data", path("bins")}, 1,
          "gives no probability for each label by itself");
  shape = {};
  shape.profiles[0].name = "other";
  write_tiny_classifier(path("other"), shape);
  refused({"chromatin", "calibrate", "-m", path("other"), "--data", path("bins")}, 1, "other profiles");
  EXPECT_FALSE(std::filesystem::exists(path("three/calibration.json")));
}

}  // namespace
}  // namespace bigbird::testing
