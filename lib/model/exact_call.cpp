// See exact_call.h.
#include "lib/model/exact_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/safetensors.h"
#include "lib/model/checkpoint.h"
#include "lib/model/model.h"

namespace bigbird {
namespace {

using Shape = std::vector<std::int64_t>;

// The input file, read with checks that name the tensor and the place.
class Request {
 public:
  Request(const std::string& path, const ModelConfig& config) : file_(path), config_(config) {
    const std::array<const char*, 5> known{"input_ids", "attention_mask", "token_type_ids", "labels",
                                           "next_sentence_label"};
    for (const TensorInfo& tensor : file_.tensors()) {
      if (std::find(known.begin(), known.end(), tensor.name) == known.end()) {
        fail(tensor.name, "is not an input of this model",
             "inputs are input_ids, attention_mask, token_type_ids, labels and next_sentence_label");
      }
    }
    const Shape& shape = file_.info("input_ids").shape;
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
      fail("input_ids", "is not a matrix (sequences, tokens)", "");
    sequences = shape[0];
    tokens = shape[1];
    if (tokens > config.max_position_embeddings) {
      fail("input_ids",
           fmt::format("has {} tokens, the model has {} positions", tokens, config.max_position_embeddings),
           "cut the sequences, or use a model trained for longer ones");
    }
    fill_batch();
  }

  std::int64_t sequences = 0;  // B
  std::int64_t tokens = 0;     // T as given
  std::int64_t padded = 0;     // T rounded up to whole blocks
  std::int64_t real_tokens = 0;
  Batch batch;

 private:
  [[noreturn]] void fail(const std::string& tensor, const std::string& what, const std::string& hint) const {
    throw_bad_input(fmt::format("{}: tensor {} {}", file_.path(), tensor, what), hint);
  }

  // Values within [0, bound), or -100 where that is allowed; all `missing` when the tensor is absent.
  std::vector<std::int32_t> read(const std::string& name, const Shape& shape, std::int64_t bound,
                                 bool ignored_allowed, std::int32_t missing) const {
    const std::size_t count = static_cast<std::size_t>(shape.size() == 2 ? shape[0] * shape[1] : shape[0]);
    if (!file_.has(name)) return std::vector<std::int32_t>(count, missing);
    if (file_.info(name).shape != shape) {
      fail(name,
           fmt::format("has shape [{}], not [{}]", fmt::join(file_.info(name).shape, ", "),
                       fmt::join(shape, ", ")),
           "it must agree with input_ids");
    }
    std::vector<std::int32_t> values;
    for (const std::int64_t value : file_.integers(name)) {
      if ((value < 0 || value >= bound) && !(ignored_allowed && value == ignored_label)) {
        const std::int64_t at = static_cast<std::int64_t>(values.size());
        const std::string place =
            shape.size() == 2 ? fmt::format("{}, {}", at / shape[1], at % shape[1]) : std::to_string(at);
        fail(name, fmt::format("holds {} at [{}]", value, place),
             fmt::format("values go from 0 to {}", bound - 1));
      }
      values.push_back(static_cast<std::int32_t>(value));
    }
    return values;
  }

  // Number of leading ones of row s of the mask; padding on the left or in between is refused.
  std::int64_t real_length(const std::vector<std::int32_t>& mask, std::int64_t s) const {
    const auto row = mask.begin() + s * tokens;
    const auto end = std::find(row, row + tokens, 0);
    if (end == row || std::find(end, row + tokens, 1) != row + tokens) {
      fail("attention_mask", fmt::format("row {} is not ones followed by zeros", s),
           "pad sequences on the right only");
    }
    return end - row;
  }

  void fill_batch() {
    const Shape matrix{sequences, tokens};
    const auto ids = read("input_ids", matrix, config_.vocab_size, false, 0);
    const auto types = read("token_type_ids", matrix, config_.type_vocab_size, false, 0);
    const auto mask = read("attention_mask", matrix, 2, false, 1);
    for (std::int64_t s = 0; s < sequences; ++s) {
      // All given tokens go in, so that positions behind the real ones hold what was given there.
      const auto row = [&](const std::vector<std::int32_t>& values) {
        return std::vector<std::int32_t>(values.begin() + s * tokens, values.begin() + (s + 1) * tokens);
      };
      batch.append(row(ids), row(types), config_.block_size, static_cast<std::int32_t>(config_.pad_token_id));
      batch.lengths.back() = real_length(mask, s);
      real_tokens += batch.lengths.back();
    }
    padded = batch.token_offsets[1];

    if (config_.head == HeadType::classification) {
      if (file_.has("next_sentence_label"))
        fail("next_sentence_label", "is not an input of a classification model", "");
      if (file_.has("labels"))
        batch.sequence_labels = read("labels", {sequences}, config_.num_labels, true, 0);
      return;
    }
    for (std::int64_t s = 0; s < sequences; ++s) {
      for (std::int64_t t = 0; t < tokens; ++t)
        batch.masked_rows.push_back(static_cast<std::int32_t>(s * padded + t));
    }
    if (file_.has("labels")) batch.masked_labels = read("labels", matrix, config_.vocab_size, true, 0);
    if (file_.has("next_sentence_label")) {
      batch.sequence_labels = read("next_sentence_label", {sequences}, 2, true, 0);
    }
  }

  SafetensorsFile file_;
  const ModelConfig& config_;
};

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

// Drops the rows that were added to fill the last block: (B * padded, C) -> (B * T, C).
std::vector<float> cut_padding(const Request& request, const std::vector<float>& rows, std::int64_t width) {
  std::vector<float> cut;
  cut.reserve(static_cast<std::size_t>(request.sequences * request.tokens * width));
  for (std::int64_t s = 0; s < request.sequences; ++s) {
    const auto begin = rows.begin() + s * request.padded * width;
    cut.insert(cut.end(), begin, begin + request.tokens * width);
  }
  return cut;
}

void add_gradients(Answer& answer, Model& model) {
  const std::vector<float> gradients = model.host_gradients();
  for (const TensorSpec& spec : model.layout().tensors()) {
    const auto begin = gradients.begin() + spec.offset;
    answer.add("grad." + spec.name, spec.shape, std::vector<float>(begin, begin + spec.count));
  }
}

}  // namespace

std::int64_t run_exact_call(kernels::Backend& backend, const std::string& model_folder,
                            const std::string& input, const std::string& output,
                            const ExactCallOptions& options, std::map<std::string, std::string> metadata) {
  // The model is taken with the head that it has.
  const ModelConfig stored = read_config(model_folder + "/config.json");
  LoadedModel loaded = load_model(model_folder, stored.head, 0, stored.num_labels);
  if (options.random_mode) loaded.config.random_mode = *options.random_mode;
  const Request request(input, loaded.config);
  const Batch& batch = request.batch;
  const std::int64_t width = loaded.config.hidden_size, vocabulary = loaded.config.vocab_size;
  const Shape hidden_shape{request.sequences, request.tokens, width};
  const bool pretraining = loaded.config.head == HeadType::pretraining;

  const BatchLimits limits{batch.tokens(), batch.sequences(),
                           static_cast<std::int64_t>(batch.masked_rows.size()), request.padded};
  Model model(backend, loaded.config, limits, {.training = options.gradients});
  model.set_parameters(loaded.parameters);

  Answer answer;
  ForwardOptions forward;
  if (options.hidden_states) {
    forward.hidden_state = [&](std::int64_t state, const std::vector<float>& values) {
      answer.add(fmt::format("hidden_states.{}", state), hidden_shape, cut_padding(request, values, width));
    };
  }
  const ForwardResult result = model.forward(batch, forward);
  answer.add("last_hidden_state", hidden_shape, cut_padding(request, model.last_hidden_state(), width));
  if (pretraining) {
    answer.add("pooler_output", {request.sequences, width}, model.pooler_output());
    answer.add("prediction_logits", {request.sequences, request.tokens, vocabulary}, model.masked_logits());
    answer.add("seq_relationship_logits", {request.sequences, 2}, model.sequence_logits());
  } else {
    answer.add("logits", {request.sequences, loaded.config.num_labels}, model.sequence_logits());
  }

  const auto mean_scale = [](std::int64_t count) {
    return count > 0 ? 1.0 / static_cast<double>(count) : 0.0;
  };
  const double mlm_scale = mean_scale(result.mlm_count), sequence_scale = mean_scale(result.sequence_count);
  const bool labelled = result.mlm_count + result.sequence_count > 0;
  if (labelled) {
    const double loss = mlm_scale * result.mlm_loss_sum + sequence_scale * result.sequence_loss_sum;
    answer.add("loss", {}, {static_cast<float>(loss)});
  }
  if (options.gradients) {
    if (!labelled) throw_bad_input(input + ": gradients are asked for, but no label is given", "add labels");
    model.backward({static_cast<float>(mlm_scale), static_cast<float>(sequence_scale)});
    add_gradients(answer, model);
  }
  metadata.emplace("format", "pt");
  answer.write(output, metadata);
  return request.real_tokens;
}

}  // namespace bigbird
