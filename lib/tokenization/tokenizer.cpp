// What both kinds of tokenizer share, and loading one from its folder; see tokenizer.h.
#include "lib/tokenization/tokenizer.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "lib/core/error.h"
#include "lib/io/file.h"
#include "lib/tokenization/sentencepiece_model.h"

namespace bigbird {
namespace {

constexpr const char* model_file = "spiece.model";
constexpr const char* config_file = "tokenizer_config.json";
constexpr const char* train_hint =
    "make a tokenizer with bigbird train-bpe, or name the folder that holds one";

std::uint32_t length_of(const ModelPiece& piece) {
  if (piece.type == PieceType::control || piece.type == PieceType::unknown) return 0;
  if (piece.type == PieceType::byte) return 1;
  constexpr std::string_view word_start = "\xE2\x96\x81";  // U+2581, stands for a blank
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < piece.text.size(); ++length) {
    i += piece.text.compare(i, word_start.size(), word_start) == 0 ? word_start.size() : 1;
  }
  return length;
}

// The names in tokenizer_config.json, as strings or as {"content": ...}.
nlohmann::json read_config(const std::string& path) {
  if (!file_exists(path)) return nlohmann::json::object();
  nlohmann::json config = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!config.is_object()) throw_bad_input(path + ": not a JSON object", train_hint);
  return config;
}

SpecialIds find_special_ids(const SentencePieceModel& model, const nlohmann::json& config,
                            const std::string& where) {
  std::unordered_map<std::string, std::uint32_t> ids;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    ids.emplace(model.pieces[id].text, static_cast<std::uint32_t>(id));
  }
  const auto find = [&](const char* key, const std::vector<std::string>& usual) {
    std::vector<std::string> names = usual;
    if (const auto entry = config.find(key); entry != config.end()) {
      if (entry->is_string()) names = {entry->get<std::string>()};
      if (entry->is_object() && entry->contains("content") && (*entry)["content"].is_string()) {
        names = {(*entry)["content"].get<std::string>()};
      }
    }
    for (const std::string& name : names) {
      if (const auto found = ids.find(name); found != ids.end()) return found->second;
    }
    throw_bad_input(where + ": the model has no piece " + names.front() + " (" + key + ")",
                    std::string("name the model's special pieces in ") + config_file + " beside it");
  };
  return {find("pad_token", {"[PAD]", "<pad>"}), find("unk_token", {"[UNK]", "<unk>"}),
          find("cls_token", {"[CLS]"}), find("sep_token", {"[SEP]"}), find("mask_token", {"[MASK]"})};
}

}  // namespace

Tokenizer::Tokenizer(const SentencePieceModel& model, const SpecialIds& special, std::string digest)
    : special_(special), digest_(std::move(digest)) {
  for (const ModelPiece& piece : model.pieces) {
    pieces_.push_back(piece.text);
    piece_lengths_.push_back(length_of(piece));
    special_flags_.push_back(piece.type == PieceType::control || piece.type == PieceType::unknown ? 1 : 0);
  }
  for (const std::uint32_t id : {special.pad, special.unknown, special.cls, special.sep, special.mask}) {
    special_flags_[id] = 1;  // Google's models hold some of these as user-defined pieces
    piece_lengths_[id] = 0;
  }
}

const std::string& Tokenizer::piece(std::uint32_t id) const {
  if (id >= pieces_.size()) {
    throw_bad_input("id " + std::to_string(id) + " is outside the vocabulary of " +
                        std::to_string(pieces_.size()) + " pieces",
                    "the ids were made with another tokenizer");
  }
  return pieces_[id];
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  if (!folder_exists(folder)) throw_bad_input(folder + ": no such tokenizer folder", train_hint);
  const std::string path = folder + "/" + model_file;
  if (!file_exists(path)) throw_bad_input(path + ": no such file", train_hint);
  const std::string bytes = read_file(path);
  const SentencePieceModel model = parse_sentencepiece_model(bytes, path);
  const SpecialIds special = find_special_ids(model, read_config(folder + "/" + config_file), path);
  return model.is_dna_bpe() ? make_dna_tokenizer(model, special, bytes)
                            : make_library_tokenizer(model, special, bytes, path);
}

std::vector<std::string> tokenizer_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const char* name : {model_file, "spiece.vocab", config_file}) {
    if (file_exists(folder + "/" + name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace bigbird
