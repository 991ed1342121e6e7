// Finding and loading the tokenizer of a folder; see tokenizer.h.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"

namespace bigbird {
namespace {

constexpr const char* sentencepiece_file = "spiece.model";
constexpr const char* json_file = "tokenizer.json";
constexpr const char* vocabulary_file = "vocab.json";
constexpr const char* merges_file = "merges.txt";
constexpr const char* added_file = "added_tokens.json";
constexpr const char* config_file = "tokenizer_config.json";
constexpr const char* specials_file = "special_tokens_map.json";
constexpr const char* train_hint =
    "make a tokenizer with bigbird train-bpe, or name the folder that holds one";

// The special pieces of a vocabulary, by the names that the files beside it give them.
class SpecialPieces {
 public:
  // `where` is the vocabulary's file, for messages.
  SpecialPieces(const std::string& folder, std::string where) : where_(std::move(where)) {
    for (const char* name : {config_file, specials_file}) {
      const std::string path = folder + "/" + name;
      if (!file_exists(path)) continue;
      if (name == std::string_view(config_file)) has_config_ = true;
      names_.push_back(nlohmann::json::parse(read_file(path), nullptr, false));
      if (!names_.back().is_object()) throw_bad_input(path + ": not a JSON object", train_hint);
    }
  }

  void add(const std::string& piece, std::uint32_t id) { ids_.emplace(piece, id); }
  void add_all(const std::vector<std::string>& pieces) {
    for (std::size_t id = 0; id < pieces.size(); ++id) add(pieces[id], static_cast<std::uint32_t>(id));
  }

  std::uint32_t find(const char* key, const std::vector<std::string>& usual) const {
    const std::vector<std::string> names = names_of(key, usual);
    for (const std::string& name : names) {
      if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    }
    throw_bad_input(where_ + ": the model has no piece " + escape_controls(names.front()) + " (" + key + ")",
                    std::string("name the model's special pieces in ") + config_file + " beside it");
  }
  std::uint32_t pad() const { return find("pad_token", {"[PAD]", "<pad>"}); }
  std::uint32_t unknown() const { return find("unk_token", {"[UNK]", "<unk>"}); }
  std::uint32_t cls() const { return find("cls_token", {"[CLS]"}); }
  std::uint32_t sep() const { return find("sep_token", {"[SEP]"}); }
  std::uint32_t mask() const { return find("mask_token", {"[MASK]"}); }

  // What tokenizer_config.json says of a setting; nothing without the file, the setting, or another type.
  std::optional<bool> flag(const char* key) const {
    if (!has_config_) return std::nullopt;
    const auto entry = names_.front().find(key);
    if (entry == names_.front().end() || !entry->is_boolean()) return std::nullopt;
    return entry->get<bool>();
  }
  std::string tokenizer_class() const {
    if (!has_config_) return {};
    const auto entry = names_.front().find("tokenizer_class");
    if (entry == names_.front().end() || !entry->is_string()) return {};
    return entry->get<std::string>();
  }

 private:
  // A name stands in the files as a string or as {"content": ...}.
  std::vector<std::string> names_of(const char* key, const std::vector<std::string>& usual) const {
    for (const nlohmann::json& file : names_) {
      const auto entry = file.find(key);
      if (entry == file.end()) continue;
      if (entry->is_string()) return {entry->get<std::string>()};
      if (entry->is_object() && entry->contains("content") && (*entry)["content"].is_string()) {
        return {(*entry)["content"].get<std::string>()};
      }
    }
    return usual;
  }

  std::string where_;
  std::vector<nlohmann::json> names_;
  bool has_config_ = false;  // names_ begins with tokenizer_config.json
  std::unordered_map<std::string, std::uint32_t> ids_;
};

std::unique_ptr<Tokenizer> load_sentencepiece(const std::string& folder, const std::string& path) {
  const std::string bytes = read_file(path);
  const SentencePieceModel model = parse_sentencepiece_model(bytes, path);
  SpecialPieces pieces(folder, path);
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    pieces.add(model.pieces[id].text, static_cast<std::uint32_t>(id));
  }
  const SpecialIds special{pieces.pad(), pieces.unknown(), pieces.cls(), pieces.sep(), pieces.mask()};
  if (model.is_dna_bpe()) return make_dna_tokenizer(model, special, bytes);
  if (pieces.tokenizer_class() == "BigBirdTokenizerFast" && has_fast_view(model)) {
    return make_fast_sentencepiece_tokenizer(model, special, bytes, path);
  }
  return make_sentencepiece_tokenizer(model, special, bytes, path);
}

std::unique_ptr<Tokenizer> byte_level_tokenizer(const std::string& folder, const std::string& path,
                                                ByteLevelDefinition definition, std::string digest) {
  SpecialPieces pieces(folder, path);
  pieces.add_all(definition.pieces);
  const std::optional<bool> prefix = pieces.flag("add_prefix_space");
  if (prefix) definition.add_prefix_space = *prefix;
  const std::optional<bool> trim = pieces.flag("trim_offsets");
  if (trim) definition.trim_offsets = *trim;
  const SpecialIds special{
      pieces.find("pad_token", {"<pad>", "[PAD]"}),
      definition.unknown ? *definition.unknown : pieces.find("unk_token", {"<unk>", "[UNK]"}),
      definition.cls ? *definition.cls : pieces.find("cls_token", {"<s>", "[CLS]"}),
      definition.sep ? *definition.sep : pieces.find("sep_token", {"</s>", "[SEP]"}),
      pieces.find("mask_token", {"<mask>", "[MASK]"})};
  return make_byte_level_tokenizer(definition, special, std::move(digest));
}

// vocab.json and merges.txt.
std::unique_ptr<Tokenizer> load_merges(const std::string& folder, const std::string& vocabulary_path,
                                       const std::string& merges_path) {
  const std::string vocabulary = read_file(vocabulary_path);
  const std::string merges = read_file(merges_path);
  const std::string added_path = folder + "/" + added_file;
  const std::string added = file_exists(added_path) ? read_file(added_path) : std::string();
  return byte_level_tokenizer(
      folder, vocabulary_path,
      parse_byte_level_files(vocabulary, vocabulary_path, merges, merges_path, added, added_path),
      sha256_bytes(vocabulary + merges + added));
}

std::unique_ptr<Tokenizer> load_json(const std::string& folder, const std::string& path) {
  const std::string bytes = read_file(path);
  if (is_byte_level_json(bytes)) {
    return byte_level_tokenizer(folder, path, parse_byte_level_json(bytes, path), sha256_bytes(bytes));
  }
  const TokenizerJson definition = parse_tokenizer_json(bytes, path);
  SpecialPieces pieces(folder, path);
  pieces.add_all(definition.pieces);
  const SpecialIds special{pieces.pad(), definition.unknown, definition.cls ? *definition.cls : pieces.cls(),
                           definition.sep ? *definition.sep : pieces.sep(), pieces.mask()};
  return make_json_tokenizer(definition, special, bytes);
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  if (!folder_exists(folder)) throw_bad_input(folder + ": no such tokenizer folder", train_hint);
  const std::string sentencepiece = folder + "/" + sentencepiece_file;
  if (file_exists(sentencepiece)) return load_sentencepiece(folder, sentencepiece);
  const std::string json = folder + "/" + json_file;
  if (file_exists(json)) return load_json(folder, json);
  const std::string vocabulary = folder + "/" + vocabulary_file;
  const std::string merges = folder + "/" + merges_file;
  if (file_exists(vocabulary) && file_exists(merges)) return load_merges(folder, vocabulary, merges);
  if (file_exists(vocabulary)) {
    throw_bad_input(merges + ": no such file, which " + vocabulary_file + " needs", train_hint);
  }
  throw_bad_input(sentencepiece + ": no such file, and no " + json_file + " either", train_hint);
}

std::vector<std::string> tokenizer_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const char* name : {sentencepiece_file, "spiece.vocab", json_file, vocabulary_file, merges_file,
                           added_file, config_file, specials_file}) {
    if (file_exists(folder + "/" + name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace bigbird
