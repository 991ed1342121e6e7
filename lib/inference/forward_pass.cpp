// See forward_pass.h.
#include "lib/inference/forward_pass.h"

#include <fmt/format.h>

#include <vector>

#include "lib/core/error.h"
#include "lib/inference/forward_input.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/folder/model_folder.h"
#include "lib/model/folder/open_model.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"

namespace bigbird {
namespace {

using Shape = std::vector<std::int64_t>;

// Tensors on their way out; the values live here until the file is written.
class Answer {
 public:
  void add(std::string name, Shape shape, std::vector<float> values) {
    tensors_.push_back({std::move(name), std::move(shape), std::move(values)});
  }
  void write(const std::string& path, const std::map<std::string, std::string>& metadata) const {
    std::vector<TensorToWrite> list;
    for (const Tensor& tensor : tensors_) {
      list.push_back({tensor.name, TensorType::f32, tensor.shape, tensor.values.data()});
    }
    write_safetensors(path, list, metadata);
  }

 private:
  struct Tensor {
    std::string name;
    Shape shape;
    std::vector<float> values;
  };
  std::vector<Tensor> tensors_;
};

// Puts rows of tokens where these were given, without the `of_sequence` - T that filled the last block:
// (B * of_sequence, C) -> (B * T, C).
std::vector<float> as_given(const ForwardInput& in, const std::vector<float>& rows, std::int64_t width,
                            std::int64_t of_sequence) {
  std::vector<float> cut;
  cut.reserve(static_cast<std::size_t>(in.sequences * in.tokens * width));
  for (std::int64_t s = 0; s < in.sequences; ++s) {
    for (std::int64_t t = 0; t < in.tokens; ++t) {
      const auto row = rows.begin() + (s * of_sequence + in.row_of(s, t)) * width;
      cut.insert(cut.end(), row, row + width);
    }
  }
  return cut;
}

// (B * padded, C) of a decoder -> (B * T', C).
std::vector<float> targets_as_given(const ForwardInput& in, const std::vector<float>& rows,
                                    std::int64_t width) {
  std::vector<float> cut;
  for (std::int64_t s = 0; s < in.sequences; ++s) {
    const auto first = rows.begin() + s * in.padded_targets * width;
    cut.insert(cut.end(), first, first + in.targets * width);
  }
  return cut;
}

std::vector<float> cut_padding(const ForwardInput& in, const std::vector<float>& rows, std::int64_t width) {
  return as_given(in, rows, width, in.padded);
}

void add_head_outputs(Answer& answer, const Model& model, const ForwardInput& in) {
  const ModelConfig& config = model.config();
  const Shape pooled{in.sequences, config.hidden_size};
  const Shape words{in.sequences, in.tokens, config.vocab_size};
  const Shape positions{in.sequences, in.tokens};
  const auto logits_of_words = [&] {
    return as_given(in, model.masked_logits(), config.vocab_size, in.tokens);
  };
  switch (config.head) {
    case HeadType::encoder:
      answer.add("pooler_output", pooled, model.pooler_output());
      break;
    case HeadType::pretraining:
      answer.add("pooler_output", pooled, model.pooler_output());
      answer.add("prediction_logits", words, logits_of_words());
      answer.add("seq_relationship_logits", {in.sequences, 2}, model.sequence_logits());
      break;
    case HeadType::masked_lm:
      answer.add("logits", words, logits_of_words());
      break;
    case HeadType::classification:
      answer.add("logits", {in.sequences, config.num_labels}, model.sequence_logits());
      break;
    case HeadType::question_answering:
      answer.add("start_logits", positions, cut_padding(in, model.start_logits(), 1));
      answer.add("end_logits", positions, cut_padding(in, model.end_logits(), 1));
      break;
    case HeadType::structured_answers:
      for (std::size_t score = 0; score < config.token_scores.size(); ++score) {
        answer.add("token_logits." + config.token_scores[score].name, positions,
                   cut_padding(in, model.token_logits(score), 1));
      }
      if (config.num_labels > 0)
        answer.add("type_logits", {in.sequences, config.num_labels}, model.sequence_logits());
      break;
    case HeadType::generation:
      answer.add("decoder_last_hidden_state", {in.sequences, in.targets, config.hidden_size},
                 targets_as_given(in, model.decoder_hidden_state(), config.hidden_size));
      answer.add("logits", {in.sequences, in.targets, config.vocab_size},
                 targets_as_given(in, model.target_logits(), config.vocab_size));
      break;
  }
}

void add_gradients(Answer& answer, Model& model) {
  const std::vector<float> gradients = model.host_gradients();
  for (const TensorSpec& spec : model.layout().tensors()) {
    const auto begin = gradients.begin() + spec.offset;
    answer.add("grad." + stored_name(spec.name, model.config(), Dialect::huggingface), spec.shape,
               std::vector<float>(begin, begin + spec.count));
  }
}

}  // namespace

std::int64_t run_forward_pass(kernels::Backend& backend, const ModelFolder& folder, const std::string& input,
                              const std::string& output, const ForwardPassOptions& options,
                              std::map<std::string, std::string> metadata) {
  ForwardInput in;
  const auto limits = [&](ModelConfig& config) {
    if (options.random_mode) config.random_mode = *options.random_mode;
    if (options.plan != nullptr) config.plan = options.plan;
    validate(config, folder.path());
    if (options.gradients && config.head == HeadType::structured_answers) {
      throw_bad_input(fmt::format("{}: no gradients of a model with the {} head, which takes no labels here",
                                  folder.path(), name_of(config.head)),
                      "ask for logits alone");
    }
    in = read_forward_input(input, config);
    config.problem_type = in.problem_type;
    return BatchLimits{in.batch.tokens(), in.batch.sequences(),
                       static_cast<std::int64_t>(in.batch.masked_rows.size()), in.padded,
                       in.batch.targets.tokens()};
  };
  const std::unique_ptr<Model> opened =
      open_model(folder, {backend, limits, {.training = options.gradients}}).model;
  Model& model = *opened;
  const ModelConfig& config = model.config();

  Answer answer;
  const Shape hidden_shape{in.sequences, in.tokens, config.hidden_size};
  const Shape target_shape{in.sequences, in.targets, config.hidden_size};
  ForwardOptions forward;
  forward.smoothing = options.smoothing;
  const auto behind_norm = [&](std::int64_t state, std::int64_t layers) {
    return config.has_decoder() && config.has_final_norm() && state == layers;
  };
  if (options.hidden_states) {
    forward.hidden_state = [&](std::int64_t state, const std::vector<float>& values) {
      if (behind_norm(state, config.num_hidden_layers)) return;
      answer.add(fmt::format("hidden_states.{}", state), hidden_shape,
                 cut_padding(in, values, config.hidden_size));
    };
    forward.decoder_hidden_state = [&](std::int64_t state, const std::vector<float>& values) {
      if (behind_norm(state, config.decoder.num_hidden_layers)) return;
      answer.add(fmt::format("decoder_hidden_states.{}", state), target_shape,
                 targets_as_given(in, values, config.hidden_size));
    };
  }
  const ForwardResult result = model.forward(in.batch, forward);
  answer.add("last_hidden_state", hidden_shape,
             cut_padding(in, model.last_hidden_state(), config.hidden_size));
  add_head_outputs(answer, model, in);
  if (options.hidden_states && config.has_decoder() && config.has_final_norm()) {
    answer.add(fmt::format("hidden_states.{}", config.num_hidden_layers), hidden_shape,
               cut_padding(in, model.last_hidden_state(), config.hidden_size));
    answer.add(fmt::format("decoder_hidden_states.{}", config.decoder.num_hidden_layers), target_shape,
               targets_as_given(in, model.decoder_hidden_state(), config.hidden_size));
  }

  const LossScale scale = mean_scale(result);
  const bool labelled = result.has_labels();
  if (labelled) answer.add("loss", {}, {static_cast<float>(scaled_loss(result, scale))});
  if (options.gradients) {
    if (!labelled) throw_bad_input(input + ": gradients are asked for, but no label is given", "add labels");
    model.backward(scale);
    add_gradients(answer, model);
  }
  metadata.emplace("format", "pt");
  answer.write(output, metadata);
  return in.real_tokens;
}

}  // namespace bigbird
