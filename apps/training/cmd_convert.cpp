// bigbird convert: a model folder of any kind that is read, written as one of ours.
#include <array>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "lib/core/cancel.h"
#include "lib/core/names.h"
#include "lib/model_folder/model_names.h"
#include "lib/quantization/convert.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<TensorType, const char*>, 3> weight_type_names{
    {{TensorType::f32, "fp32"}, {TensorType::bf16, "bf16"}, {TensorType::f16, "fp16"}}};

// The decoder that an encoder gets: of its own weights, or coupled to the encoder's.
constexpr std::array<std::pair<bool, const char*>, 2> decoder_names{{{false, "new"}, {true, "coupled"}}};

struct ConvertCommand {
  ConvertOptions options;
  std::string dtype = "fp32", dialect = "hf", decoder;
};

void add_options(Verb& verb, ConvertCommand& typed) {
  verb.add_required(
      "FROM", typed.options.from,
      "Model folder: config.json with model.safetensors or pytorch_model.bin, whole or in shards; "
      "BigBird, BigBird-Pegasus, Longformer, LED, GENA-LM, BERT, RoBERTa, Pegasus or etcmodel (ETC)");
  verb.add_required("TO", typed.options.to, "Model folder to write");
  verb.add_option("--dtype", typed.dtype, "Numbers of the weights: fp32, bf16 or fp16");
  verb.add_option("--to-dialect", typed.dialect,
                  "Dialect: hf (Hugging Face's, and ours) or gena (GENA-LM's own code)");
  verb.add_random_mode();
  verb.add_attention();
  verb.add_option("--decoder", typed.decoder,
                  "Decoder for an encoder, to be trained: new (layers like the encoder's, all random) or "
                  "coupled (the encoder's own layers, only attention to the document random)");
  verb.with_word(verb.add_count("--max-positions", typed.options.load.positions,
                                "Rows of the position table, of a model made of an original Pegasus, whose "
                                "sinusoids go on, or of a BERT or RoBERTa, whose positions are repeated "
                                "(default: as many as it has; 8 times as many of a BERT or RoBERTa that gets "
                                "other attention)",
                                CLI::NonNegativeNumber),
                 "auto", "0");
  verb.add_option("--tokenizer", typed.options.tokenizer,
                  "Tokenizer folder that is copied (default: the model's own)");
  verb.add_option("--allow-missing PATTERN", typed.options.load.allow_missing,
                  "Tensors that may be missing and then start from random values, as a pattern: 'cls.*'");
  verb.add_flag("--allow-nan", typed.options.load.allow_nan, "Accept NaN and infinities");
  verb.add_seed();
  verb.add_threads();
  verb.add_force();
}

}  // namespace

int cmd_convert(int argc, char** argv) {
  Verb verb("convert", "Write a model folder anew: other weights format, number type, dialect or attention.",
            {"bigbird convert demo-output/pretrain/final half --dtype bf16",
             ("bigbird attention --length 128 --block-size 8 --heads 4 --random-mode hf-train --output "
              "gena-plan.json && bigbird convert demo-output/pretrain/final gena --to-dialect gena "
              "--plan gena-plan.json"),
             "bigbird convert hf:google/bigbird-roberta-base model",
             "bigbird convert bert-base-uncased warm-start --attention bigbird",
             "bigbird convert bert-base-uncased sparse --attention sparse-fixed --stride 256",
             "bigbird convert roberta-base longformer --attention longformer --max-positions 4096",
             "bigbird convert bigbird-roberta-base summarizer --decoder coupled",
             "bigbird convert pegasus-large summarizer --max-positions 4096 --tokenizer bigbird-pegasus"});
  ConvertCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  stop_anywhere(true);
  ConvertOptions& options = typed.options;
  options.from = model_folder_of(options.from);
  options.load.seed = verb.seed();
  options.load.plan_file = verb.random_mode().plan();
  options.other_plan = verb.random_mode().given() || verb.attention().given();
  options.write.type = parse_name(weight_type_names, typed.dtype, "type that weights are written in");
  options.write.dialect = parse_written_dialect(typed.dialect);
  if (!typed.decoder.empty()) options.coupled_decoder = parse_name(decoder_names, typed.decoder, "decoder");
  options.replace = verb.force();
  options.with_provenance = verb.provenance();
  options.provenance = verb.made_from();
  const ConvertedFolder converted = convert_folder(options);
  if (!converted.origins.empty()) write_output("-", converted.origins);
  verb.set_throughput(static_cast<double>(converted.parameters), "parameters");
  return 0;
}

}  // namespace bigbird::apps
