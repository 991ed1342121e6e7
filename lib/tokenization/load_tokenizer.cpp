// Finding and loading the tokenizer of a folder; see tokenizer.h.
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"

namespace bigbird {
namespace {

constexpr const char* sentencepiece_file = "spiece.model";
constexpr const char* json_file = "tokenizer.json";
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
      names_.push_back(nlohmann::json::parse(read_file(path), nullptr, false));
      if (!names_.back().is_object()) throw_bad_input(path + ": not a JSON object", train_hint);
    }
  }

  void add(const std::string& piece, std::uint32_t id) { ids_.emplace(piece, id); }

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
  return model.is_dna_bpe() ? make_dna_tokenizer(model, special, bytes)
                            : make_sentencepiece_tokenizer(model, special, bytes, path);
}

std::unique_ptr<Tokenizer> load_json(const std::string& folder, const std::string& path) {
  const std::string bytes = read_file(path);
  const TokenizerJson definition = parse_tokenizer_json(bytes, path);
  SpecialPieces pieces(folder, path);
  for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
    pieces.add(definition.pieces[id], static_cast<std::uint32_t>(id));
  }
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
  throw_bad_input(sentencepiece + ": no such file, and no " + json_file + " either", train_hint);
}

std::vector<std::string> tokenizer_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const char* name : {sentencepiece_file, "spiece.vocab", json_file, "vocab.json", "merges.txt",
                           "added_tokens.json", config_file, specials_file}) {
    if (file_exists(folder + "/" + name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace bigbird
