// `bigbird quantize`: a model folder whose linear layers are int8, but for those that would lose most.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/quantization_data.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/folder/config_json.h"
#include "lib/model/folder/model_card.h"
#include "lib/model/folder/open_model.h"
#include "lib/model/folder/self_test.h"
#include "lib/model/network/linear_layers.h"
#include "lib/tasks/calibration_file.h"
#include "lib/tasks/model_task.h"
#include "lib/tasks/quantize.h"
#include "lib/tasks/sequence_runner.h"
#include "lib/tasks/text/text_settings.h"
#include "lib/tasks/windows.h"
#include "lib/training/evaluator.h"

namespace bigbird::apps {
namespace {

struct QuantizeCommand {
  std::string model, output, data, fasta, keep = "auto";
  std::optional<double> max_loss;
  std::int64_t sample = 64;
  std::uint64_t most_examples = 0;
  std::uint64_t seed = 1;
};

// Measures a model with these layers in int8 against the model before.
using Measure = std::function<QuantizationLoss(const LayerChoice& choice)>;

void require_quantizable(const ModelFolder& folder) {
  const ModelConfig& config = folder.config();
  if (config.quantization != nullptr)
    throw_bad_input(folder.path() + ": its layers are int8 already",
                    "quantize the model that it was made of");
  if (config.head != HeadType::classification && !config.has_mlm()) {
    throw_bad_input(fmt::format("{}: the model's head is {}", folder.path(), name_of(config.head)),
                    "quantize a classifier, or a model that predicts masked tokens");
  }
}

std::optional<std::size_t> parse_keep(const std::string& text, std::size_t layers) {
  if (text == "auto") return std::nullopt;
  const bool number =
      !text.empty() && text.size() < 9 &&
      std::all_of(text.begin(), text.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
  const std::size_t keep = number ? std::stoul(text) : layers;
  if (keep >= layers) {
    throw_usage(fmt::format("--keep {}: neither auto nor a number of layers below {}", text, layers),
                "the model has that many linear layers");
  }
  return keep;
}

// A model whose layers are tried in int8.
std::unique_ptr<Model> model_to_try(const LoadedModel& loaded, const BatchLimits& limits,
                                    kernels::Backend& backend) {
  const auto of_any = [&](const ModelConfig&) { return limits; };
  return open_model(loaded.config, loaded.parameters, {.backend = backend, .limits = of_any, .packs = false});
}

// Sampled windows of a classifier, each with the same window and another base in its middle.
class WindowSample {
 public:
  WindowSample(const FinetunedModel& model, const LoadedModel& loaded,
               const std::vector<std::string>& windows, kernels::Backend& backend)
      : config_(loaded.config) {
    BatchLimits limits;
    for (const std::string& window : windows) {
      std::string other = window;
      char& base = other[other.size() / 2];
      base = base == 'A' ? 'C' : base == 'C' ? 'G' : base == 'G' ? 'T' : 'A';
      Batch& pair = pairs_.emplace_back();
      append(model, window, pair);
      append(model, other, pair);
      limits.tokens = std::max(limits.tokens, pair.tokens());
      for (std::size_t i = 0; i < 2; ++i)
        limits.longest = std::max(limits.longest, pair.token_offsets[i + 1] - pair.token_offsets[i]);
    }
    limits.sequences = 2;
    network_ = model_to_try(loaded, limits, backend);
  }

  // Single layers are told apart by a quarter of the windows.
  std::vector<LayerError> layer_errors() const {
    return bigbird::layer_errors(*network_, (pairs_.size() + 3) / 4,
                                 [&](std::size_t i) { return pairs_[4 * i]; });
  }
  double effects(const std::vector<std::string>& layers) const {
    return effect_correlation(
        *network_, pairs_.size(), [&](std::size_t i) { return pairs_[i]; }, layers);
  }

 private:
  void append(const FinetunedModel& model, const std::string& window, Batch& pair) const {
    std::vector<std::int32_t> ids;
    encode_window(model.folder().tokenizer(), window, most_tokens(config_), ids);
    pair.append(ids, {}, config_.block_size, static_cast<std::int32_t>(config_.pad_token_id),
                config_.input_length);
  }

  const ModelConfig& config_;
  std::vector<Batch> pairs_;
  std::unique_ptr<Model> network_;
};

std::vector<std::string> names_of(const std::vector<LayerError>& layers) {
  std::vector<std::string> names;
  for (const LayerError& layer : layers) names.push_back(layer.layer);
  return names;
}

// Writes everything but what was measured, which config.json gets at last.
void write_folder(const std::string& to, const ModelFolder& from, const LoadedModel& loaded,
                  const ModelConfig& config, const std::string& command, const WriteOptions& write,
                  const std::vector<std::string>& notes) {
  std::vector<float> parameters = loaded.parameters;
  const ParameterLayout layout(config);
  const std::vector<LayerError>& int8 = config.quantization->int8;
  for (const LinearLayer& layer : linear_layers(config)) {
    const bool listed =
        std::any_of(int8.begin(), int8.end(), [&](const LayerError& one) { return one.layer == layer.name; });
    if (listed) round_to_int8(layer, layout, parameters.data());
  }
  Conversion conversion{from.path(), command, {}, notes, "", write};
  for (const std::string& file : loaded.files) conversion.source_files.push_back("`" + file + "`");
  WriteOptions written = write;
  written.tokenizer = tokenizer_options(read_text_settings(from.path()));
  write_model_files(to, config, layout, parameters, from.has_tokenizer() ? from.path() : "",
                    model_card(converted_card(config, conversion)), written);
  for (const std::string& name : model_task_file_names()) {
    const std::string file = from.path() + "/" + name;
    if (file_exists(file)) write_text_atomic(to + "/" + name, read_file(file));
  }
}

// The number of layers that stay: as asked for, or from the outliers on twice as many as long as the loss is
// above what is allowed or effects of substitutions are ranked otherwise, half of them at most.
// Error{bad_input} when the loss stays there.
ModelConfig choose_and_measure(const QuantizeCommand& options, ModelConfig config,
                               const std::vector<LayerError>& errors, const Measure& measure) {
  const std::optional<std::size_t> asked = parse_keep(options.keep, errors.size());
  const std::size_t most = asked.value_or(errors.size() / 2);
  for (std::size_t keep = asked.value_or(outlying_layers(errors));;
       keep = std::max<std::size_t>(1, 2 * keep)) {
    keep = std::min(keep, most);
    LayerChoice choice = choose_layers(errors, keep);
    const QuantizationLoss loss = measure(choice);
    log_info(
        fmt::format("{} of {} layers int8: {} {:.6g} before, {:.6g} with int8, loss {:.3g}, allowed {:g}",
                    choice.int8.size(), errors.size(),
                    loss.measure == "auroc" ? "mean AUROC" : "nats for each masked token", loss.full,
                    loss.quantized, loss.loss, loss.most));
    if (loss.effects) {
      log_info(fmt::format("effects of substitutions: rank correlation {:.4f} with those of before",
                           *loss.effects));
    }
    const bool agrees = !loss.effects || *loss.effects >= least_effect_correlation;
    if (loss.loss <= loss.most && (agrees || keep == most)) {
      if (!agrees) {
        log_warning(
            fmt::format("effects of substitutions have a rank correlation of {:.4f} with those of before: "
                        "for variants keep more layers with --keep",
                        *loss.effects));
      }
      Quantization found = *config.quantization;
      found.int8 = std::move(choice.int8);
      found.kept = std::move(choice.kept);
      found.measured = loss;
      config.quantization = std::make_shared<const Quantization>(std::move(found));
      return config;
    }
    if (keep == most) {
      throw_bad_input(
          fmt::format("{}: with {} of {} layers in int8 it loses {:.3g} ({}), more than {:g}", options.model,
                      choice.int8.size(), errors.size(), loss.loss,
                      loss.measure == "auroc" ? "of the mean AUROC" : "nats of divergence", loss.most),
          asked ? "keep more layers with --keep, or allow more with --max-loss"
                : "--keep N keeps more than half of the layers, --max-loss allows more");
    }
  }
}

std::string layer_table(const Quantization& found, const std::vector<LayerError>& errors) {
  std::string text = "#layer\tform\terror\n";
  for (const LayerError& layer : errors) {
    const bool kept = std::find(found.kept.begin(), found.kept.end(), layer) != found.kept.end();
    text += fmt::format("{}\t{}\t{:.6g}\n", layer.layer, kept ? "kept" : "int8", layer.error);
  }
  return text;
}

}  // namespace

int cmd_quantize(int argc, char** argv) {
  Verb verb(
      "quantize",
      "Write a model whose linear layers are int8, for scoring on processors; measured against the model "
      "that it is made of, and refused when it loses too much.",
      {"bigbird quantize promoter-run/final -o promoter-int8 --calibrate promoters",
       "bigbird quantize chromatin-run/final -o chromatin-int8 --calibrate chromatin --max-loss 0.001",
       "bigbird quantize run/final -o int8 --calibrate valid --keep 4"});
  QuantizeCommand options;
  CLI::App& app = verb.app();
  app.add_option("MODEL", options.model,
                 "Model folder: a promoter or chromatin classifier, or one that predicts masked tokens")
      ->required();
  app.add_option("-o,--output", options.output, "Model folder to write")->required()->type_name("OUT");
  app.add_option(
         "--calibrate", options.data,
         "Data: the folder of promoter build or a file of labelled sequences; the data set of chromatin "
         "build; prefix of token shards. Layers are chosen on its training side, the loss is measured "
         "on its validation side")
      ->required()
      ->type_name("DATA");
  app.add_option("--max-loss", options.max_loss,
                 "Most that may be lost: of the mean AUROC (0.002 when not given), or of masked tokens "
                 "Kullback-Leibler divergence in nats (0.01)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("X");
  app.add_option(
         "--keep", options.keep,
         "Layers that stay as they are, those of the largest errors: a number, or auto (outliers, and "
         "more while the loss is too large)")
      ->type_name("N|auto");
  app.add_option("--sample", options.sample,
                 "Windows that effects of substitutions are compared on; a quarter of them, or of samples "
                 "of shards, tells single layers apart")
      ->transform(count_suffix())
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-examples", options.most_examples,
                 "Most bins of chromatin, or samples of token shards, that the loss is measured on, a random "
                 "choice; 0 is all")
      ->transform(count_suffix());
  app.add_option("-f,--fasta-ref", options.fasta, "Genome, instead of the chromatin data set's own")
      ->type_name("FASTA");
  verb.add_seed();
  verb.add_random_mode();
  verb.add_threads();
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;
  options.seed = verb.seed();

  const ModelFolder folder(options.model);
  require_quantizable(folder);
  const LoadedModel loaded = folder.load();
  (void)parse_keep(options.keep, linear_layers(loaded.config).size());
  AtomicFolder output(options.output, verb.force());
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();

  ModelConfig config = loaded.config;
  Quantization found;
  found.from_sha256 = folder.weights_digest();
  config.quantization = std::make_shared<const Quantization>(found);
  WriteOptions write;
  write.type = TensorType::i8;
  Provenance provenance{bigbird_version(), verb.command(), verb.seed(), options.fasta, {}};
  provenance.inputs = {model_input(options.model, found.from_sha256), {"calibrate", options.data, ""}};
  if (verb.provenance()) write.metadata["provenance"] = provenance_json(provenance);
  const auto write_choice = [&](const LayerChoice& choice) {
    Quantization tried = found;
    tried.int8 = choice.int8;
    tried.kept = choice.kept;
    tried.measured.measure = loaded.config.head == HeadType::classification ? "auroc" : "kl";
    ModelConfig with = config;
    with.quantization = std::make_shared<const Quantization>(tried);
    write_folder(output.path(), folder, loaded, with, verb.provenance() ? verb.command() : "", write,
                 {fmt::format("{} linear layers as int8, {} kept", choice.int8.size(), choice.kept.size())});
  };
  QuantizationLoss loss;
  loss.data = options.data;
  loss.seed = options.seed;
  loss.most_examples = static_cast<std::int64_t>(options.most_examples);

  std::vector<LayerError> errors;
  if (loaded.config.head == HeadType::classification) {
    const FinetunedModel model(options.model);
    const QuantizationWindows windows(model, options.data, options.fasta, options.most_examples,
                                      options.seed);
    if (windows.one_side())
      log_warning(options.data + ": layers are chosen by the windows that the loss is measured on");
    loss.measure = "auroc";
    loss.most = options.max_loss.value_or(most_auroc_loss);
    loss.data_sha256 = windows.digest();
    const WindowSample sample(model, loaded, windows.sample(static_cast<std::size_t>(options.sample)),
                              *backend);
    errors = sample.layer_errors();
    const LabelledScores before = windows.scores(options.model, *backend);
    loss.full = mean_auroc(before);
    loss.examples = static_cast<std::int64_t>(before.windows());
    config = choose_and_measure(options, config, errors, [&](const LayerChoice& choice) {
      write_choice(choice);
      loss.quantized = mean_auroc(windows.scores(output.path(), *backend));
      loss.loss = loss.full - loss.quantized;
      loss.effects = sample.effects(names_of(choice.int8));
      return loss;
    });
  } else {
    const Tokenizer& tokenizer = folder.tokenizer();
    const TokenShards shards(options.data);
    shards.require_tokenizer(tokenizer.digest(), tokenizer.vocab_size());
    PretrainingObjective objective;
    objective.nsp = false;
    const std::int64_t length = loaded.config.max_position_embeddings;
    const PretrainingBatches batches(shards, tokenizer, loaded.config, objective, length, options.seed);
    const PretrainingBatches others(shards, tokenizer, loaded.config, objective, length, options.seed + 1);
    const std::vector<std::uint64_t> pieces = evaluation_pieces(batches.sampler(), options.most_examples);
    const std::vector<std::uint64_t> chosen =
        evaluation_pieces(others.sampler(), static_cast<std::uint64_t>((options.sample + 3) / 4));
    const std::unique_ptr<Model> network = model_to_try(loaded, batches.limits(1), *backend);
    loss.measure = "kl";
    loss.most = options.max_loss.value_or(most_divergence);
    loss.data_sha256 = shards_digest(options.data);
    errors = layer_errors(*network, chosen.size(), [&](std::size_t i) {
      Batch batch;
      others.append_piece(chosen[i], batch);
      return batch;
    });
    config = choose_and_measure(options, config, errors, [&](const LayerChoice& choice) {
      const MaskedDivergence measured =
          masked_divergence(*network, batches, pieces, 1, names_of(choice.int8));
      loss.full = measured.full;
      loss.quantized = measured.quantized;
      loss.loss = measured.divergence;
      loss.examples = measured.tokens;
      write_choice(choice);
      return loss;
    });
  }

  write_text_atomic(output.path() + "/config.json", config_json(config, "int8"));
  if (file_exists(calibration_path(options.model)))
    log_warning(calibration_path(options.model) +
                ": is not copied, for it is of other weights; calibrate anew");
  const LoadedModel written = load_model(output.path(), {});
  write_self_test(output.path(), run_self_test(*backend, written.config, written.parameters));
  output.commit();
  OutputStream out("-");
  out.write(layer_table(*config.quantization, errors));
  out.close();
  verb.set_throughput(static_cast<double>(errors.size()), "layers");
  return 0;
}

}  // namespace bigbird::apps
