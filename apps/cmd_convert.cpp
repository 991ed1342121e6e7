// bigbird convert: a model folder of any kind that is read, written as one of ours.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/folder/model_card.h"
#include "lib/model/folder/self_test.h"
#include "lib/tasks/calibration_file.h"
#include "lib/tasks/model_task.h"
#include "lib/tasks/probabilities.h"
#include "lib/tasks/text/summarize/generation_defaults.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<TensorType, const char*>, 3> weight_type_names{
    {{TensorType::f32, "fp32"}, {TensorType::bf16, "bf16"}, {TensorType::f16, "fp16"}}};

// One line about the tokenizer that is copied; the digest goes into the config. A tokenizer that this program
// cannot read is copied as it is.
std::string take_tokenizer(const std::string& folder, ModelConfig& config) {
  if (tokenizer_files(folder).empty()) {
    log_warning(folder + ": no tokenizer is there to be copied");
    return {};
  }
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = load_tokenizer(folder);
  } catch (const Error& error) {
    log_warning(error.message() + "; its files are copied as they are");
    return "copied, not understood by bigbird";
  }
  check_tokenizer_agrees(config, static_cast<std::int64_t>(tokenizer->vocab_size()), tokenizer->digest(),
                         folder, folder);
  config.tokenizer_digest = tokenizer->digest();
  return fmt::format("{}, {} pieces, sha256 {}", tokenizer->is_dna() ? "DNA" : "text",
                     tokenizer->vocab_size(), tokenizer->digest());
}

// A calibration goes along with weights of the same values, whose digest it then names; of others it says
// nothing.
void take_calibration(const std::string& from, const std::string& to, bool same_model,
                      const ModelConfig& config) {
  std::optional<Calibration> calibration = read_calibration(from, outputs_of(config));
  if (!calibration) return;
  if (!same_model || calibration->weights != weights_digest(from)) {
    log_warning(
        fmt::format("{}: is not copied, for it is of other weights or another plan; calibrate the new model",
                    calibration_path(from)));
    return;
  }
  calibration->weights = weights_digest(to);
  write_calibration(to, *calibration);
}

}  // namespace

int cmd_convert(int argc, char** argv) {
  Verb verb("convert", "Write a model folder anew: other weights format, number type, dialect or plan.",
            {"bigbird convert google-bigbird-base model", "bigbird convert gena-lm-sparse model --dtype bf16",
             "bigbird convert bert-base-uncased warm-start", "bigbird convert model gena --to-dialect gena"});
  std::string from, to, dtype = "fp32", dialect = "hf";
  LoadOptions load;
  CLI::App& app = verb.app();
  app.add_option("FROM", from,
                 "Model folder: config.json with model.safetensors or pytorch_model.bin, whole or in shards; "
                 "BigBird, BigBird-Pegasus, GENA-LM, BERT or RoBERTa")
      ->required();
  app.add_option("TO", to, "Model folder to write")->required();
  app.add_option("--dtype", dtype, "Numbers of the weights: fp32, bf16 or fp16")->capture_default_str();
  app.add_option("--to-dialect", dialect, "hf (Hugging Face's, and ours) or gena (GENA-LM's own code)")
      ->capture_default_str();
  app.add_option("--plan", load.plan_file, "Attention plan (JSON) instead of the model's own");
  app.add_option("--allow-missing", load.allow_missing,
                 "Tensors that may be missing and then start from random values, as a pattern: 'cls.*'")
      ->type_name("PATTERN");
  app.add_flag("--allow-nan", load.allow_nan, "Take NaN and infinities as they are");
  verb.add_seed();
  verb.add_threads();
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;
  stop_anywhere(true);
  load.seed = verb.seed();
  WriteOptions write;
  write.type = parse_name(weight_type_names, dtype, "type that weights are written in");
  write.dialect = parse_written_dialect(dialect);

  AtomicFolder folder(to, verb.force());
  LoadedModel model = load_model(from, load);
  Conversion conversion{from,        verb.provenance() ? verb.command() : "", {},
                        model.notes, take_tokenizer(from, model.config),      write};
  Provenance provenance{bigbird_version(), verb.command(), verb.seed(), {}, {}};
  for (const std::string& file : model.files) {
    provenance.inputs.push_back({"weights", file, sha256_file(file)});
    conversion.source_files.push_back(fmt::format("`{}` (sha256 {})", file, provenance.inputs.back().sha256));
  }
  if (verb.provenance()) write.metadata["provenance"] = provenance_json(provenance);
  write_model_files(folder.path(), model.config, ParameterLayout(model.config), model.parameters, from,
                    model_card(converted_card(model.config, conversion)), write);
  for (const std::string& name : model_task_file_names()) {
    const std::string file = from + "/" + name;
    if (file_exists(file)) write_text_atomic(folder.file(name), read_file(file));
  }
  if (model.config.has_decoder()) {
    if (const std::string search = generation_config_text(from); !search.empty())
      write_text_atomic(folder.file("generation_config.json"), search);
  }
  bool same_model = load.plan_file.empty() && load.allow_missing.empty();
  // What was rounded is what the self-test has to see.
  if (write.type != TensorType::f32) {
    LoadOptions again;
    again.allow_nan = load.allow_nan;
    LoadedModel rounded = load_model(folder.path(), again);
    same_model = same_model && rounded.parameters == model.parameters;
    model = std::move(rounded);
  }
  take_calibration(from, folder.path(), same_model, model.config);
  const auto backend = kernels::make_cpu_backend();
  write_self_test(folder.path(), run_self_test(*backend, model.config, model.parameters));
  folder.commit();
  verb.set_throughput(static_cast<double>(model.parameters.size()), "parameters");
  return 0;
}

}  // namespace bigbird::apps
