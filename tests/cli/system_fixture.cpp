// See system_fixture.h.
#include "tests/cli/system_fixture.h"

#include <nlohmann/json.hpp>

#include "tests/support/sanitizer.h"

namespace bigbird::testing {

void SystemVerbs::expect_less_than_unigrams(const Words& system) {
  if (under_sanitizer) GTEST_SKIP() << "400 updates; the other tests train less";
  const auto of = [](const char* what, const char* which) { return path(std::string(what) + which); };
  for (const char* chromosome : {"1", "2"}) {
    must({"chunk", "-f", path("genome/genome.fa.gz"), "-o", of("docs.bed", chromosome), "--passes", "1",
          "--chromosomes", chromosome});
    must({"tokenize", "-m", path("tokenizer"), "-f", path("genome/genome.fa.gz"), "-d",
          of("docs.bed", chromosome), "-o", of("shards", chromosome)});
  }
  const Words shape = {"--layers", "2",    "--width",   "64",  "--heads",      "2",  "--intermediate", "128",
                       "--batch",  "8",    "--length",  "128", "--block-size", "16", "--steps",        "400",
                       "--lr",     "1e-3", "--dropout", "0",   "--device",     "cpu"};
  for (const char* objective : {"mlm", "clm"}) {
    must(Words{"pretrain", "--train", path("shards1"), "-m", path("tokenizer"), "-o",
               of("learned", objective), "--objective", objective} +
         shape + system);
    const auto json = nlohmann::json::parse(
        must({"evaluate", "-m", of("learned", objective) + "/final", "--data", path("shards2"),
              "--baseline-from", path("shards1"), "--samples", "200", "--device", "cpu"})
            .out);
    const double bits = json.at("bits_per_base"),
                 unigram = json.at("baseline").at("unigram").at("bits_per_base");
    EXPECT_LT(bits, unigram) << objective;
  }
}

}  // namespace bigbird::testing
