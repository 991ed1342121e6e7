// See forward_pass.h.
#include "lib/inference/forward_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/heads.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/model_folder.h"
#include "lib/model_folder/open_model.h"

namespace bigbird {
namespace {

using Shape = std::vector<std::int64_t>;

// The input file, read with checks that name the tensor and the place.
struct ForwardInput {
  std::int64_t sequences = 0;  // B
  std::int64_t tokens = 0;     // T as given
  std::int64_t padded = 0;     // T rounded up to whole blocks
  std::int64_t real_tokens = 0;
  std::int64_t most_globals = 0;    // of a sequence, where the file names them
  std::int64_t targets = 0;         // T' as given, of a decoder
  std::int64_t padded_targets = 0;  // and in whole blocks
  // Padding on the left of each sequence. In the batch its real tokens come first, so that it counts as the
  // same sequence padded on the right; what the caller gave at t lies at row_of(s, t) of the sequence.
  std::vector<std::int64_t> shifts;
  Batch batch;
  // That of the config, except that transformers takes float labels [B, L] for several labels at once when
  // config.json does not say what they are.
  ProblemType problem_type = ProblemType::single_label;

  std::int64_t row_of(std::int64_t s, std::int64_t t) const {
    return (t + tokens - shifts[static_cast<std::size_t>(s)]) % tokens;
  }
};

std::vector<std::string> inputs_of(const ModelConfig& config) {
  const HeadType head = config.head;
  std::vector<std::string> names{"input_ids", "attention_mask", "token_type_ids"};
  if (head == HeadType::generation) names = {"input_ids", "attention_mask", "decoder_input_ids", "labels"};
  if (config.attention == AttentionPattern::longformer) names.emplace_back("global_attention_mask");
  switch (head) {
    case HeadType::encoder:
    case HeadType::structured_answers:  // no labels: its groups of tokens are no matrix
      break;
    case HeadType::pretraining:
      names.insert(names.end(), {"labels", "next_sentence_label"});
      break;
    case HeadType::masked_lm:
    case HeadType::causal_lm:
    case HeadType::classification:
    case HeadType::token_classification:
      names.push_back("labels");
      break;
    case HeadType::question_answering:
      names.insert(names.end(), {"start_positions", "end_positions"});
      break;
    case HeadType::generation:
    case HeadType::masked_sentences:
    case HeadType::sentence_labels:
      break;
  }
  return names;
}

bool is_integer(TensorType type) {
  return type == TensorType::i64 || type == TensorType::i32 || type == TensorType::u8;
}

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

class Reader {
 public:
  Reader(const std::string& path, const ModelConfig& config) : file_(path), config_(config) {
    const std::vector<std::string> known = inputs_of(config);
    for (const TensorInfo& tensor : file_.tensors()) {
      if (std::find(known.begin(), known.end(), tensor.name) == known.end()) {
        fail(tensor.name, fmt::format("is not an input of a model with the {} head", name_of(config.head)),
             fmt::format("inputs are {}", fmt::join(known, ", ")));
      }
    }
    const Shape& shape = file_.info("input_ids").shape;
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
      fail("input_ids", "is not a matrix (sequences, tokens)", "write it with shape [B, T]");
    }
    in_.sequences = shape[0];
    in_.tokens = shape[1];
    if (in_.tokens > config.max_position_embeddings) {
      fail("input_ids",
           fmt::format("has {} tokens, the model has {} positions", in_.tokens,
                       config.max_position_embeddings),
           "cut the sequences, or use a model trained for longer ones");
    }
    read_tokens();
    switch (config.head) {
      case HeadType::encoder:
      case HeadType::structured_answers:
        break;
      case HeadType::pretraining:
        read_masked_labels();
        if (file_.has("next_sentence_label")) {
          in_.batch.sequence_labels = read("next_sentence_label", {in_.sequences}, 2, Ignored::allowed, 0);
        }
        break;
      case HeadType::masked_lm:
      case HeadType::causal_lm:
        read_masked_labels();
        break;
      case HeadType::classification:
        read_classification_labels();
        break;
      case HeadType::token_classification:
        read_token_labels();
        break;
      case HeadType::question_answering:
        read_answer();
        break;
      case HeadType::generation:
        read_targets_of_decoder();
        break;
      case HeadType::masked_sentences:
      case HeadType::sentence_labels:
        throw_bad_input(path + ": the model reads documents of sentences, and input_ids have none",
                        "bigbird text hibert predict takes documents, bigbird text embed sentences");
    }
  }

  ForwardInput take() { return std::move(in_); }

 private:
  enum class Ignored { refused, allowed };  // whether -100 may stand for "no label"

  [[noreturn]] void fail(const std::string& tensor, const std::string& what, const std::string& hint) const {
    throw_bad_input(fmt::format("{}: tensor {} {}", file_.path(), tensor, what), hint);
  }

  static std::string place(const Shape& shape, std::size_t element) {
    const std::int64_t at = static_cast<std::int64_t>(element);
    return shape.size() == 2 ? fmt::format("{}, {}", at / shape[1], at % shape[1]) : std::to_string(at);
  }

  void check_shape(const std::string& name, const Shape& shape) const {
    if (file_.info(name).shape == shape) return;
    fail(name,
         fmt::format("has shape [{}], not [{}]", fmt::join(file_.info(name).shape, ", "),
                     fmt::join(shape, ", ")),
         "it must agree with input_ids and with the labels of the model");
  }

  // Values within [0, bound), or -100 where that is allowed; all `missing` when the tensor is absent.
  std::vector<std::int32_t> read(const std::string& name, const Shape& shape, std::int64_t bound,
                                 Ignored ignored, std::int32_t missing) const {
    if (!file_.has(name)) {
      return std::vector<std::int32_t>(static_cast<std::size_t>(elements(shape)), missing);
    }
    check_shape(name, shape);
    std::vector<std::int32_t> values;
    for (const std::int64_t value : file_.integers(name)) {
      if ((value < 0 || value >= bound) && !(ignored == Ignored::allowed && value == ignored_label)) {
        fail(name, fmt::format("holds {} at [{}]", value, place(shape, values.size())),
             fmt::format("values go from 0 to {}", bound - 1));
      }
      values.push_back(static_cast<std::int32_t>(value));
    }
    return values;
  }

  // Number of ones of row s of the mask, which are one stretch; the zeros before it are its shift.
  std::int64_t real_length(const std::vector<std::int32_t>& mask, std::int64_t s) {
    const auto row = mask.begin() + s * in_.tokens;
    const auto row_end = row + in_.tokens;
    const auto begin = std::find(row, row_end, 1);
    const auto end = std::find(begin, row_end, 0);
    if (begin == row_end || std::find(end, row_end, 1) != row_end) {
      fail("attention_mask", fmt::format("row {} is not one stretch of ones", s),
           "zeros are padding, on the right or on the left of a sequence");
    }
    in_.shifts.push_back(begin - row);
    return end - begin;
  }

  // Row s of a matrix [B, T] in the order of the batch.
  std::vector<std::int32_t> row_of_batch(const std::vector<std::int32_t>& values, std::int64_t s) const {
    const auto begin = values.begin() + s * in_.tokens;
    std::vector<std::int32_t> turned(begin, begin + in_.tokens);
    std::rotate(turned.begin(), turned.begin() + in_.shifts[static_cast<std::size_t>(s)], turned.end());
    return turned;
  }

  // All T tokens go in, so that positions behind the real ones hold what was given there. What was on their
  // left comes last.
  void read_tokens() {
    const Shape matrix{in_.sequences, in_.tokens};
    const auto ids = read("input_ids", matrix, config_.vocab_size, Ignored::refused, 0);
    const auto types = read("token_type_ids", matrix, config_.type_vocab_size, Ignored::refused, 0);
    const auto mask = read("attention_mask", matrix, 2, Ignored::refused, 1);
    const bool types_of_question = config_.head == HeadType::question_answering &&
                                   !config_.has_plain_question_head() && !file_.has("token_type_ids");
    for (std::int64_t s = 0; s < in_.sequences; ++s) {
      const std::int64_t length = real_length(mask, s);
      const std::vector<std::int32_t> of_sequence = row_of_batch(ids, s);
      in_.batch.append(of_sequence, types_of_question ? question_types(of_sequence) : row_of_batch(types, s),
                       config_.block_size, static_cast<std::int32_t>(config_.pad_token_id));
      in_.batch.lengths.back() = length;
      in_.batch.given_lengths.push_back(in_.tokens);
      in_.real_tokens += length;
    }
    if (file_.has("global_attention_mask")) read_global_tokens(matrix);
    const auto left = static_cast<std::int64_t>(
        std::count_if(in_.shifts.begin(), in_.shifts.end(), [](std::int64_t shift) { return shift > 0; }));
    if (left > 0) {
      log_info(
          fmt::format("{}: {} of {} sequences are padded on the left: read as if on the right, so that "
                      "positions count from their first token",
                      file_.path(), left, in_.sequences));
    }
    in_.padded = in_.batch.token_offsets[1];
  }

  // As transformers takes them: ones are global tokens.
  void read_global_tokens(const Shape& matrix) {
    const char* const name = "global_attention_mask";
    const auto mask = read(name, matrix, 2, Ignored::refused, 0);
    std::vector<std::int32_t>& rows = in_.batch.global_rows.emplace();
    for (std::size_t s = 0; s < in_.batch.lengths.size(); ++s) {
      const std::vector<std::int32_t> turned = row_of_batch(mask, static_cast<std::int64_t>(s));
      std::int64_t globals = 0;
      for (std::size_t t = 0; t < turned.size(); ++t) {
        if (turned[t] == 0) continue;
        if (static_cast<std::int64_t>(t) >= in_.batch.lengths[s])
          fail(name, fmt::format("marks padding of sequence {} as global", s), "mark only real tokens");
        rows.push_back(static_cast<std::int32_t>(in_.batch.token_offsets[s] + static_cast<std::int64_t>(t)));
        ++globals;
      }
      in_.most_globals = std::max(in_.most_globals, globals);
    }
  }

  // transformers' default: 0 for the question with its [SEP], 1 for everything behind.
  std::vector<std::int32_t> question_types(const std::vector<std::int32_t>& ids) const {
    if (config_.type_vocab_size < 2) return std::vector<std::int32_t>(ids.size(), 0);
    std::vector<std::int32_t> types(ids.size(), 1);
    const std::int64_t length = question_length(ids.data(), in_.tokens, config_.sep_token_id);
    std::fill(types.begin(), types.begin() + length, 0);
    return types;
  }

  void read_masked_labels() {
    for (std::int64_t s = 0; s < in_.sequences; ++s) {
      for (std::int64_t t = 0; t < in_.tokens; ++t)
        in_.batch.masked_rows.push_back(static_cast<std::int32_t>(s * in_.padded + t));
    }
    read_labels_of_tokens(config_.vocab_size, in_.batch.masked_labels);
  }

  // Logits are of every token, padding among them, as in transformers.
  void read_token_labels() {
    for (std::int64_t s = 0; s < in_.sequences; ++s) {
      for (std::int64_t t = 0; t < in_.tokens; ++t)
        in_.batch.output_spans.push_back({static_cast<std::int32_t>(s * in_.padded + t), 1});
    }
    read_labels_of_tokens(config_.num_labels, in_.batch.sequence_labels);
  }

  void read_labels_of_tokens(std::int64_t classes, std::vector<std::int32_t>& to) const {
    if (!file_.has("labels")) return;
    const auto labels = read("labels", {in_.sequences, in_.tokens}, classes, Ignored::allowed, 0);
    for (std::int64_t s = 0; s < in_.sequences; ++s) {
      const std::vector<std::int32_t> turned = row_of_batch(labels, s);
      to.insert(to.end(), turned.begin(), turned.end());
    }
  }

  // What the decoder reads: as given, or the labels behind the start token, or the source itself behind it,
  // as transformers does.
  void read_targets_of_decoder() {
    const char* const given = file_.has("decoder_input_ids") ? "decoder_input_ids"
                              : file_.has("labels")          ? "labels"
                                                             : "input_ids";
    const Shape shape = file_.info(given).shape;
    if (shape.size() != 2 || shape[0] != in_.sequences || shape[1] < 1) {
      fail(given, "is not a matrix (sequences, tokens)",
           fmt::format("write it with shape [{}, T]: one row for each of input_ids", in_.sequences));
    }
    in_.targets = shape[1];
    if (in_.targets > config_.decoder_positions()) {
      fail(given,
           fmt::format("has {} tokens, the decoder has {} positions", in_.targets,
                       config_.decoder_positions()),
           "cut the sequences");
    }
    const bool shifted = !file_.has("decoder_input_ids");
    const auto ids = read(given, shape, config_.vocab_size, shifted ? Ignored::allowed : Ignored::refused, 0);
    const auto labels = read("labels", shape, config_.vocab_size, Ignored::allowed, ignored_label);
    for (std::int64_t s = 0; s < in_.sequences; ++s) {
      const auto row = [&](const std::vector<std::int32_t>& matrix) {
        return std::vector<std::int32_t>(matrix.begin() + s * in_.targets,
                                         matrix.begin() + (s + 1) * in_.targets);
      };
      std::vector<std::int32_t> read_ids = row(ids);
      if (shifted) {
        read_ids.insert(read_ids.begin(), static_cast<std::int32_t>(config_.decoder.start_token_id));
        read_ids.pop_back();
        std::replace(read_ids.begin(), read_ids.end(), ignored_label,
                     static_cast<std::int32_t>(config_.pad_token_id));
      }
      in_.batch.targets.append(read_ids, file_.has("labels") ? row(labels) : std::vector<std::int32_t>(),
                               config_.block_size, static_cast<std::int32_t>(config_.pad_token_id));
    }
    in_.padded_targets = in_.batch.targets.token_offsets[1];
  }

  void read_classification_labels() {
    in_.problem_type = config_.problem_type;
    if (!file_.has("labels")) return;
    const TensorInfo& info = file_.info("labels");
    const Shape matrix{in_.sequences, config_.num_labels};
    const bool single = config_.problem_type == ProblemType::single_label;
    if (single && config_.num_labels > 1 && info.shape == matrix && !is_integer(info.type)) {
      in_.problem_type = ProblemType::multi_label;
    }
    if (in_.problem_type == ProblemType::single_label) {
      if (!is_integer(info.type)) {
        fail("labels", fmt::format("is {}", tensor_type_name(info.type)),
             fmt::format("one class for each sequence is [{}] of I64; several at once [{}] of F32",
                         in_.sequences, fmt::join(matrix, ", ")));
      }
      in_.batch.sequence_labels = read("labels", {in_.sequences}, config_.num_labels, Ignored::allowed, 0);
      return;
    }
    read_targets(info, matrix);
  }

  void read_targets(const TensorInfo& info, const Shape& matrix) {
    if (is_integer(info.type)) {
      fail("labels", fmt::format("is {}", tensor_type_name(info.type)),
           "regression and several labels at once take floating-point labels (F32)");
    }
    const bool one_number = config_.num_labels == 1 && info.shape == Shape{in_.sequences};
    if (!one_number) check_shape("labels", matrix);
    in_.batch.sequence_targets = file_.floats("labels");
    const bool probabilities = in_.problem_type == ProblemType::multi_label;
    for (std::size_t i = 0; i < in_.batch.sequence_targets.size(); ++i) {
      const float value = in_.batch.sequence_targets[i];
      const bool known = probabilities ? value >= 0.0f && value <= 1.0f : std::isfinite(value);
      if (!known) {
        fail("labels", fmt::format("holds {} at [{}]", value, place(info.shape, i)),
             probabilities ? "labels are 0, 1 or between" : "labels are finite numbers");
      }
    }
  }

  void read_answer() {
    for (std::int64_t s = 0; s < in_.sequences; ++s) {
      const std::int32_t* ids = in_.batch.ids.data() + s * in_.padded;
      if (std::find(ids, ids + in_.tokens, static_cast<std::int32_t>(config_.sep_token_id)) !=
          ids + in_.tokens)
        continue;
      log_warning(fmt::format("{}: sequence {} has no [SEP] (token {}): taken as one without a question",
                              file_.path(), s, config_.sep_token_id));
    }
    if (file_.has("start_positions") != file_.has("end_positions")) {
      const bool start = file_.has("start_positions");
      fail(start ? "start_positions" : "end_positions",
           fmt::format("comes without {}", start ? "end_positions" : "start_positions"),
           "give both, or none for logits only");
    }
    if (!file_.has("start_positions")) return;
    in_.batch.start_positions = read_positions("start_positions");
    in_.batch.end_positions = read_positions("end_positions");
  }

  // Positions at T and beyond are not among the tokens and do not count, as in transformers.
  std::vector<std::int32_t> read_positions(const std::string& name) const {
    check_shape(name, {in_.sequences});
    std::vector<std::int32_t> positions;
    for (const std::int64_t position : file_.integers(name)) {
      if (position < 0) {
        fail(name, fmt::format("holds {} at [{}]", position, positions.size()),
             fmt::format("0 means that there is no answer; {} or more that it is not among the tokens",
                         in_.tokens));
      }
      const auto s = static_cast<std::int64_t>(positions.size());
      positions.push_back(position < in_.tokens ? static_cast<std::int32_t>(in_.row_of(s, position))
                                                : ignored_label);
    }
    return positions;
  }

  SafetensorsFile file_;
  const ModelConfig& config_;
  ForwardInput in_;
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
      if (config.uses_pooler()) answer.add("pooler_output", pooled, model.pooler_output());
      break;
    case HeadType::pretraining:
      answer.add("pooler_output", pooled, model.pooler_output());
      answer.add("prediction_logits", words, logits_of_words());
      answer.add("seq_relationship_logits", {in.sequences, 2}, model.sequence_logits());
      break;
    case HeadType::masked_lm:
    case HeadType::causal_lm:
      answer.add("logits", words, logits_of_words());
      break;
    case HeadType::classification:
      answer.add("logits", {in.sequences, config.num_labels}, model.sequence_logits());
      break;
    case HeadType::token_classification:
      answer.add("logits", {in.sequences, in.tokens, config.num_labels},
                 as_given(in, model.sequence_logits(), config.num_labels, in.tokens));
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
    case HeadType::masked_sentences:  // no input of them is read
    case HeadType::sentence_labels:
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
                      "ask only for logits");
    }
    in = Reader(input, config).take();
    config.problem_type = in.problem_type;
    return BatchLimits{.tokens = in.batch.tokens(),
                       .sequences = in.batch.sequences(),
                       .masked_tokens = static_cast<std::int64_t>(in.batch.masked_rows.size()),
                       .longest = in.padded,
                       .target_tokens = in.batch.targets.tokens(),
                       .global_tokens = in.most_globals,
                       .outputs = static_cast<std::int64_t>(in.batch.output_spans.size())};
  };
  const std::unique_ptr<Model> opened =
      open_model(folder, {backend, limits, {.training = options.gradients}}).model;
  Model& model = *opened;
  const ModelConfig& config = model.config();

  Answer answer;
  const Shape hidden_shape{in.sequences, in.tokens, config.hidden_size};
  const Shape last_shape{in.sequences, in.tokens, head_width(config)};
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
  answer.add("last_hidden_state", last_shape, cut_padding(in, model.last_hidden_state(), head_width(config)));
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
