// Finding and loading the tokenizer of a folder; see tokenizer.h.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/added_token_files.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/text_vocabulary.h"
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

  // Whether the files give a special piece this name, or it is one of those that are text in data.
  bool is_literal(const std::string& name) const {
    if (is_reserved_text(name)) return true;
    for (const char* key :
         {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
      const std::vector<std::string> named = names_of(key, {});
      if (std::find(named.begin(), named.end(), name) != named.end()) return true;
    }
    return false;
  }

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

// Of `added` what is found in texts: all but the special pieces by their names.
std::vector<AddedToken> found_in_texts(const std::vector<AddedToken>& added, const SpecialPieces& pieces,
                                       const SpecialIds& special) {
  std::vector<AddedToken> found;
  for (const AddedToken& token : added) {
    const bool one_of_five = token.id == special.pad || token.id == special.unknown ||
                             token.id == special.cls || token.id == special.sep || token.id == special.mask;
    if (!one_of_five && !pieces.is_literal(token.text)) found.push_back(token);
  }
  return found;
}

std::vector<std::string> together(std::vector<std::string> pieces, const std::vector<std::string>& more) {
  pieces.insert(pieces.end(), more.begin(), more.end());
  return pieces;
}

// What goes into the digest of a vocabulary beside its own file.
std::string lines_of(const std::vector<AddedToken>& added) {
  std::string text;
  for (const AddedToken& token : added) {
    text += "\n" + std::to_string(token.id) + (token.special ? "s" : "") + (token.strips_left ? "l" : "") +
            (token.strips_right ? "r" : "") + (token.normalized ? "n" : "") + (token.single_word ? "w" : "") +
            " " + token.text;
  }
  return text;
}

// Those that the vocabulary's own file does not list.
std::vector<AddedToken> beyond(const std::vector<AddedToken>& found, const std::vector<AddedToken>& known) {
  std::vector<AddedToken> more;
  for (const AddedToken& token : found) {
    if (std::none_of(known.begin(), known.end(),
                     [&](const AddedToken& other) { return other.text == token.text; }))
      more.push_back(token);
  }
  return more;
}

std::unique_ptr<Tokenizer> load_sentencepiece(const std::string& folder, const std::string& path) {
  const std::string bytes = read_file(path);
  const SentencePieceModel model = parse_sentencepiece_model(bytes, path);
  std::vector<std::string> texts;
  for (const ModelPiece& piece : model.pieces) texts.push_back(piece.text);
  const AddedTokens added = read_added_tokens(folder, texts, {}, path);
  const std::vector<std::string> all = together(std::move(texts), added.new_pieces);
  SpecialPieces pieces(folder, path);
  pieces.add_all(all);
  const SpecialIds special{pieces.pad(), pieces.unknown(), pieces.cls(), pieces.sep(), pieces.mask()};
  const bool fast =
      !model.is_dna_bpe() && pieces.tokenizer_class() == "BigBirdTokenizerFast" && has_fast_view(model);
  std::unique_ptr<Tokenizer> tokenizer = model.is_dna_bpe() ? make_dna_tokenizer(model, special, bytes)
                                         : fast
                                             ? make_fast_sentencepiece_tokenizer(model, special, bytes, path)
                                             : make_sentencepiece_tokenizer(model, special, bytes, path);
  std::vector<AddedToken> found = found_in_texts(added.tokens, pieces, special);
  const bool extended = !found.empty() || !added.new_pieces.empty();
  const std::string digest = extended ? sha256_bytes(bytes + lines_of(found)) : tokenizer->digest();
  // The library finds what its trainer was told to define; the fast view has it as added tokens.
  for (std::uint32_t id = 0; fast && id < model.pieces.size(); ++id) {
    if (model.pieces[id].type != PieceType::user_defined) continue;
    AddedToken token;
    token.text = model.pieces[id].text;
    token.id = id;
    const bool listed =
        std::any_of(found.begin(), found.end(), [&](const AddedToken& other) { return other.id == id; });
    if (listed || token.text.empty()) continue;
    const std::vector<AddedToken> one = found_in_texts({token}, pieces, special);
    found.insert(found.end(), one.begin(), one.end());
  }
  if (!extended && found.empty()) return tokenizer;
  return with_added_tokens(std::move(tokenizer), all, found, special, digest);
}

// `known` are the tokens whose flags the files of the vocabulary say themselves.
std::unique_ptr<Tokenizer> byte_level_tokenizer(const std::string& folder, const std::string& path,
                                                ByteLevelDefinition definition,
                                                const std::vector<AddedToken>& known, std::string digest) {
  const AddedTokens added = read_added_tokens(folder, definition.pieces, known, path);
  const std::vector<AddedToken> own = std::move(definition.added);
  definition.pieces = together(std::move(definition.pieces), added.new_pieces);
  definition.added = added.tokens;
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
  const std::vector<AddedToken> found = found_in_texts(definition.added, pieces, special);
  if (const std::vector<AddedToken> more = beyond(found, own); !more.empty())
    digest = sha256_bytes(digest + lines_of(more));
  std::unique_ptr<Tokenizer> tokenizer = make_byte_level_tokenizer(definition, special, digest);
  if (found.empty()) return tokenizer;
  return with_added_tokens(std::move(tokenizer), definition.pieces, found, special, digest);
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
      parse_byte_level_files(vocabulary, vocabulary_path, merges, merges_path, added, added_path), {},
      sha256_bytes(vocabulary + merges + added));
}

std::unique_ptr<Tokenizer> load_json(const std::string& folder, const std::string& path) {
  const std::string bytes = read_file(path);
  if (is_byte_level_json(bytes)) {
    const ByteLevelDefinition definition = parse_byte_level_json(bytes, path);
    return byte_level_tokenizer(folder, path, definition, definition.added, sha256_bytes(bytes));
  }
  TokenizerJson definition = parse_tokenizer_json(bytes, path);
  const AddedTokens added = read_added_tokens(folder, definition.pieces, definition.added, path);
  definition.pieces = together(std::move(definition.pieces), added.new_pieces);
  SpecialPieces pieces(folder, path);
  pieces.add_all(definition.pieces);
  const SpecialIds special{pieces.pad(), definition.unknown, definition.cls ? *definition.cls : pieces.cls(),
                           definition.sep ? *definition.sep : pieces.sep(), pieces.mask()};
  const std::vector<AddedToken> more =
      found_in_texts(beyond(added.tokens, definition.added), pieces, special);
  definition.added.insert(definition.added.end(), more.begin(), more.end());
  return make_json_tokenizer(definition, special, bytes + lines_of(more));
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
