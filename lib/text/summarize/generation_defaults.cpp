// See generation_defaults.h.
#include "lib/text/summarize/generation_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/model/config.h"

namespace bigbird {
namespace {

constexpr std::int64_t paper_beams = 5, paper_length = 256;
constexpr double paper_penalty = 0.8;
constexpr std::int64_t largest_value = 1'000'000;

class GenerationFields {
 public:
  GenerationFields(const nlohmann::json& json, std::string file) : json_(json), file_(std::move(file)) {}

  bool has(const char* field) const { return json_.contains(field) && !json_.at(field).is_null(); }
  [[noreturn]] void refuse(const char* field, const char* wanted) const {
    throw_bad_input(
        fmt::format("{}: field {} is {}, not {}", file_, field, json_text(json_.at(field)), wanted),
        "correct the value, or take the file as transformers wrote it");
  }
  void whole(const char* field, std::int64_t least, std::int64_t& value) const {
    if (!has(field)) return;
    const nlohmann::json& stored = json_.at(field);
    if (!stored.is_number_integer() || stored.get<std::int64_t>() < least ||
        stored.get<std::int64_t>() > largest_value)
      refuse(field, fmt::format("a whole number from {} on", least).c_str());
    value = stored.get<std::int64_t>();
  }
  void number(const char* field, double least, double& value) const {
    if (!has(field)) return;
    const nlohmann::json& stored = json_.at(field);
    if (!stored.is_number() || !std::isfinite(stored.get<double>()) || stored.get<double>() < least)
      refuse(field, fmt::format("a number from {} on", least).c_str());
    value = stored.get<double>();
  }
  const nlohmann::json& at(const char* field) const { return json_.at(field); }
  const std::string& file() const { return file_; }

 private:
  const nlohmann::json& json_;
  std::string file_;
};

EarlyStopping early_stopping(const GenerationFields& fields) {
  if (!fields.has("early_stopping")) return EarlyStopping::no;
  const nlohmann::json& value = fields.at("early_stopping");
  if (value == "never") return EarlyStopping::never;
  if (!value.is_boolean()) fields.refuse("early_stopping", "true, false or \"never\"");
  return value.get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
}

void take_lengths(const GenerationFields& fields, SearchOptions& options) {
  std::int64_t new_tokens = 0, least_new = 0;
  fields.whole("max_length", 2, options.max_length);
  fields.whole("max_new_tokens", 1, new_tokens);
  if (new_tokens > 0) options.max_length = new_tokens + 1;  // the start symbol counts
  fields.whole("min_length", 0, options.min_length);
  fields.whole("min_new_tokens", 0, least_new);
  if (least_new > 0) options.min_length = std::max(options.min_length, least_new + 1);
  if (options.min_length > options.max_length) {
    throw_bad_input(fmt::format("{}: min_length {} is above max_length {}", fields.file(), options.min_length,
                                options.max_length),
                    "correct one of them");
  }
}

std::int32_t token_of(const GenerationFields& fields, const char* field, const nlohmann::json& value,
                      std::int64_t vocabulary) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() >= vocabulary)
    fields.refuse(field, fmt::format("an id below {}", vocabulary).c_str());
  return value.get<std::int32_t>();
}

// The start, the ends, and what has to stand first.
void take_tokens(const GenerationFields& fields, std::int64_t vocabulary, SearchOptions& options) {
  const auto token = [&](const char* field) { return token_of(fields, field, fields.at(field), vocabulary); };
  if (fields.has("decoder_start_token_id")) options.start = token("decoder_start_token_id");
  if (fields.has("forced_bos_token_id")) options.forced_begin = token("forced_bos_token_id");
  if (!fields.has("eos_token_id")) return;
  const nlohmann::json& ends = fields.at("eos_token_id");
  if (!ends.is_array()) {
    options.end = token("eos_token_id");
    return;
  }
  if (ends.empty()) fields.refuse("eos_token_id", "an id or a list of ids");
  options.end = token_of(fields, "eos_token_id", ends[0], vocabulary);
  for (std::size_t i = 1; i < ends.size(); ++i)
    options.more_ends.push_back(token_of(fields, "eos_token_id", ends[i], vocabulary));
}

constexpr const char* searched_fields[] = {"num_beams",
                                           "length_penalty",
                                           "max_length",
                                           "max_new_tokens",
                                           "min_length",
                                           "min_new_tokens",
                                           "no_repeat_ngram_size",
                                           "repetition_penalty",
                                           "early_stopping",
                                           "forced_eos_token_id",
                                           "do_sample",
                                           "temperature",
                                           "top_k",
                                           "top_p"};

// Of fields that are not followed, what generate() has for them: other values would give other texts.
struct UnfollowedField {
  const char* name;
  const char* usual;  // JSON; null is always usual
};
constexpr UnfollowedField unfollowed_fields[] = {{"encoder_repetition_penalty", "1.0"},
                                                 {"encoder_no_repeat_ngram_size", "0"},
                                                 {"exponential_decay_length_penalty", "null"},
                                                 {"min_p", "null"},
                                                 {"typical_p", "1.0"},
                                                 {"epsilon_cutoff", "0.0"},
                                                 {"eta_cutoff", "0.0"},
                                                 {"penalty_alpha", "null"},
                                                 {"guidance_scale", "null"},
                                                 {"bad_words_ids", "null"},
                                                 {"force_words_ids", "null"},
                                                 {"constraints", "null"},
                                                 {"suppress_tokens", "null"},
                                                 {"begin_suppress_tokens", "null"},
                                                 {"sequence_bias", "null"},
                                                 {"num_beam_groups", "1"},
                                                 {"diversity_penalty", "0.0"},
                                                 {"num_return_sequences", "1"},
                                                 {"renormalize_logits", "false"},
                                                 {"remove_invalid_values", "false"},
                                                 {"token_healing", "false"},
                                                 {"max_time", "null"},
                                                 {"stop_strings", "null"},
                                                 {"dola_layers", "null"},
                                                 {"prompt_lookup_num_tokens", "null"},
                                                 {"watermarking_config", "null"}};
// Fields that change no text: where values are kept, what is returned beside it, how drafts are made.
constexpr const char* silent_fields[] = {"use_cache",
                                         "pad_token_id",
                                         "bos_token_id",
                                         "decoder_start_token_id",
                                         "forced_bos_token_id",
                                         "eos_token_id",
                                         "transformers_version",
                                         "_from_model_config",
                                         "low_memory",
                                         "is_assistant",
                                         "disable_compile",
                                         "prefill_chunk_size",
                                         "max_matching_ngram_size",
                                         "target_lookbehind"};
constexpr const char* silent_beginnings[] = {"output_", "return_", "cache_", "num_assistant_", "assistant_"};

// One line about the fields that are not done. `own` is a file of nothing but such fields: there one that is
// not known is named as well.
void say_unfollowed(const nlohmann::json& json, const std::string& file, bool own) {
  const auto is_among = [](const auto& names, const std::string& key) {
    return std::any_of(std::begin(names), std::end(names), [&](const char* name) { return key == name; });
  };
  std::vector<std::string> found;
  for (const auto& entry : json.items()) {
    const std::string& key = entry.key();
    const nlohmann::json& value = entry.value();
    if (value.is_null()) continue;
    const auto* const known = std::find_if(std::begin(unfollowed_fields), std::end(unfollowed_fields),
                                           [&](const UnfollowedField& field) { return key == field.name; });
    const bool silent = is_among(searched_fields, key) || is_among(silent_fields, key) ||
                        std::any_of(std::begin(silent_beginnings), std::end(silent_beginnings),
                                    [&](const char* begin) { return key.starts_with(begin); });
    const bool listed = known != std::end(unfollowed_fields);
    if (listed ? value == nlohmann::json::parse(known->usual) : silent || !own) continue;
    constexpr std::size_t most_shown = 40;
    found.push_back(text_for_message(key, most_shown) + " " +
                    text_for_message(value.dump(-1, ' ', true), most_shown));
  }
  if (found.empty()) return;
  log_warning_once(fmt::format("{}: not followed: {}", file, fmt::join(found, ", ")));
}

std::string own_file(const std::string& folder) {
  return folder + "/generation_config.json";
}

}  // namespace

std::string generation_config_text(const std::string& folder) {
  if (file_exists(own_file(folder))) return read_file(own_file(folder));
  const auto json =
      nlohmann::basic_json<OrderedMap>::parse(read_file(folder + "/config.json"), nullptr, false);
  nlohmann::basic_json<OrderedMap> found;
  for (const char* field : searched_fields) {
    if (json.contains(field) && !json.at(field).is_null()) found[field] = json.at(field);
  }
  if (found.empty()) return {};
  for (const char* field :
       {"decoder_start_token_id", "eos_token_id", "pad_token_id", "bos_token_id", "forced_bos_token_id"}) {
    if (json.contains(field)) found[field] = json.at(field);
  }
  return json_text(found, 2) + "\n";
}

SearchOptions generation_defaults(const std::string& folder, const ModelConfig& config) {
  const std::string own = own_file(folder);
  const std::string file = file_exists(own) ? own : folder + "/config.json";
  const nlohmann::json json = nlohmann::json::parse(read_file(file), nullptr, false);
  if (!json.is_object()) throw_bad_input(file + ": not a JSON object", "copy or download the file again");
  const GenerationFields fields(json, file);
  SearchOptions options;
  options.start = static_cast<std::int32_t>(config.decoder.start_token_id);
  options.end = static_cast<std::int32_t>(config.eos_token_id);
  say_unfollowed(json, file, file == own);
  take_tokens(fields, config.vocab_size, options);
  const char* const telling[] = {"num_beams", "length_penalty", "max_length", "max_new_tokens", "do_sample"};
  if (std::none_of(std::begin(telling), std::end(telling),
                   [&](const char* name) { return fields.has(name); })) {
    options.beams = paper_beams;
    options.length_penalty = paper_penalty;
    options.max_length = paper_length;
  }
  fields.whole("num_beams", 1, options.beams);
  fields.number("length_penalty", -largest_value, options.length_penalty);
  take_lengths(fields, options);
  fields.whole("no_repeat_ngram_size", 0, options.no_repeat_ngram);
  fields.number("repetition_penalty", 1e-6, options.repetition_penalty);
  options.early_stopping = early_stopping(fields);
  options.forced_end = fields.has("forced_eos_token_id");
  if (options.forced_end && fields.at("forced_eos_token_id") != options.end) {
    fields.refuse("forced_eos_token_id", fmt::format("the end, {}", options.end).c_str());
  }
  fields.number("temperature", 1e-6, options.sampling.temperature);
  fields.whole("top_k", 0, options.sampling.top_k);
  fields.number("top_p", 1e-6, options.sampling.top_p);
  if (fields.has("do_sample") && fields.at("do_sample") == true) {
    if (options.beams == 1) {
      options.decoding = Decoding::sample;
    } else {
      log_warning(file + ": do_sample with several beams is not done: beam search instead");
    }
  }
  options.max_length = std::min(options.max_length, config.decoder_positions());
  return options;
}

}  // namespace bigbird
