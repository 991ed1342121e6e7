// See quantize.h.
#include "lib/quantization/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "kernels/backend.h"
#include "lib/calibration/calibration_file.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/data/token_shards.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sentence_settings.h"
#include "lib/inference/sequence_runner.h"
#include "lib/inference/windows.h"
#include "lib/io/files/file.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/model_card.h"
#include "lib/model_folder/open_model.h"
#include "lib/model_folder/self_test.h"
#include "lib/quantization/data.h"
#include "lib/quantization/layers.h"
#include "lib/text/text_settings.h"
#include "lib/training/evaluator.h"

namespace bigbird {
namespace {

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
    throw_usage(message("`keep` {}: neither auto nor a number of layers below {}", text, layers),
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

void log_loss(const QuantizationLoss& loss, std::size_t int8, std::size_t layers) {
  log_info(fmt::format("{} of {} layers int8: {} {:.6g} before, {:.6g} with int8, loss {:.3g}, allowed {:g}",
                       int8, layers, loss.measure == "auroc" ? "mean AUROC" : "nats for each masked token",
                       loss.full, loss.quantized, loss.loss, loss.most));
  if (loss.effects) {
    log_info(fmt::format("effects of substitutions: rank correlation {:.4f} with the ones of before",
                         *loss.effects));
  }
}

// One run: what it was asked for, the model before, and the folder that grows.
class QuantizeRun {
 public:
  explicit QuantizeRun(const QuantizeOptions& options) : options_(options), folder_(options.model) {
    require_quantizable(folder_);
    loaded_ = folder_.load();
    asked_ = parse_keep(options.keep, linear_layers(loaded_.config).size());
    output_ = std::make_unique<AtomicFolder>(options.output, options.replace);
    backend_ = kernels::make_cpu_backend();
    found_.from_sha256 = folder_.weights_digest();
    write_.type = TensorType::i8;
    if (options.with_provenance) {
      Provenance provenance = options.provenance;
      provenance.inputs = {model_input(options.model, found_.from_sha256), {"calibrate", options.data, ""}};
      write_.metadata["provenance"] = provenance_json(provenance);
    }
    loss_.data = options.data;
    loss_.seed = options.seed;
    loss_.most_examples = static_cast<std::int64_t>(options.most_examples);
  }

  QuantizedFolder run() {
    if (loaded_.config.head == HeadType::classification) {
      choose_for_classifier();
    } else {
      choose_for_masked_tokens();
    }
    write_text_atomic(output_->path() + "/config.json", config_json(with(found_), "int8"));
    if (file_exists(calibration_path(options_.model)))
      log_warning(calibration_path(options_.model) +
                  ": is not copied, for it is of other weights; calibrate anew");
    const LoadedModel written = load_model(output_->path(), {});
    write_self_test(output_->path(), run_self_test(*backend_, written.config, written.parameters));
    output_->commit();
    return {found_, errors_};
  }

 private:
  void choose_for_classifier() {
    const FinetunedModel model(options_.model);
    const QuantizationWindows windows(model, options_.data, options_.fasta, options_.most_examples,
                                      options_.seed);
    if (windows.one_side())
      log_warning(options_.data + ": layers are chosen by the windows that the loss is measured on");
    loss_.measure = "auroc";
    loss_.most = options_.max_loss.value_or(most_auroc_loss);
    loss_.data_sha256 = windows.digest();
    const WindowSample sample(model, loaded_, windows.sample(static_cast<std::size_t>(options_.sample)),
                              *backend_);
    errors_ = sample.layer_errors();
    const LabelledScores before = windows.scores(options_.model, *backend_);
    loss_.full = mean_auroc(before);
    loss_.examples = static_cast<std::int64_t>(before.windows());
    choose_and_measure([&](const LayerChoice& choice) {
      write_choice(choice);
      loss_.quantized = mean_auroc(windows.scores(output_->path(), *backend_));
      loss_.loss = loss_.full - loss_.quantized;
      loss_.effects = sample.effects(names_of(choice.int8));
      return loss_;
    });
  }

  void choose_for_masked_tokens() {
    const Tokenizer& tokenizer = folder_.tokenizer();
    const TokenShards shards(options_.data);
    shards.require_tokenizer(tokenizer.digest(), tokenizer.vocab_size());
    PretrainingObjective objective;
    objective.nsp = false;
    const ModelConfig& config = loaded_.config;
    const std::int64_t length = config.max_position_embeddings;
    const PretrainingBatches batches(shards, tokenizer, config, objective, length, options_.seed);
    const PretrainingBatches others(shards, tokenizer, config, objective, length, options_.seed + 1);
    const std::vector<std::uint64_t> pieces = evaluation_pieces(batches.sampler(), options_.most_examples);
    const std::vector<std::uint64_t> chosen =
        evaluation_pieces(others.sampler(), static_cast<std::uint64_t>((options_.sample + 3) / 4));
    const std::unique_ptr<Model> network = model_to_try(loaded_, batches.limits(1), *backend_);
    loss_.measure = "kl";
    loss_.most = options_.max_loss.value_or(most_divergence);
    loss_.data_sha256 = shards_digest(options_.data);
    errors_ = layer_errors(*network, chosen.size(), [&](std::size_t i) {
      return others.piece_batch(std::span(chosen).subspan(i, 1));
    });
    choose_and_measure([&](const LayerChoice& choice) {
      const MaskedDivergence measured =
          masked_divergence(*network, batches, pieces, 1, names_of(choice.int8));
      loss_.full = measured.full;
      loss_.quantized = measured.quantized;
      loss_.loss = measured.divergence;
      loss_.examples = measured.tokens;
      write_choice(choice);
      return loss_;
    });
  }

  // The number of layers that stay: as asked for, or from the outliers on twice as many as long as it takes.
  void choose_and_measure(const Measure& measure) {
    const std::size_t most = asked_.value_or(errors_.size() / 2);
    for (std::size_t keep = asked_.value_or(outlying_layers(errors_));;
         keep = std::max<std::size_t>(1, 2 * keep)) {
      keep = std::min(keep, most);
      LayerChoice choice = choose_layers(errors_, keep);
      const QuantizationLoss loss = measure(choice);
      log_loss(loss, choice.int8.size(), errors_.size());
      const bool agrees = !loss.effects || *loss.effects >= least_effect_correlation;
      if (loss.loss <= loss.most && (agrees || keep == most)) {
        if (!agrees) {
          log_warning(
              message("effects of substitutions have a rank correlation of {:.4f} with the ones of before: "
                      "for variants keep more layers with `keep`",
                      *loss.effects));
        }
        found_.int8 = std::move(choice.int8);
        found_.kept = std::move(choice.kept);
        found_.measured = loss;
        return;
      }
      if (keep == most) {
        throw_bad_input(
            fmt::format("{}: with {} of {} layers in int8 it loses {:.3g} ({}), more than {:g}",
                        options_.model, choice.int8.size(), errors_.size(), loss.loss,
                        loss.measure == "auroc" ? "of the mean AUROC" : "nats of divergence", loss.most),
            asked_ ? message("keep more layers with `keep`, or allow more with `max_loss`")
                   : message("`keep` N keeps more than half of the layers, `max_loss` allows more"));
      }
    }
  }

  ModelConfig with(const Quantization& quantization) const {
    ModelConfig config = loaded_.config;
    config.quantization = std::make_shared<const Quantization>(quantization);
    return config;
  }

  // Everything but what was measured, which config.json gets at last.
  void write_choice(const LayerChoice& choice) const {
    Quantization tried = found_;
    tried.int8 = choice.int8;
    tried.kept = choice.kept;
    tried.measured.measure = loss_.measure;
    const ModelConfig config = with(tried);
    std::vector<float> parameters = loaded_.parameters;
    const ParameterLayout layout(config);
    for (const LinearLayer& layer : linear_layers(config)) {
      const bool listed = std::any_of(choice.int8.begin(), choice.int8.end(),
                                      [&](const LayerError& one) { return one.layer == layer.name; });
      if (listed) round_to_int8(layer, layout, parameters.data());
    }
    Conversion conversion{
        folder_.path(),
        options_.with_provenance ? options_.provenance.command : "",
        {},
        {fmt::format("{} linear layers as int8, {} kept", choice.int8.size(), choice.kept.size())},
        "",
        write_};
    for (const std::string& file : loaded_.files) conversion.source_files.push_back("`" + file + "`");
    WriteOptions written = write_;
    written.tokenizer = tokenizer_options(read_text_settings(folder_.path()));
    write_model_files(output_->path(), config, layout, parameters,
                      folder_.has_tokenizer() ? folder_.path() : "",
                      model_card(converted_card(config, conversion)), written);
    copy_model_task(folder_.path(), output_->path());
    copy_sentence_settings(folder_.path(), output_->path());
  }

  const QuantizeOptions& options_;
  ModelFolder folder_;
  LoadedModel loaded_;
  std::optional<std::size_t> asked_;  // layers that stay
  std::unique_ptr<AtomicFolder> output_;
  std::unique_ptr<kernels::Backend> backend_;
  WriteOptions write_;
  Quantization found_;
  QuantizationLoss loss_;
  std::vector<LayerError> errors_;
};

}  // namespace

std::string QuantizedFolder::table() const {
  std::string text = "layer\tform\terror\n";
  for (const LayerError& layer : errors) {
    const bool kept = std::find(found.kept.begin(), found.kept.end(), layer) != found.kept.end();
    text += fmt::format("{}\t{}\t{:.6g}\n", layer.layer, kept ? "kept" : "int8", layer.error);
  }
  return text;
}

QuantizedFolder quantize_folder(const QuantizeOptions& options) {
  return QuantizeRun(options).run();
}

}  // namespace bigbird
