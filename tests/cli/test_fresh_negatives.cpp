// `promoter finetune --fresh-negatives` on a data set of several kinds of negatives.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/support.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

// Genomic negatives stay beside fresh ones: what the data's altered ones are does not matter.
TEST(FreshNegativesCommand, StandBesideThoseFromTheGenome) {
  const TemporaryFolder folder;
  make_tiny_encoder(folder.path());
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  const auto build = [&](const std::string& name, const std::string& kinds) {
    const RunResult built = run_bigbird({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f",
                                         path("genome/genome.fa.gz"), "-o", path(name), "--left", "300",
                                         "--right", "100", "--min-distance", "1k", "--negatives", kinds});
    ASSERT_EQ(built.status, 0) << built.err;
  };
  build("both-kinds", "permute+genomic");
  build("one-kind", "genomic");
  const auto tune = [&](const std::string& data, const std::string& run,
                        const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "promoter", "finetune", "--data",  path(data), "--init",  path("run/final"),
        "-o",       path(run),  "--steps", "12",       "--batch", "4",
        "--lr",     "1e-3",     "--final", "last"};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult done = run_bigbird(words);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.err;
  };
  const auto manifest = nlohmann::json::parse(read_text(path("both-kinds/manifest.json")));
  const auto& train = manifest.at("splits").at(0).at("train");
  const int promoters = train.at("positives").get<int>(), negatives = train.at("negatives").get<int>();
  EXPECT_EQ(negatives, 2 * promoters);
  const std::string said = tune("both-kinds", "beside", {"--fresh-negatives", "random"});
  EXPECT_NE(said.find("classes 0, 1 ...: " + std::to_string(negatives) + ", " + std::to_string(promoters) +
                      "; negatives: random, anew in each epoch; genomic, as in the data"),
            std::string::npos)
      << said;
  EXPECT_NE(read_text(path("beside/final/README.md"))
                .find("random, anew in each epoch; genomic, as in the data; of validation: as in the data"),
            std::string::npos);
  const auto weights = [&](const std::string& run) {
    return read_text(path(run + "/final/model.safetensors"));
  };
  // The manifest tells that these are genomic; their ids do not.
  tune("one-kind", "beside-one", {"--fresh-negatives", "random"});
  const std::string plain = tune("both-kinds", "as-built", {});
  EXPECT_NE(plain.find("; negatives: permute+genomic"), std::string::npos) << plain;
  EXPECT_NE(weights("beside"), weights("as-built"));
  EXPECT_EQ(weights("beside"), weights("beside-one"));
  const RunResult predicted = run_bigbird({"promoter", "predict", "-m", path("beside/final"), "--data",
                                           path("both-kinds/test.tsv"), "--provenance", "inline"});
  EXPECT_NE(predicted.out.find("##negatives=permute+genomic\n"), std::string::npos) << predicted.err;
}

}  // namespace
}  // namespace bigbird::testing
