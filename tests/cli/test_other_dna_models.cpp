// Models for DNA of other programs, from their own folders through the verbs: Nucleotide Transformer in both
// versions (transformers' esm) and DNABERT. tests/golden holds their numbers against transformers.
#include <cmath>

#include "lib/io/weights/safetensors.h"
#include "lib/model/network/layout.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "tests/cli/variants_fixture.h"
#include "tests/support/kmers.h"

namespace bigbird::testing {
namespace {

// A folder as its publisher's program leaves it, of random weights.
void write_foreign_model(const std::filesystem::path& folder, const std::string& vocabulary,
                         const std::string& tokenizer, const std::string& config_text) {
  std::filesystem::create_directories(folder);
  write_text(folder / "vocab.txt", vocabulary);
  write_text(folder / "tokenizer_config.json", tokenizer);
  write_text(folder / "config.json", config_text);
  ModelConfig config = parse_config(translated_config(config_text, "config.json"), "config.json");
  config.initializer_range = 0.4;
  const ParameterLayout layout(config);
  const std::vector<float> values = initial_parameters(layout, config, 5);
  const Dialect dialect = dialect_of(config_text, "config.json");
  std::vector<TensorToWrite> tensors;
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.name.starts_with("bert.pooler.")) continue;
    tensors.push_back(
        {stored_name(spec.name, config, dialect), TensorType::f32, spec.shape, values.data() + spec.offset});
  }
  write_safetensors((folder / "model.safetensors").string(), tensors);
}

constexpr const char* sizes =
    R"("hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
       "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "layer_norm_eps": 1e-12,)";
constexpr const char* esm_tokenizer =
    R"({"tokenizer_class": "EsmTokenizer", "cls_token": "<cls>", "pad_token": "<pad>", "mask_token": "<mask>",
        "unk_token": "<unk>", "eos_token": null, "model_max_length": 200})";

class OtherDnaModels : public VariantsFixture {
 protected:
  static void SetUpTestSuite() {
    VariantsFixture::SetUpTestSuite();
    const std::string kmers = "<unk>\n<pad>\n<mask>\n<cls>\n" + every_kmer(3) + "A\nT\nC\nG\nN";
    write_foreign_model(folder_->path() / "nt1", kmers, esm_tokenizer,
                        std::string(R"({"architectures": ["EsmForMaskedLM"], "model_type": "esm",)") + sizes +
                            R"("vocab_size": 73, "pad_token_id": 1, "mask_token_id": 2, "token_dropout": true,
                               "max_position_embeddings": 202, "position_embedding_type": "rotary",
                               "emb_layer_norm_before": false, "tie_word_embeddings": false})");
    write_foreign_model(
        folder_->path() / "nt2", kmers + "\n<eos>\n<bos>", esm_tokenizer,
        std::string(R"({"architectures": ["EsmForMaskedLM"],)") + sizes +
            R"("vocab_size": 75, "pad_token_id": 1, "mask_token_id": 2, "token_dropout": false,
                               "max_position_embeddings": 202, "position_embedding_type": "rotary",
                               "add_bias_fnn": false, "tie_word_embeddings": false})");
    write_foreign_model(folder_->path() / "dnabert", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + every_kmer(3),
                        R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})",
                        std::string(R"({"architectures": ["BertForMaskedLM"], "model_type": "bert",)") +
                            sizes +
                            R"("vocab_size": 69, "pad_token_id": 0, "max_position_embeddings": 128,
                               "type_vocab_size": 2})");
  }
};

const char* const foreign_models[] = {"nt1", "nt2", "dnabert"};

TEST_F(OtherDnaModels, AreReadByTheVerbsOfLanguageModels) {
  write_text(path("bins.bed"), "chr1\t100\t220\tb1\nchr1\t300\t391\tb2\n");
  for (const char* model : foreign_models) {
    SCOPED_TRACE(model);
    must({"check", path(model)});
    EXPECT_NE(must({"info", path(model)}).out.find("DNA"), std::string::npos);
    must({"embed", "-m", path(model), "-R", path("bins.bed"), "-f", path("genome.fa"), "--pool", "token",
          "-o", path("tokens.npy")});
    const auto tokens = read_table(file("tokens.rows.tsv"));
    // Pieces of three bases one behind the other, or one at every base.
    EXPECT_EQ(tokens.size(), std::string(model) == "dnabert" ? 118u + 89u : 40u + 31u);
    EXPECT_EQ(tokens[0].at("piece"), genome().at("chr1").substr(100, 3));
    const auto filled = read_table(
        must({"fill-mask", "-m", path(model), "-f", path("genome.fa"), "-r", "chr1:101-190", "--top", "3"})
            .out);
    EXPECT_GE(filled.size(), 30u);
    const auto scored = read_table(must({"variants", "-m", path(model), "-f", path("genome.fa"),
                                         path("in.vcf"), "--window", "80", "-O", "tsv", "--no-provenance"})
                                       .out);
    std::size_t numbers = 0;
    for (const auto& row : scored) {
      if (row.at("skip") != "NA") continue;
      EXPECT_TRUE(std::isfinite(std::stod(row.at("lm_llr"))));
      ++numbers;
    }
    EXPECT_GE(numbers, 40u);
  }
}

TEST_F(OtherDnaModels, AreWrittenFineTunedAndMadeInt8) {
  std::string positives, negatives;
  for (int i = 0; i < 12; ++i) {
    const auto at = static_cast<std::size_t>(400 + 60 * i);
    positives += ">p" + std::to_string(i) + "\n" + genome().at("chr1").substr(at, 90) + "\n";
    negatives += ">n" + std::to_string(i) + "\n" + genome().at("chr1").substr(at + 3000, 90) + "\n";
  }
  write_text(path("p.fa"), positives);
  write_text(path("q.fa"), negatives);
  for (const char* model : foreign_models) {
    SCOPED_TRACE(model);
    const std::string name = path(model);
    must({"convert", name, name + ".copy"});
    must({"check", name + ".copy"});
    // Transformers' esm holds the first version alone.
    const bool first = std::string(model) == "nt1";
    EXPECT_EQ(read_text(name + ".copy/config.json").find("\"model_type\": \"esm\"") != std::string::npos,
              first);
    EXPECT_EQ(read_text(name + ".copy/vocab.txt"), read_text(name + "/vocab.txt"));
    EXPECT_EQ(read_text(name + ".copy/tokenizer_config.json"), read_text(name + "/tokenizer_config.json"));
    const std::vector<std::string> score = {
        "variants",        "-f", path("genome.fa"), path("in.vcf"), "--window", "80", "-O", "tsv",
        "--no-provenance", "-m"};
    std::vector<std::string> original = score, copied = score;
    original.push_back(name);
    copied.push_back(name + ".copy");
    EXPECT_EQ(must(original).out, must(copied).out);

    must({"promoter", "finetune", "--train", path("p.fa"), "--train-negatives", path("q.fa"), "--init", name,
          "-o", name + ".run", "--batch", "4", "--steps", "3"});
    const auto rows = read_table(
        must({"promoter", "predict", "-m", name + ".run/final", path("p.fa"), "--no-provenance"}).out);
    EXPECT_EQ(rows.size(), 12u);
    must({"convert", name + ".run/final", name + ".tuned"});
    must({"check", name + ".tuned"});
    // From zeros every sequence of as many tokens begins alike, whatever token dropout makes of words.
    const auto baseline = [&](const char* region) {
      const std::string log =
          must({"attribute", "-m", name + ".run/final", "-f", path("genome.fa"), "-r", region, "--strands",
                "+", "--method", "integrated-gradients", "--window", "90", "--ig-baseline", "zero",
                "--ig-steps", "2", "-o", path("values.bw")})
              .err;
      const std::size_t at = log.find("of the baseline");
      return at == std::string::npos ? log : log.substr(at, log.find(';', at) - at);
    };
    EXPECT_EQ(baseline("chr1:401-490"), baseline("chr1:1001-1090"));
    EXPECT_TRUE(baseline("chr1:401-490").starts_with("of the baseline"));
    // Its own head reads the first token alone; another one is taken for the mean of all.
    must({"promoter", "finetune", "--train", path("p.fa"), "--train-negatives", path("q.fa"), "--init", name,
          "-o", name + ".mean", "--batch", "4", "--steps", "2", "--pool", "mean"});
    must({"promoter", "predict", "-m", name + ".mean/final", path("p.fa")});
    refused({"promoter", "finetune", "--train", path("p.fa"), "--train-negatives", path("q.fa"), "--init",
             name + ".run/final", "-o", name + ".other", "--batch", "4", "--steps", "2", "--pool", "mean"},
            1, "pooling mean of a head that reads one row");
  }
}

TEST_F(OtherDnaModels, GoOnLearningOnAnotherGenome) {
  must({"chunk", "-f", path("genome.fa"), "--chromosomes", "all", "-o", path("documents.bed")});
  for (const char* model : foreign_models) {
    SCOPED_TRACE(model);
    const std::string name = path(model);
    must({"tokenize", "-m", name, "-f", path("genome.fa"), "-d", path("documents.bed"), "-o",
          name + ".shards"});
    std::vector<std::string> words = {
        "pretrain", "-m", name,      "--init", name,       "--train", name + ".shards", "-o", name + ".more",
        "--steps",  "3",  "--batch", "2",      "--length", "80"};
    if (std::string(model) != "dnabert") refused(words, 1, "a vocabulary that has no [SEP]");
    words.push_back("--no-nsp");
    must(words);
    const std::string config = read_text(name + ".more/final/config.json");
    EXPECT_EQ(config.find("\"model_type\": \"esm\"") != std::string::npos, std::string(model) == "nt1");
    must({"evaluate", "-m", name + ".more/final", "--data", name + ".shards", "--no-nsp", "--samples", "4"});
  }
}

TEST_F(OtherDnaModels, WhatTheyCannotDoIsRefused) {
  // One vocabulary has a piece for N, the other reads it as unknown, and says so.
  for (const char* model : {"nt1", "dnabert"}) {
    const std::string log = must({"variants", "-m", path(model), "-f", path("genome.fa"), path("in.vcf"),
                                  "--window", "80", "--max-n", "0.9", "-o", path("n.tsv"), "--force"})
                                .err;
    EXPECT_EQ(log.find("are read as [UNK]") != std::string::npos, std::string(model) == "dnabert") << log;
  }
  write_text(path("long.fa"), ">x\n" + genome().at("chr1").substr(0, 900) + "\n");
  refused({"embed", "-m", path("nt1"), "-o", path("x.npy"), path("long.fa")}, 1, "301 tokens with [CLS]");
  refused({"variants", "-m", path("nt2"), "-f", path("genome.fa"), path("in.vcf"), "--window", "700"}, 1,
          "takes 200");
  refused({"convert", path("nt2"), path("gena"), "--to-dialect", "gena"}, 1,
          "cannot hold gated feed-forward");
  std::filesystem::create_directories(path("hyena"));
  write_text(path("hyena/config.json"),
             R"({"model_type": "hyenadna", "architectures": ["HyenaDNAForCausalLM"]})");
  write_text(path("hyena/model.safetensors"), file("nt1/model.safetensors"));
  refused({"embed", "-m", path("hyena"), "-o", path("x.npy"), path("long.fa")}, 1,
          "model_type hyenadna is not read");
  std::filesystem::create_directories(path("dnabert2"));
  write_text(path("dnabert2/config.json"),
             R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "alibi_starting_size": 512})");
  write_text(path("dnabert2/model.safetensors"), file("nt1/model.safetensors"));
  refused({"embed", "-m", path("dnabert2"), "-o", path("x.npy"), path("long.fa")}, 1, "a BERT with ALiBi");
}

}  // namespace
}  // namespace bigbird::testing
