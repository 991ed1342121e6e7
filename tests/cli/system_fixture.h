// A system of attention as a user meets it: what the tests of several systems ask of their verbs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {

// In a folder with a genome, a tokenizer and shards; a system is its options, "--attention" first.
class SystemVerbs : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    make_tiny_encoder(folder_->path());
  }
  static Words pretrain(const Words& system, const std::string& run, const Words& more,
                        const std::string& shards = "shards", const std::string& tokenizer = "tokenizer") {
    const Words shape = {"--layers", "2", "--width",      "16", "--heads",  "2",   "--intermediate", "32",
                         "--batch",  "4", "--block-size", "16", "--length", "128", "--device",       "cpu"};
    return Words{"pretrain", "--train", path(shards), "-m", path(tokenizer), "-o", path(run)} + shape +
           system + more;
  }
  static std::string weights(const std::string& folder) {
    return read_text(path(folder + "/model.safetensors"));
  }
  // Without the header, which says where they come from.
  static std::string values_of(const std::string& folder) {
    const std::string all = weights(folder);
    std::uint64_t header = 0;  // bytes of JSON behind these eight
    std::memcpy(&header, all.data(), sizeof header);
    return all.substr(sizeof header + static_cast<std::size_t>(header));
  }
  static std::string config_text(const std::string& folder) {
    return read_text(path(folder + "/config.json"));
  }

  // A run by one thread, by two, and killed as soon as there is a checkpoint; `name` tells it from others.
  static void expect_equal_bytes(const Words& system, const std::string& name, const Words& steps) {
    const auto of = [&](const char* run) { return run + name; };
    must(pretrain(system, of("whole"), steps + Words{"-@", "1"}));
    must(pretrain(system, of("threads"), steps + Words{"-@", "2"}));
    const std::string trained = weights(of("whole") + "/final");
    EXPECT_TRUE(trained == weights(of("threads") + "/final"));
    const Words again = pretrain(system, of("killed"), steps + Words{"-@", "1"});
    const char* const script =
        R"("$@" 2> "$0.log" & p=$!; while [ ! -d "$0/checkpoint-2" ]; do kill -0 $p || exit 1; sleep 0.01; done; kill -9 $p; wait $p)";
    const RunResult killed =
        run_program(Words{"sh", "-c", script, path(of("killed")), bigbird_binary()} + again);
    ASSERT_EQ(killed.status, 128 + 9) << killed.err;
    ASSERT_FALSE(std::filesystem::exists(path(of("killed") + "/final")));
    must(again + Words{"--resume"});
    EXPECT_TRUE(trained == weights(of("killed") + "/final"));
    EXPECT_TRUE(read_text(path(of("whole") + "/final/config.json")) ==
                read_text(path(of("killed") + "/final/config.json")));
  }

  // An encoder, promoters from it in fp32 and int8, its held-out bits and masked bases.
  static void expect_same_scores(const Words& system, const std::string& name) {
    const auto of = [&](const char* what) { return path(what + name); };
    if (!std::filesystem::exists(path("examples"))) {
      must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", path("genome/genome.fa.gz"),
            "-o", path("examples"), "--left", "500", "--right", "300"});
    }
    must(pretrain(system, "encoder" + name, {"--steps", "2"}));
    must({"promoter", "finetune", "--data", path("examples"), "--init", of("encoder") + "/final", "-o",
          of("promoters"), "--batch", "4", "--steps", "2", "--device", "cpu"});
    must({"quantize", of("promoters") + "/final", "-o", of("int8"), "--data", path("examples"), "--max-loss",
          "1", "--effect-samples", "4"});
    for (const std::string& model : {of("promoters") + "/final", of("int8")}) {
      const auto scores = [&](const char* threads, const char* batch) {
        return must({"promoter", "predict", "-m", model, "--data", path("examples/test.tsv"), "-@", threads,
                     "--batch", batch, "--device", "cpu", "--no-provenance"})
            .out;
      };
      EXPECT_EQ(scores("1", "1"), scores("2", "8")) << model;
    }
    EXPECT_EQ(must({"check", of("promoters") + "/final"}).out.find("failed"), std::string::npos);
    const RunResult evaluated = must({"evaluate", "-m", of("encoder") + "/final", "--data", path("shards"),
                                      "--samples", "8", "--device", "cpu"});
    EXPECT_TRUE(holds(evaluated.out, "bits_per_base")) << evaluated.out;
    EXPECT_FALSE(must({"fill-mask", "-m", of("encoder") + "/final", "-f", path("genome/genome.fa.gz"), "-r",
                       "chr1:1000-1100", "--device", "cpu"})
                     .out.empty());
  }

  // A reader pretrained on text and fine-tuned on classes.
  static void expect_same_classes(const Words& system) {
    write_text_task();
    must(pretrain(system, "reader", {"--steps", "2"}, "text", "pieces"));
    must({"text", "classify", "finetune", "--train", path("table.csv"), "--init", path("reader/final"), "-o",
          path("classes"), "--steps", "2", "--batch", "4", "--device", "cpu"});
    const auto scores = [&](const char* batch) {
      return must({"text", "classify", "predict", "-m", path("classes/final"), path("table.csv"),
                   "--batch-tokens", batch, "--device", "cpu", "--no-provenance"})
          .out;
    };
    EXPECT_EQ(scores("8"), scores("4k"));
  }

  // Of one chromosome, measured on the other; in both directions, and left to right.
  static void expect_less_than_unigrams(const Words& system);
};

}  // namespace bigbird::testing
