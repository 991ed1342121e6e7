// `bigbird pretrain --attention etc` as a user meets it: DNA and text whose sentences have global tokens,
// with and without hidden sentences; threads, resuming, evaluation, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/io/tables/tsv.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/network/layout.h"
#include "lib/model_folder/etc_checkpoint.h"
#include "tests/cli/text_fixture.h"
#include "tests/support/etcmodel_folder.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;

class EtcPretrain : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_tokenizer(folder_->path() / "dna_pieces");
    TinyShards shape;
    shape.longest = 12;  // a document fits a sample
    write_tiny_shards(path("dna"), folder_->path() / "dna_pieces", shape);
    shape.documents = 4;
    shape.seed = 2;
    write_tiny_shards(path("dna_valid"), folder_->path() / "dna_pieces", shape);
    std::string books;
    for (std::uint64_t d = 0; d < 40; ++d) {
      for (std::uint64_t line = 0; line < 1 + d % 12; ++line) books += tiny_text(12 * d + line) + "\n";
      books += "\n";
    }
    write("books.txt", books);
    write_tiny_text_tokenizer(folder_->path() / "text_pieces");
    must({"text", "pretrain-data", path("books.txt"), "-m", path("text_pieces"), "-o", path("text")});
    must({"text", "pretrain-data", path("books.txt"), "-m", path("text_pieces"), "-o", path("text_valid")});
  }

  static Words pretrain(const std::string& kind, const std::string& run, const Words& more) {
    return Words{"pretrain",
                 "--attention",
                 "etc",
                 "--train",
                 path(kind),
                 "-m",
                 path(kind + "_pieces"),
                 "-o",
                 path(run),
                 "--layers",
                 "1",
                 "--width",
                 "16",
                 "--heads",
                 "2",
                 "--block-size",
                 "16",
                 "--batch",
                 "4",
                 "--save-every",
                 "2",
                 "--device",
                 "cpu"} +
           more;
  }
  static std::string weights(const std::string& run) {
    return read_text(path(run + "/final/model.safetensors"));
  }
  // A row of metrics.tsv or valid.tsv; "none" for a column that is not there.
  static std::string last_of(const std::string& file, const std::string& column) {
    TsvReader table(path(file));
    std::vector<std::string_view> fields;
    std::string last = "none";
    const std::vector<std::string>& columns = table.columns();
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) return last;
    while (table.next(fields)) last = std::string(fields[table.column(column)]);
    return last;
  }
};

TEST_F(EtcPretrain, LearnsDnaAndTextWithEqualBytes) {
  for (const std::string kind : {"dna", "text"}) {
    for (const std::string cpc : {"off", "on"}) {
      const std::string run = kind + "_run_" + cpc, other = run + "_threads";
      const Words more = {"--cpc",        cpc,   "--hard-g2l", cpc,
                          "--accumulate", "2",   "--valid",    path(kind + "_valid"),
                          "--length",     "128", "--steps",    "4"};
      must(pretrain(kind, run, more + Words{"-@", "1"}));
      const std::string trained = weights(run);
      must(pretrain(kind, other, more + Words{"-@", "2"}));
      EXPECT_TRUE(trained == weights(other)) << run;
      // As if it had been killed after its first checkpoint.
      fs::remove_all(path(run + "/final"));
      fs::remove_all(path(run + "/checkpoint-4"));
      must(pretrain(kind, run, more + Words{"-@", "1", "--resume"}));
      EXPECT_TRUE(trained == weights(run)) << run;
      // The run again, from what it wrote down.
      must({"pretrain", "--config", path(run + "/config.toml"), "-o", path(run + "_again"), "-@", "1"});
      EXPECT_TRUE(trained == weights(run + "_again")) << run;

      for (const char* file : {"/metrics.tsv", "/valid.tsv"}) {
        EXPECT_NE(last_of(run + file, "mlm_loss"), "none");
        EXPECT_EQ(last_of(run + file, "nsp_loss"), "none");
        const std::string contrast = last_of(run + file, "contrast_loss");
        EXPECT_EQ(contrast == "none", cpc == "off") << run;
        EXPECT_NE(contrast, "NA") << run;
      }
      const auto result = nlohmann::json::parse(
          must({"evaluate", "-m", path(run + "/final"), "--data", path(kind), "--device", "cpu"}).out);
      EXPECT_GT(result.at("mlm_loss").get<double>(), 0.0);
      EXPECT_TRUE(result.at("nsp_loss").is_null());
    }
    EXPECT_FALSE(weights(kind + "_run_on") == weights(kind + "_run_off"));
  }
}

TEST_F(EtcPretrain, AFreshModelIsEtcmodels) {
  must(pretrain("dna", "fresh",
                {"--max-globals", "20", "--radius", "8", "--relative-distance", "3", "--length", "128",
                 "--steps", "1"}));
  const auto config = nlohmann::json::parse(read_text(path("fresh/final/config.json")));
  EXPECT_EQ(config.at("architectures").at(0), "BigBirdForMaskedLM");
  EXPECT_EQ(config.at("type_vocab_size"), 16);
  EXPECT_EQ(config.at("num_random_blocks"), 0);
  EXPECT_EQ(config.at("hidden_act"), "gelu_new");
  EXPECT_EQ(config.at("layer_norm_eps"), 1e-12);
  EXPECT_EQ(config.at("bigbird").at("positions"), "none");
  EXPECT_EQ(config.at("bigbird").at("embedding_norm"), "before-dropout");
  EXPECT_EQ(config.at("bigbird").at("attention_options").at("max_globals"), 20);
  const std::string card = read_text(path("fresh/final/README.md"));
  EXPECT_TRUE(holds(card, "transformers has no class for etc attention")) << card;
  EXPECT_TRUE(holds(card, "| tasks | masked tokens (0.15) |")) << card;
  // All that can be asked of one.
  must(pretrain("dna", "other",
                {"--relative-labels", "40", "--global-every", "8", "--projections", "by-query",
                 "--output-projection", "shared", "--feed-forward", "separate", "--hard-l2g", "on",
                 "--position-embedding", "absolute", "--length", "128", "--steps", "1"}));
  const auto other = nlohmann::json::parse(read_text(path("other/final/config.json"))).at("bigbird");
  EXPECT_EQ(other.at("positions"), "absolute");
  for (const auto& [key, value] :
       {std::pair{"projections", "by-query"}, std::pair{"output_projection", "shared"},
        std::pair{"feed_forward", "separate"}, std::pair{"hard_l2g", "on"}}) {
    EXPECT_EQ(other.at("attention_options").at(key), value);
  }
  EXPECT_EQ(other.at("attention_options").at("relative_labels"), 40);
  EXPECT_EQ(other.at("attention_options").at("global_every"), 8);
  must(pretrain("dna", "random", {"--random-blocks", "2", "--length", "128", "--steps", "1"}));
  EXPECT_EQ(nlohmann::json::parse(read_text(path("random/final/config.json"))).at("num_random_blocks"), 2);
}

TEST_F(EtcPretrain, BeginsFromAModelWithOneInputAndHasRandomBlocksWhenAsked) {
  const Words small = {"--length", "128", "--steps", "1", "--warmup", "1"};  // an update that moves nothing
  Words itc = pretrain("dna", "itc", small);
  itc[2] = "bigbird";
  must(itc);
  const std::string folder = path("itc/final");
  const auto lifted = [&](const std::string& run, const Words& more) {
    const Words words{"pretrain", "--init",    folder, "--attention",      "etc", "--radius", "8",
                      "--train",  path("dna"), "-m",   path("dna_pieces"), "-o",  path(run),  "--batch",
                      "4",        "--length",  "192",  "--steps",          "1",   "--warmup", "1"};
    return must(words + more);
  };
  const std::string said = lifted("lifted", {"--relative-init", "0"}).err;
  EXPECT_TRUE(holds(said, "a model with one input starts one with two")) << said;
  const SafetensorsFile ours(path("lifted/final/model.safetensors"));
  const SafetensorsFile theirs(folder + "/model.safetensors");
  const std::string layer = "bert.encoder.layer.0.attention.";
  for (const char* key : {"l2l_key", "g2l_key", "g2g_key", "l2g_key"})
    EXPECT_EQ(ours.floats(layer + key + ".weight"), theirs.floats(layer + "self.key.weight")) << key;
  const std::vector<float> zeros = ours.floats(layer + "long_relative.weight");
  EXPECT_TRUE(std::all_of(zeros.begin(), zeros.end(), [](float value) { return value == 0.0f; }));
  lifted("wide", {"--random-blocks", "1"});
  const SafetensorsFile wide(path("wide/final/model.safetensors"));
  EXPECT_NE(wide.floats(layer + "long_relative.weight"), zeros);
  const auto config = nlohmann::json::parse(read_text(path("wide/final/config.json")));
  EXPECT_EQ(config.at("num_random_blocks"), 1);
  EXPECT_EQ(config.at("max_position_embeddings"), 192);
}

// A folder of BigBird-ETC goes through the verbs that take any model.
TEST_F(EtcPretrain, OtherVerbsTakeItsFolder) {
  Words itc = pretrain("dna", "itc2", {"--length", "128", "--steps", "1"});
  itc[2] = "bigbird";
  must(itc);
  must(pretrain("dna", "verbs", {"--radius", "8", "--global-every", "8", "--length", "128", "--steps", "1"}));
  const std::string folder = path("verbs/final");
  EXPECT_TRUE(holds(must({"info", folder}).out, "etc"));
  must({"check", folder});
  must({"convert", folder, path("verbs16"), "--dtype", "bf16"});
  write("one.fa", ">a\nACGTACGTTTGACCAGTACGATCGATCGACTAGCTACGATCAGC\n>b\nACGTAGGT\n");
  const auto vectors = [&](const std::string& model, const char* threads, const std::string& name) {
    must({"embed", "-m", model, path("one.fa"), "-o", path(name), "-@", threads, "--no-provenance"});
    return read_text(path(name));
  };
  const std::string one = vectors(folder, "1", "one.npy");
  EXPECT_EQ(one, vectors(folder, "2", "two.npy"));
  // Whatever else is in the call.
  must({"embed", "-m", folder, path("one.fa"), "-o", path("each.npy"), "--batch-tokens", "1",
        "--no-provenance"});
  EXPECT_EQ(one, read_text(path("each.npy")));
  EXPECT_TRUE(holds(must({"bench", "-m", folder, "--seconds", "0", "--device", "cpu"}).out, "training step"));
  // From one input to two, and the copies compute something.
  must({"convert", path("itc2/final"), path("lifted2"), "--attention", "etc", "--radius", "8"});
  vectors(path("lifted2"), "2", "lifted.npy");
}

// What is stored of each option that decides on no tensor's shape; the others are refused for a folder of
// another shape, and taken for a fresh model.
TEST_F(EtcPretrain, EveryOptionReachesTheModel) {
  must(pretrain("dna", "options",
                {"--radius",
                 "8",
                 "--relative-distance",
                 "3",
                 "--relative-labels",
                 "11",
                 "--max-globals",
                 "20",
                 "--global-every",
                 "16",
                 "--projections",
                 "by-query",
                 "--output-projection",
                 "shared",
                 "--feed-forward",
                 "separate",
                 "--hard-g2l",
                 "on",
                 "--hard-l2g",
                 "on",
                 "--cpc",
                 "on",
                 "--length",
                 "128",
                 "--steps",
                 "1"}));
  const auto options = [&](const std::string& folder) {
    return nlohmann::json::parse(read_text(path(folder + "/config.json")))
        .at("bigbird")
        .at("attention_options");
  };
  const auto fresh = options("options/final");
  EXPECT_EQ(fresh.at("relative_labels"), 11);
  EXPECT_EQ(fresh.at("projections"), "by-query");
  EXPECT_EQ(fresh.at("output_projection"), "shared");
  EXPECT_EQ(fresh.at("feed_forward"), "separate");
  EXPECT_EQ(fresh.at("hard_l2g"), "on");
  must({"convert", path("options/final"), path("others"), "--attention", "etc", "--max-globals", "30",
        "--global-every", "8", "--hard-g2l", "off", "--hard-l2g", "off", "--relative-distance", "4"});
  const auto converted = options("others");
  EXPECT_EQ(converted.at("max_globals"), 30);
  EXPECT_EQ(converted.at("global_every"), 8);
  EXPECT_EQ(converted.at("hard_g2l"), "off");
  EXPECT_EQ(converted.at("relative_distance"), 4);
  EXPECT_EQ(converted.at("radius"), 8);
  const auto of_another_shape = [&](const std::string& option, const std::string& value) {
    refused({"convert", path("options/final"), path("no"), "--attention", "etc", option, value}, 1, "tensor");
  };
  of_another_shape("--relative-labels", "20");
  of_another_shape("--projections", "separate");
  of_another_shape("--output-projection", "separate");
  // What is left over is warned of, what is missing refused.
  must({"convert", path("options/final"), path("fewer"), "--attention", "etc", "--feed-forward", "shared",
        "--cpc", "off"});
  EXPECT_EQ(options("fewer").at("cpc"), "off");
  const std::string graph = must({"attention", "--attention",
                                  "etc",       "--length",
                                  "128",       "--radius",
                                  "8",         "--relative-distance",
                                  "3",         "--relative-labels",
                                  "11",        "--max-globals",
                                  "20",        "--global-every",
                                  "16",        "--projections",
                                  "shared",    "--output-projection",
                                  "shared",    "--feed-forward",
                                  "separate",  "--hard-g2l",
                                  "off",       "--hard-l2g",
                                  "off",       "--cpc",
                                  "off"})
                                .out;
  EXPECT_FALSE(graph.empty());
}

// A folder of etcmodel is a model folder to every verb.
TEST_F(EtcPretrain, AFolderOfEtcmodelIsReadAsItIs) {
  ModelConfig config = parse_etc_config(
      R"({"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
          "intermediate_size": 12, "local_radius": 3, "relative_pos_max_distance": 2, "relative_vocab_size": 12,
          "share_qkv_projections": false, "use_hard_g2l_mask": true})",
      "etc_config.json");
  const fs::path folder = path("etcmodel");
  fs::create_directories(folder);
  write_etcmodel(folder, config, initial_parameters(ParameterLayout(config), config, 3));
  const auto told = nlohmann::json::parse(must({"info", "--json", folder.string()}).out);
  EXPECT_EQ(told.at("dialect"), "etcmodel");
  EXPECT_EQ(told.at("head"), "encoder");
  must({"check", folder.string()});
  must({"convert", folder.string(), path("of_etcmodel")});
  const auto options =
      nlohmann::json::parse(read_text(path("of_etcmodel/config.json"))).at("bigbird").at("attention_options");
  EXPECT_EQ(options.at("hard_g2l"), "on");
  // What is empty or cut short is named.
  write("etcmodel/model.ckpt.index", "");
  refused({"info", folder.string()}, 1, "model.ckpt.index: 0 bytes, too few for a footer");
  write("etcmodel/etc_config.json", "");
  refused({"info", folder.string()}, 1, "etc_config.json");
}

TEST_F(EtcPretrain, WhatItCannotBeIsRefusedInOneLine) {
  const auto no = [&](const Words& more, const char* what) {
    refused(pretrain("dna", "no", more + Words{"--length", "128", "--steps", "1"}), 2, what);
  };
  no({"--norm", "prenorm"}, "attention etc with other LayerNorms than BERT's");
  no({"--position-embedding", "rotary"}, "attention etc has no rotary positions");
  no({"--no-mlm"}, "--no-mlm leaves nothing to learn by attention etc");
  no({"--cpc", "often"}, "--cpc: 'often' is none of its values");
  refused({"pretrain", "--train", path("dna"), "-m", path("dna_pieces"), "-o", path("no"),
           "--position-embedding", "none"},
          2, "attention bigbird without positions");
  EXPECT_FALSE(fs::exists(path("no")));
}

TEST_F(EtcPretrain, SamplesWithoutSentencesToHideAreSaid) {
  // Of 6 to 12 tokens a sentence, two of which fit a sample.
  const Words shape = {"--cpc", "on", "--length", "16", "--steps", "1", "--warmup", "0"};
  const std::string said = "nothing to learn in them";
  EXPECT_TRUE(holds(must(pretrain("dna", "short", shape)).err, said));
  EXPECT_EQ(last_of("short/metrics.tsv", "contrast_loss"), "NA");
  EXPECT_FALSE(
      holds(must(pretrain("dna", "long", {"--cpc", "on", "--length", "128", "--steps", "1"})).err, said));
}

}  // namespace
}  // namespace bigbird::testing
