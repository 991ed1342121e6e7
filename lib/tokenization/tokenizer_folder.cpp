// Writes tokenizer folders for transformers; see tokenizer_folder.h.
//
// tokenizer_class is PreTrainedTokenizerFast: it takes a tokenizer.json as it is in both versions, where the
// classes by the model's name build their own steps from the vocabulary alone in version 5 (and
// BigBirdTokenizer's a unigram model out of BPE).
#include "lib/tokenization/tokenizer_folder.h"
#include "lib/tokenization/tokenizer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

using ConfigJson = nlohmann::ordered_json;

constexpr const char* json_name = "tokenizer.json";
constexpr const char* config_name = "tokenizer_config.json";

// The text of tokenizer.json, and whether it repeats the other files; empty where none can be made.
std::pair<std::string, bool> json_of(const TokenizerSource& source, const TokenizerFolderOptions& options) {
  const TokenizerJsonAdditions additions{fold_steps(options.encoding), options.second_type};
  if (source.kind == TokenizerSource::Kind::byte_level) {
    if (source.from_json) return {source.bytes, false};
    return {byte_level_json_text(source.byte_level, source.special, additions), true};
  }
  if (source.from_json) {
    return {additions.first.empty() ? source.bytes : with_first_steps(source.bytes, additions.first), false};
  }
  if (source.kind == TokenizerSource::Kind::subword) {
    return {tokenizer_json_text(source.definition, additions), false};
  }
  if (source.model->type != ModelType::bpe || source.model->has_character_map) return {};
  TokenizerJson definition = library_definition(*source.model, source.special, source.path);
  add_tokens(source, definition);
  return {tokenizer_json_text(definition, additions), true};
}

const std::vector<std::string>& pieces_of(const TokenizerSource& source) {
  if (source.kind == TokenizerSource::Kind::byte_level) return source.byte_level.pieces;
  return source.from_json ? source.definition.pieces : source.pieces;
}

std::string config_of(const std::string& old, const TokenizerSource& source, const std::string& json,
                      bool repeats, const TokenizerFolderOptions& options) {
  ConfigJson config = old.empty() ? ConfigJson::object() : ConfigJson::parse(old, nullptr, false);
  if (!config.is_object()) config = ConfigJson::object();
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  if (options.positions > 0) config["model_max_length"] = options.positions;
  // tokenizer.json says what is added, where nothing else is read; code and kinds of one class are no
  // other's.
  if (source.added.empty() && source.more.empty()) config.erase("added_tokens_decoder");
  for (const char* key : {"auto_map", "tokenizer_file", "vocab_file", "sp_model_kwargs", "backend",
                          "add_bos_token", "add_eos_token"}) {
    config.erase(key);
  }
  // Version 5 writes a list, which version 4 does not load.
  if (config.contains("extra_special_tokens") && config["extra_special_tokens"].is_array()) {
    config.erase("extra_special_tokens");
  }
  const std::vector<std::string>& pieces = pieces_of(source);
  const auto name = [&](const char* key, std::uint32_t id) { config[key] = pieces[id]; };
  name("pad_token", source.special.pad);
  name("unk_token", source.special.unknown);
  name("cls_token", source.special.cls);
  name("sep_token", source.special.sep);
  name("mask_token", source.special.mask);
  const auto usual = [&](const char* key, const char* piece, std::uint32_t otherwise) {
    if (config.contains(key)) return;
    const bool has_it = std::find(pieces.begin(), pieces.end(), piece) != pieces.end();
    config[key] = has_it ? piece : pieces[otherwise];
  };
  usual("bos_token", "<s>", source.special.cls);
  usual("eos_token", "</s>", source.special.sep);
  if (!config.contains("clean_up_tokenization_spaces")) config["clean_up_tokenization_spaces"] = false;
  config["model_input_names"] = {"input_ids", "attention_mask"};
  if (options.second_type)
    config["model_input_names"].insert(config["model_input_names"].begin() + 1, "token_type_ids");
  if (repeats) {
    config["bigbird"][repeats_key] = sha256_bytes(json);
  } else if (config.contains("bigbird") && config["bigbird"].is_object()) {
    config["bigbird"].erase(repeats_key);
    if (config["bigbird"].empty()) config.erase("bigbird");
  }
  return json_text(config, 2) + "\n";
}

}  // namespace

void write_tokenizer_files(const std::string& from, const std::string& to,
                           const TokenizerFolderOptions& options) {
  std::map<std::string, std::string> files;
  for (const std::string& name : tokenizer_files(from)) files[name] = read_file(from + "/" + name);
  std::optional<TokenizerSource> source;
  try {
    source = read_tokenizer_source(from);
  } catch (const Error&) {  // who needs the ids has said so
  }
  // Of k-mers transformers has no fast tokenizer: its class reads the files as they are.
  if (source && source->kind != TokenizerSource::Kind::kmers) {
    try {
      const auto [json, repeats] = json_of(*source, options);
      if (json.empty()) {
        log_warning(source->path +
                    ": transformers has no tokenizer.json for a model of this kind; none is written");
      } else {
        files[json_name] = json;
        files[config_name] = config_of(files[config_name], *source, json, repeats, options);
      }
    } catch (const ConfigJson::exception&) {
      log_warning(source->path + ": holds bytes that are not UTF-8; no " + json_name + " is written");
    }
  }
  for (const auto& [name, text] : files) {
    if (!text.empty()) write_text_atomic(to + "/" + name, text);
  }
}

}  // namespace bigbird
