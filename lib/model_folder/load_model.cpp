// load_model: a model folder's weights into the arena; see checkpoint.h.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <span>
#include <unordered_map>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/etc_checkpoint.h"
#include "lib/model_folder/etc_lift.h"
#include "lib/model_folder/int8_folder.h"

namespace bigbird {
namespace {

constexpr std::size_t most_named = 12;  // tensors in one message

// Tensors that repeat tied ones, with the tensor they must equal.
struct TiedTensor {
  const char* name;
  const char* equals;
};
constexpr const char* word_table = "bert.embeddings.word_embeddings.weight";
constexpr const char* token_types = "bert.embeddings.token_type_embeddings.weight";
constexpr std::array<TiedTensor, 5> tied_tensors{{{"cls.predictions.decoder.weight", word_table},
                                                  {"cls.predictions.decoder.bias", "cls.predictions.bias"},
                                                  {"lm_head.weight", word_table},
                                                  {"tied.encoder.embed_tokens.weight", word_table},
                                                  {"tied.decoder.embed_tokens.weight", word_table}}};
// What transformers keeps beside the parameters: zeros where a file has none.
constexpr const char* logits_bias = "final_logits_bias";

const TiedTensor* find_tied(const std::string& name) {
  const auto found = std::find_if(tied_tensors.begin(), tied_tensors.end(),
                                  [&](const TiedTensor& tied) { return name == tied.name; });
  return found == tied_tensors.end() ? nullptr : &*found;
}

bool is_head_tensor(const std::string& name) {
  return name.starts_with("cls.") || name.starts_with("classifier.") || name.starts_with("qa_classifier.") ||
         name.starts_with("qa_outputs.") || name.starts_with("answer_scores.") ||
         name.starts_with("bert.pooler.") || is_decoder_tensor(name) || name.starts_with("tied.") ||
         name.starts_with("documents.") || name.starts_with("sentence_labels.") ||
         name.starts_with("lm_head.") || name.starts_with("classification_head.") || name == logits_bias;
}

// "a, b, c and 7 more"
std::string listed(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), most_named);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// The folder's tensors under the layout's names.
using Stored = std::unordered_map<std::string, const StoredTensor*>;

Stored by_layout_name(const WeightFiles& weights, Dialect dialect) {
  Stored stored;
  for (const StoredTensor& tensor : weights.tensors()) {
    const std::string name = layout_name(tensor.name, dialect);
    if (name.empty()) continue;
    const auto [place, is_new] = stored.emplace(name, &tensor);
    if (!is_new) {
      throw_bad_input(fmt::format("{}: tensors {} and {} are the same part of the model", weights.path(),
                                  one_line_name(place->second->name), one_line_name(tensor.name)),
                      "remove one of them");
    }
  }
  // A file may hold the repetition of a tied tensor alone.
  for (const TiedTensor& tied : tied_tensors) {
    if (!stored.contains(tied.equals) && stored.contains(tied.name))
      stored.emplace(tied.equals, stored[tied.name]);
  }
  return stored;
}

class Loader {
 public:
  Loader(const std::string& folder, const LoadOptions& options)
      : folder_(folder), options_(options), weights_(folder) {}

  LoadedModel load() {
    const std::string file = config_file(folder_);
    model_.dialect = dialect_of(read_file(file), file);
    model_.config = read_config(file, options_.plan_file);
    untied_ = !model_.config.tie_word_embeddings;
    model_.files = weights_.files();
    stored_ = by_layout_name(weights_, model_.dialect);
    turn_matrices();
    name_token_head();
    refuse_foreign_head();
    choose_head();
    choose_positions();
    choose_pooler();
    const ParameterLayout layout(model_.config);
    int8_ = int8_weights(model_.config);
    copy_global_projections(layout);
    lift_to_two_inputs(layout);
    require_all(layout);
    make_room(layout);
    read_all(layout);
    check_tied(layout);
    check_rotary_angles(weights_, model_.config);
    say_what_is_left(layout);
    for (const std::string& note : model_.notes) log_info(folder_ + ": " + note);
    return std::move(model_);
  }

 private:
  // A BERT or RoBERTa that becomes a model of another kind.
  bool is_warm_start() const {
    return is_bert_or_roberta(model_.dialect) && model_.config.attention != AttentionPattern::full;
  }

  // A head that is not read is nothing that could be used or written. A warm start takes the encoder.
  void refuse_foreign_head() const {
    const std::string& name = model_.config.foreign_class;
    if (name.empty()) return;
    if (std::none_of(stored_.begin(), stored_.end(),
                     [](const auto& entry) { return entry.first.starts_with("bert.encoder."); })) {
      throw_bad_input(
          fmt::format("{}: a {}, which is not read, without an encoder", folder_, one_line_name(name)),
          "take the folder of an encoder, or of a whole bigbird_pegasus");
    }
    if (options_.head || options_.encoder_only || is_warm_start() || model_.dialect == Dialect::gena) return;
    throw_bad_input(
        fmt::format("{}: a {}, which is not read", folder_, one_line_name(name)),
        model_.config.has_decoder()
            ? "its encoder and decoder are, without its head: bigbird text summarize finetune "
              "begins from them, bigbird embed takes the encoder's vectors"
            : "its encoder is, without its head: verbs that train begin from it, bigbird embed takes "
              "its vectors");
  }

  // Whether the stored head is the one that is wanted.
  bool is_stored_head() const {
    if (!options_.head) return true;
    if (options_.fresh_head) return false;
    if (!model_.config.foreign_class.empty() && *options_.head != HeadType::generation) return false;
    if (*options_.head != model_.config.head) return false;
    return *options_.head != HeadType::structured_answers || options_.token_scores.empty() ||
           (options_.token_scores == model_.config.token_scores &&
            options_.type_names == model_.config.label_names);
  }

  void choose_head() {
    other_head_ = !is_stored_head();
    if (!model_.config.foreign_class.empty())
      model_.notes.push_back(fmt::format("a {}: its {} taken, its head left out",
                                         one_line_name(model_.config.foreign_class),
                                         model_.config.has_decoder() ? "encoder and decoder" : "encoder"));
    if (is_warm_start() && model_.config.attention == AttentionPattern::longformer) {
      model_.notes.push_back(fmt::format("{} as a warm start for Longformer: {}",
                                         model_.dialect == Dialect::bert ? "BERT" : "RoBERTa",
                                         attention_options_text(model_.config)));
    } else if (is_warm_start() || model_.dialect == Dialect::original_pegasus) {
      model_.notes.push_back(
          fmt::format("{} as a warm start for BigBird: block-sparse attention, random_mode google, blocks of "
                      "64, 3 random",
                      model_.dialect == Dialect::bert      ? "BERT"
                      : model_.dialect == Dialect::roberta ? "RoBERTa"
                                                           : "Pegasus"));
    }
    if (!other_head_) return;
    // Scores of other things, whatever their number.
    std::erase_if(stored_, [this](const auto& entry) {
      return entry.first.starts_with("answer_scores.") ||
             (options_.fresh_head && entry.first.starts_with("classifier."));
    });
    model_.config.head = *options_.head;
    if (options_.fresh_head) {  // what else the old one's task had decided
      model_.config.pooling = {};
      model_.config.positive_weight = ModelConfig{}.positive_weight;
      model_.config.input_length = 0;
    }
    const bool own_table = stored_.contains("cls.predictions.decoder.weight");
    if (!(model_.config.has_mlm() || model_.config.predicts_next()) || !own_table)
      model_.config.tie_word_embeddings = true;
    model_.config.num_labels = options_.num_labels;
    model_.config.problem_type = ProblemType::single_label;
    model_.config.label_names.clear();
    model_.config.token_scores.clear();
    if (model_.config.has_decoder()) {
      model_.config.decoder = options_.decoder.value_or(decoder_like(model_.config));
      if (model_.config.decoder.coupled && model_.config.type_vocab_size > 0) {
        model_.config.type_vocab_size = 0;
        model_.notes.push_back("token types left out: a coupled model has none");
      }
      validate(model_.config, folder_);
    }
    if (model_.config.head != HeadType::structured_answers) return;
    model_.config.token_scores = options_.token_scores;
    model_.config.label_names = options_.type_names;
    model_.config.num_labels = static_cast<std::int64_t>(options_.type_names.size());
    validate(model_.config, folder_);
  }

  void choose_positions() {
    if (options_.positions == 0) return;
    const bool repeats = is_bert_or_roberta(model_.dialect);
    const std::int64_t stored =
        model_.config.max_position_embeddings / (is_warm_start() ? warm_position_repeats : 1);
    if (!repeats && model_.dialect != Dialect::original_pegasus) {
      throw_usage(
          message("`positions` {}: {} is neither an original Pegasus, whose positions are sinusoids, "
                  "nor a BERT or RoBERTa, whose positions are repeated",
                  options_.positions, folder_));
    }
    if (options_.positions < stored)
      throw_usage(message("`positions` {}: {} has {} already", options_.positions, folder_, stored));
    const std::int64_t block = repeats ? model_.config.block_size : 1;
    model_.config.max_position_embeddings = (options_.positions + block - 1) / block * block;
    validate(model_.config, folder_);
  }

  // BERT's heads of classes have one name: what layout_name() takes for that of sequences is of tokens.
  std::string part_name(const StoredTensor& tensor) const {
    constexpr std::string_view of_sequences = "classifier.out_proj.";
    std::string name = layout_name(tensor.name, model_.dialect);
    if (gives_classes_to_tokens_ && name.starts_with(of_sequences))
      name = "classifier." + name.substr(of_sequences.size());
    return name;
  }
  void name_token_head() {
    gives_classes_to_tokens_ =
        model_.dialect == Dialect::bert && model_.config.head == HeadType::token_classification;
    if (!gives_classes_to_tokens_) return;
    for (const StoredTensor& tensor : weights_.tensors()) {
      if (auto found = stored_.extract(layout_name(tensor.name, model_.dialect))) {
        found.key() = part_name(tensor);
        stored_.insert(std::move(found));
      }
    }
  }

  // BERT's head of classes is a dense layer on its pooler: a new one begins from that.
  void choose_pooler() {
    if (!(is_bert_or_roberta(model_.dialect) || model_.dialect == Dialect::esm) || is_warm_start()) return;
    if (!stored_.contains("bert.pooler.weight")) {
      model_.config.pooler = model_.config.head != HeadType::encoder;
    } else if (model_.dialect == Dialect::bert && model_.config.head == HeadType::classification) {
      for (const char* part : {"weight", "bias"}) {
        if (const auto found = stored_.find(std::string("bert.pooler.") + part); found != stored_.end())
          stored_.emplace(std::string("classifier.dense.") + part, found->second);
      }
    }
  }

  bool may_be_missing(const std::string& name) const {
    if (lifted_ && is_new_when_lifted(name)) return true;
    if (other_head_ && is_head_tensor(name)) return true;
    // A folder of other attention has none: they are drawn.
    if (name.ends_with(".self.features.weight") || name.find(".self.centroids.") != std::string::npos)
      return true;
    // A head that does not use its pooler need not come with one.
    const bool pooler = name.starts_with("bert.pooler.");
    if (!model_.config.uses_pooler() && pooler) return true;
    // Nor does one of a class that has none, whose encoder is taken.
    if (pooler && !model_.config.foreign_class.empty()) return true;
    if (options_.encoder_only && is_head_tensor(name)) return true;
    return std::any_of(
        options_.allow_missing.begin(), options_.allow_missing.end(),
        [&](const std::string& pattern) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
  }

  // A folder that gets Longformer's attention has no projections of global tokens: they begin as copies of
  // the layer's own (Beltagy et al. 2020, section 3.2).
  void copy_global_projections(const ParameterLayout& layout) {
    constexpr std::string_view global = "_global.";
    const auto before = model_.adapted.size();
    for (const TensorSpec& spec : layout.tensors()) {
      const std::size_t at = spec.name.find(global);
      if (at == std::string::npos || stored_.contains(spec.name)) continue;
      std::string local = spec.name;
      local.replace(at, global.size(), ".");
      const auto found = stored_.find(local);
      if (found == stored_.end()) continue;
      stored_[spec.name] = found->second;
      model_.adapted.push_back(spec.name);
    }
    if (model_.adapted.size() > before)
      model_.notes.push_back("projections of global tokens begin as copies of the layers' own");
  }

  // etcmodel has its matrices as [in, out].
  void turn_matrices() {
    if (model_.dialect != Dialect::etcmodel) return;
    for (auto& [name, tensor] : stored_) {
      const std::optional<EtcName> known = etc_layout_name(tensor->name);
      if (known && known->transposed) tensor = &turned_.emplace_back(etc_tensor(*tensor, *known));
    }
  }

  // A folder that gets BigBird-ETC's attention and has one input: what it has starts both.
  void lift_to_two_inputs(const ParameterLayout& layout) {
    std::vector<std::string> names;
    for (const auto& entry : stored_) names.push_back(entry.first);
    lifted_ = model_.config.attention == AttentionPattern::etc && is_one_input(names);
    if (!lifted_) return;
    std::size_t copied = 0;
    Stored lifted;
    for (const TensorSpec& spec : layout.tensors()) {
      const auto found = stored_.find(etc_source(spec.name));
      if (found == stored_.end()) continue;
      lifted[spec.name] = found->second;
      ++copied;
      if (found->first != spec.name) model_.adapted.push_back(spec.name);
    }
    stored_ = std::move(lifted);
    model_.notes.push_back(fmt::format(
        "a model with one input starts one with two: {} of {} tensors are copies, positions and what "
        "reads pooled tokens are left out",
        copied, layout.tensors().size()));
  }
  // Labels of pairs and predicted sentences are new then, and rows of token types.
  static bool is_new_when_lifted(const std::string& name) {
    return name.find("_relative.") != std::string::npos || name.starts_with("cls.contrast.");
  }

  // Every tensor is there and fits, or one message names all that do not.
  void require_all(const ParameterLayout& layout) {
    std::vector<std::string> missing, misshaped;
    for (const TensorSpec& spec : layout.tensors()) {
      const auto found = stored_.find(spec.name);
      if (found == stored_.end() && spec.name == logits_bias) {
        model_.fresh.push_back(spec.name);
        continue;
      }
      if (found == stored_.end()) {
        (may_be_missing(spec.name) ? fresh_ : missing).push_back(spec.name);
        continue;
      }
      if (found->second->shape == spec.shape) continue;
      if (lifted_ && spec.name == token_types && spec.shape[1] == found->second->shape.back()) {
        std::vector<float> source(static_cast<std::size_t>(found->second->elements()));
        read_floats(*found->second, source);
        const std::vector<float> fresh = initial_parameters(layout, model_.config, options_.seed);
        const auto first = fresh.begin() + spec.offset;
        adapted_[spec.name] = lifted_types(source, {first, first + spec.count}, spec.shape[1]);
        model_.adapted.push_back(spec.name);
        continue;
      }
      adapted_[spec.name] =
          adapted_values(*found->second, spec, model_.dialect, model_.config.pad_token_id, model_.notes);
      if (!adapted_[spec.name].empty()) {
        model_.adapted.push_back(spec.name);
        continue;
      }
      misshaped.push_back(fmt::format("tensor {} has shape [{}], config.json asks for [{}]",
                                      stored_name(spec.name, model_.config, model_.dialect),
                                      fmt::join(found->second->shape, ", "), fmt::join(spec.shape, ", ")));
    }
    for (const std::string& weight : int8_) {
      if (!stored_.contains(scales_name(weight))) missing.push_back(scales_name(weight));
    }
    if (model_.config.has_decoder() &&
        std::none_of(stored_.begin(), stored_.end(),
                     [](const auto& entry) { return is_decoder_tensor(entry.first); }) &&
        !other_head_) {
      throw_bad_input(fmt::format("{}: no tensor of a decoder, which config.json asks for", weights_.path()),
                      "take the folder of the whole model, not of its encoder");
    }
    for (std::string& name : missing) name = stored_name(name, model_.config, model_.dialect);
    std::vector<std::string> problems;
    if (missing.size() == 1) problems.push_back(fmt::format("tensor {} is missing", missing[0]));
    if (missing.size() > 1)
      problems.push_back(fmt::format("{} tensors are missing: {}", missing.size(), listed(missing)));
    if (!misshaped.empty()) problems.push_back(listed(misshaped));
    if (!problems.empty()) {
      const bool pooler_alone =
          misshaped.empty() && std::all_of(missing.begin(), missing.end(), [](const std::string& name) {
            return name.starts_with("bert.pooler.");
          });
      throw_bad_input(
          fmt::format("{}: {}", weights_.path(), fmt::join(problems, "; ")),
          missing.empty() ? "config.json and the weights must come from the same model"
          : pooler_alone
              ? message("the model was saved without its pooler; bigbird convert with `allow_missing` "
                        "'bert.pooler.*' starts it from random values, bigbird embed does not need it")
              : message("config.json and the weights must come from the same model; bigbird convert "
                        "with `allow_missing` PATTERN starts what is missing from random values"));
    }
    if (other_head_) {
      model_.notes.push_back(
          fmt::format("encoder taken, the {} head {}", name_of(model_.config.head),
                      fresh_.empty() ? "is part of what is there" : "starts from random values"));
    }
    std::vector<std::string> names;
    for (const std::string& name : fresh_) {
      if (!(other_head_ || options_.encoder_only) || !is_head_tensor(name)) names.push_back(name);
    }
    if (!names.empty()) model_.notes.push_back("not in the file, random values instead: " + listed(names));
  }

  void make_room(const ParameterLayout& layout) {
    parameters_ = options_.memory ? options_.memory(model_.config) : nullptr;
    if (!fresh_.empty()) model_.parameters = initial_parameters(layout, model_.config, options_.seed);
    model_.fresh.insert(model_.fresh.begin(), fresh_.begin(), fresh_.end());
    if (parameters_ != nullptr) {
      std::copy(model_.parameters.begin(), model_.parameters.end(), parameters_);
      model_.parameters.clear();
    } else {
      model_.parameters.resize(static_cast<std::size_t>(layout.count()));
      parameters_ = model_.parameters.data();
    }
  }

  // The tensors by all threads. Of several that cannot be taken the first of the layout is named.
  void read_all(const ParameterLayout& layout) {
    const std::vector<TensorSpec>& specs = layout.tensors();
    std::vector<std::exception_ptr> failures(specs.size());
    kernels::parallel_for(specs.size(), [&](std::size_t i) {
      try {
        read(specs[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  void read(const TensorSpec& spec) {
    const auto found = stored_.find(spec.name);
    if (found == stored_.end() || (options_.at_hand && options_.at_hand(spec))) return;
    const std::span<float> out(parameters_ + spec.offset, static_cast<std::size_t>(spec.count));
    if (std::find(int8_.begin(), int8_.end(), spec.name) != int8_.end()) {
      read_int8(*found->second, *stored_.at(scales_name(spec.name)), out);
      return;
    }
    if (const auto adapted = adapted_.find(spec.name); adapted != adapted_.end()) {
      std::copy(adapted->second.begin(), adapted->second.end(), out.begin());
    } else {
      read_floats_and_release(*found->second, out);  // else the model would be in memory twice
    }
    if (!options_.allow_nan) require_finite(*found->second, spec, out);
  }

  static void require_finite(const StoredTensor& tensor, const TensorSpec& spec,
                             std::span<const float> values) {
    const auto bad =
        std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    if (bad == values.end()) return;
    std::vector<std::int64_t> index(spec.shape.size());
    std::int64_t rest = bad - values.begin();
    for (std::size_t axis = index.size(); axis-- > 0;) {
      index[axis] = rest % spec.shape[axis];
      rest /= spec.shape[axis];
    }
    throw_bad_input(
        fmt::format("{}: tensor {} holds {} at [{}]", tensor.file, one_line_name(tensor.name), *bad,
                    fmt::join(index, ", ")),
        message("such a model computes nothing of use; bigbird convert and check take `allow_nan`"));
  }

  void check_tied(const ParameterLayout& layout) const {
    for (const TiedTensor& tied : tied_tensors) {
      const auto repeated = stored_.find(tied.name);
      const TensorSpec* spec = layout.find(tied.equals);
      if (repeated == stored_.end() || spec == nullptr || layout.find(tied.name) != nullptr) continue;
      const bool output_table = tied.name == std::string_view("lm_head.weight") ||
                                tied.name == std::string_view("cls.predictions.decoder.weight");
      if (untied_ && output_table) continue;  // of a head that is left out
      const StoredTensor& tensor = *repeated->second;
      if (stored_.at(tied.equals)->first == tensor.first && tensor.shape == spec->shape) continue;
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      read_floats(tensor, values);
      const float* loaded = parameters_ + spec->offset;
      if (tensor.elements() != spec->count ||
          std::memcmp(values.data(), loaded, values.size() * sizeof(float)) != 0) {
        throw_bad_input(
            fmt::format("{}: tensor {} differs from {}", tensor.file, one_line_name(tensor.name),
                        one_line_name(stored_.at(tied.equals)->name)),
            "by config.json the two are one (tie_word_embeddings, true where it is not given): with false both are read");
      }
    }
  }

  // Of a lifted model: copied under other names, or positions, which it has not.
  static bool stands_in_for_others(const std::string& name, const ParameterLayout& layout) {
    const std::vector<TensorSpec>& specs = layout.tensors();
    return is_position_table(name) || std::any_of(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
             return etc_source(spec.name) == name;
           });
  }

  void say_what_is_left(const ParameterLayout& layout) {
    std::vector<std::string> unknown, of_heads;
    int zero_biases = 0;
    for (const StoredTensor& tensor : weights_.tensors()) {
      const std::string name = part_name(tensor);
      if (name.empty() || layout.find(name) != nullptr || (lifted_ && stands_in_for_others(name, layout)))
        continue;
      if (std::any_of(int8_.begin(), int8_.end(),
                      [&](const std::string& weight) { return name == scales_name(weight); }))
        continue;
      if (other_head_ && model_.config.is_coupled() && name == token_types) continue;  // said already
      if (model_.dialect == Dialect::original_pegasus && !model_.config.use_bias &&
          name.find("attention.") != std::string::npos && name.ends_with(".bias")) {
        ++zero_biases;
        continue;
      }
      if (const TiedTensor* tied = find_tied(name); tied != nullptr && layout.find(tied->equals) != nullptr)
        continue;
      const bool of_head =
          is_head_tensor(name) && (other_head_ || options_.encoder_only ||
                                   !model_.config.foreign_class.empty() || name.starts_with("bert.pooler."));
      (of_head ? of_heads : unknown).push_back(one_line_name(tensor.name));
    }
    if (zero_biases > 0)
      model_.notes.push_back(fmt::format("{} biases of attention, all zeros, left out", zero_biases));
    if (!of_heads.empty() && model_.config.foreign_class.empty())
      model_.notes.push_back("of another head and left out: " + listed(of_heads));
    if (!unknown.empty()) {
      log_warning(
          fmt::format("{}: {} not part of this model and ignored: {}", weights_.path(),
                      unknown.size() == 1 ? "a tensor is" : fmt::format("{} tensors are", unknown.size()),
                      listed(unknown)));
    }
  }

  bool gives_classes_to_tokens_ = false;  // the folder's own head, of a BERT
  const std::string& folder_;
  const LoadOptions& options_;
  const WeightFiles weights_;
  std::deque<StoredTensor> turned_;  // views of matrices, turned
  bool lifted_ = false;
  LoadedModel model_;
  float* parameters_ = nullptr;  // where they go
  bool other_head_ = false;      // than the stored one
  bool untied_ = false;          // as config.json says it
  Stored stored_;
  std::vector<std::string> int8_;   // tensors that are stored as integers and scales
  std::vector<std::string> fresh_;  // start from random values
  std::unordered_map<std::string, std::vector<float>> adapted_;
};

}  // namespace

DecoderConfig decoder_like(const ModelConfig& config) {
  DecoderConfig decoder;
  decoder.num_hidden_layers = config.num_hidden_layers;
  decoder.num_attention_heads = config.num_attention_heads;
  decoder.intermediate_size = config.intermediate_size;
  return decoder;
}

LoadedModel load_model(const std::string& folder, const LoadOptions& options) {
  if (!folder_exists(folder)) {
    throw_bad_input(folder + ": no such model folder",
                    "a model folder holds config.json and model.safetensors");
  }
  return Loader(folder, options).load();
}

LoadedModel load_model(const std::string& folder, HeadType head, std::uint64_t seed, std::int64_t num_labels,
                       bool fresh_head) {
  LoadOptions options;
  options.fresh_head = fresh_head;
  options.head = head;
  options.seed = seed;
  options.num_labels = num_labels;
  return load_model(folder, options);
}

}  // namespace bigbird
