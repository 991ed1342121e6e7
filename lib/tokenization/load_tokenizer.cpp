// Finding and loading the tokenizer of a folder; see tokenizer.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/text_vocabulary.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_folder.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

constexpr const char* sentencepiece_file = "spiece.model";
constexpr const char* json_file = "tokenizer.json";
constexpr const char* vocabulary_file = "vocab.json";
constexpr const char* merges_file = "merges.txt";
constexpr const char* wordpiece_file = "vocab.txt";
constexpr const char* added_file = "added_tokens.json";
constexpr const char* config_file = "tokenizer_config.json";
constexpr const char* specials_file = "special_tokens_map.json";
constexpr const char* train_hint =
    "make a tokenizer with bigbird train-bpe, or name the folder that holds one";

// The special pieces of a vocabulary, by the names that the files next to it give them.
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

  void add(const std::string& piece, std::uint32_t id) { ids_[piece] = id; }
  void add_all(const std::vector<std::string>& pieces) {
    for (std::size_t id = 0; id < pieces.size(); ++id) add(pieces[id], static_cast<std::uint32_t>(id));
  }

  std::uint32_t find(const char* key, const std::vector<std::string>& usual) const {
    const std::vector<std::string> names = names_of(key, usual);
    for (const std::string& name : names) {
      if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    }
    throw_bad_input(where_ + ": the model has no piece " + escape_controls(names.front()) + " (" + key + ")",
                    std::string("name the model's special pieces in ") + config_file + " next to it");
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

  // Whether the first file that has the key gives no piece.
  bool is_null(const char* key) const {
    for (const nlohmann::json& file : names_) {
      if (const auto entry = file.find(key); entry != file.end()) return entry->is_null();
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
    if (!special.holds(token.id) && !pieces.is_literal(token.text)) found.push_back(token);
  }
  return found;
}

std::vector<std::string> together(std::vector<std::string> pieces, const std::vector<std::string>& more) {
  pieces.insert(pieces.end(), more.begin(), more.end());
  return pieces;
}

// What goes into the digest of a vocabulary next to its own file.
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

// Members of tokenizer_config.json that this program has written; null without them.
nlohmann::json own_settings(const nlohmann::json& config) {
  return config.is_object() && config.contains("bigbird") ? config["bigbird"] : nlohmann::json();
}

// A vocabulary of `bigbird text vocabulary`: BPE behind the published reserved pieces.
bool is_own_vocabulary(const SentencePieceModel& model) {
  const std::vector<ModelPiece>& reserved = reserved_text_pieces();
  return model.type == ModelType::bpe && model.pieces.size() >= reserved.size() &&
         std::equal(reserved.begin(), reserved.end(), model.pieces.begin(),
                    [](const ModelPiece& a, const ModelPiece& b) { return a.text == b.text; });
}

// Of the config.json beside a tokenizer; empty without one.
std::string model_type_of(const std::string& folder) {
  const std::string path = folder + "/config.json";
  if (!file_exists(path)) return {};
  const nlohmann::json config = nlohmann::json::parse(read_file(path), nullptr, false);
  const bool known = config.is_object() && config.contains("model_type") && config["model_type"].is_string();
  return known ? config["model_type"].get<std::string>() : std::string();
}

// Which of transformers' tokenizers a spiece.model is for; of those that are read, Pegasus's alone differs.
ConvertedClass class_of(const std::string& folder, const std::string& tokenizer_class) {
  if (tokenizer_class.compare(0, 7, "Pegasus") == 0) return ConvertedClass::pegasus;
  if (!tokenizer_class.empty() && tokenizer_class.compare(0, 12, "PreTrainedTo") != 0) {
    return ConvertedClass::bigbird;
  }
  const std::string type = model_type_of(folder);
  return type == "bigbird_pegasus" || type == "pegasus" ? ConvertedClass::pegasus : ConvertedClass::bigbird;
}

TokenizerSource read_sentencepiece(const std::string& folder, const std::string& path) {
  TokenizerSource source;
  source.path = path;
  source.bytes = read_file(path);
  source.digest = sha256_bytes(source.bytes);
  source.model = parse_sentencepiece_model(source.bytes, path);
  const SentencePieceModel& model = *source.model;
  for (const ModelPiece& piece : model.pieces) source.pieces.push_back(piece.text);
  const AddedTokens added = read_added_tokens(folder, source.pieces, {}, path);
  source.pieces = together(std::move(source.pieces), added.new_pieces);
  SpecialPieces pieces(folder, path);
  pieces.add_all(source.pieces);
  source.special = {pieces.pad(), pieces.unknown(), pieces.cls(), pieces.sep(), pieces.mask()};
  source.added = found_in_texts(added.tokens, pieces, source.special);
  // What the model says of a piece itself holds.
  std::erase_if(source.added, [&](const AddedToken& token) {
    const PieceType type = token.id < model.pieces.size() ? model.pieces[token.id].type : PieceType::normal;
    return type == PieceType::control || type == PieceType::user_defined || type == PieceType::unknown;
  });
  if (!source.added.empty() || !added.new_pieces.empty()) {
    source.digest = sha256_bytes(source.bytes + lines_of(source.added));
  }
  // A BPE model that keeps blanks, or puts none in front of a text, was made for other texts than words.
  const bool of_words = model.add_dummy_prefix && model.escape_whitespaces;
  const bool converted = model.type == ModelType::unigram || (model.type == ModelType::bpe && of_words);
  if (model.is_dna_bpe()) {
    source.kind = TokenizerSource::Kind::dna;
  } else if (!converted || is_own_vocabulary(model)) {
    source.kind = TokenizerSource::Kind::library;
  } else {
    source.kind = TokenizerSource::Kind::subword;
    const ConvertedClass as = class_of(folder, pieces.tokenizer_class());
    source.definition = converted_definition(model, source.special, as, path);
    add_tokens(source, source.definition);
    if (as == ConvertedClass::pegasus) {
      source.definition.ending = pieces.find("eos_token", {"</s>"});
    }
  }
  return source;
}

void complete_byte_level(const std::string& folder, const std::vector<AddedToken>& known,
                         TokenizerSource& source) {
  ByteLevelDefinition& definition = source.byte_level;
  source.kind = TokenizerSource::Kind::byte_level;
  const AddedTokens added = read_added_tokens(folder, definition.pieces, known, source.path);
  const std::vector<AddedToken> own = std::move(definition.added);
  definition.pieces = together(std::move(definition.pieces), added.new_pieces);
  definition.added = added.tokens;
  SpecialPieces pieces(folder, source.path);
  pieces.add_all(definition.pieces);
  const std::optional<bool> prefix = pieces.flag("add_prefix_space");
  if (prefix) definition.add_prefix_space = *prefix;
  const std::optional<bool> trim = pieces.flag("trim_offsets");
  if (trim) definition.trim_offsets = *trim;
  source.special = {pieces.find("pad_token", {"<pad>", "[PAD]"}),
                    definition.unknown ? *definition.unknown : pieces.find("unk_token", {"<unk>", "[UNK]"}),
                    definition.cls ? *definition.cls : pieces.find("cls_token", {"<s>", "[CLS]"}),
                    definition.sep ? *definition.sep : pieces.find("sep_token", {"</s>", "[SEP]"}),
                    pieces.find("mask_token", {"<mask>", "[MASK]"})};
  source.added = found_in_texts(definition.added, pieces, source.special);
  if (const std::vector<AddedToken> more = beyond(source.added, own); !more.empty())
    source.digest = sha256_bytes(source.digest + lines_of(more));
}

// vocab.json and merges.txt.
TokenizerSource read_merges(const std::string& folder, const std::string& vocabulary_path,
                            const std::string& merges_path) {
  const std::string vocabulary = read_file(vocabulary_path);
  const std::string merges = read_file(merges_path);
  const std::string added_path = folder + "/" + added_file;
  const std::string added = file_exists(added_path) ? read_file(added_path) : std::string();
  TokenizerSource source;
  source.path = vocabulary_path;
  source.byte_level =
      parse_byte_level_files(vocabulary, vocabulary_path, merges, merges_path, added, added_path);
  source.digest = sha256_bytes(vocabulary + merges + added);
  complete_byte_level(folder, {}, source);
  return source;
}

// Classes of transformers that read a vocab.txt as BERT's; others cut words otherwise
// (BertJapaneseTokenizer).
constexpr std::array<std::string_view, 9> bert_classes{"Bert",       "DistilBert", "Electra",
                                                       "MobileBert", "ConvBert",   "SqueezeBert",
                                                       "LayoutLM",   "RetriBert",  "PreTrained"};
constexpr std::string_view plain_class = "PreTrainedTokenizerFast";

bool is_bert_class(std::string_view name) {
  for (const std::string_view end : {"TokenizerFast", "Tokenizer"}) {
    if (!name.ends_with(end)) continue;
    name.remove_suffix(end.size());
    return std::find(bert_classes.begin(), bert_classes.end(), name) != bert_classes.end();
  }
  return name.empty();
}

// What those classes take from tokenizer_config.json, also where a tokenizer.json says otherwise.
void apply_bert_settings(const SpecialPieces& settings, TokenizerJson& definition) {
  for (NormalizerStep& step : definition.normalizer) {
    if (step.kind != NormalizerStep::Kind::bert) continue;
    step.lowers = settings.flag("do_lower_case").value_or(true);
    step.strips_accents = settings.flag("strip_accents").value_or(step.lowers);
    step.parts_ideographs = settings.flag("tokenize_chinese_chars").value_or(true);
  }
}

TokenizerSource read_json(const std::string& folder, const std::string& path, std::string bytes) {
  TokenizerSource source;
  source.path = path;
  source.bytes = std::move(bytes);
  source.from_json = true;
  if (is_byte_level_json(source.bytes)) {
    source.byte_level = parse_byte_level_json(source.bytes, path);
    source.digest = sha256_bytes(source.bytes);
    const std::vector<AddedToken> known = source.byte_level.added;
    complete_byte_level(folder, known, source);
    return source;
  }
  source.definition = parse_tokenizer_json(source.bytes, path);
  TokenizerJson& definition = source.definition;
  const bool text = definition.is_of_text();
  SpecialPieces pieces(folder, path);
  if (definition.model == SubwordModel::wordpiece) {
    const std::string name = pieces.tokenizer_class();
    const bool takes_settings = !name.empty() && name != plain_class && is_bert_class(name);
    if (takes_settings) apply_bert_settings(pieces, definition);
  }
  const std::string digest = text ? vocabulary_digest(definition) : std::string();
  const AddedTokens added = read_added_tokens(folder, definition.pieces, definition.added, path);
  definition.pieces = together(std::move(definition.pieces), added.new_pieces);
  pieces.add_all(definition.pieces);
  source.special = {pieces.pad(), definition.unknown ? *definition.unknown : pieces.unknown(),
                    definition.cls ? *definition.cls : pieces.cls(),
                    definition.sep ? *definition.sep : pieces.sep(), pieces.mask()};
  const std::vector<AddedToken> more =
      found_in_texts(beyond(added.tokens, definition.added), pieces, source.special);
  definition.added.insert(definition.added.end(), more.begin(), more.end());
  source.kind = text ? TokenizerSource::Kind::subword : TokenizerSource::Kind::dna;
  source.more = lines_of(more);
  source.digest = !text          ? sha256_bytes(source.bytes + source.more)
                  : more.empty() ? digest
                                 : sha256_bytes(digest + source.more);
  return source;
}

void mark_special(const std::vector<std::string>& pieces, const SpecialIds& special,
                  std::vector<AddedToken>& added) {
  for (const std::uint32_t id : special.all()) {
    if (std::any_of(added.begin(), added.end(), [&](const AddedToken& token) { return token.id == id; }))
      continue;
    AddedToken& token = added.emplace_back();
    token.text = pieces[id];
    token.id = id;
    token.special = true;
  }
  std::sort(added.begin(), added.end(), [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
}

// A vocab.txt of k-mers: of EsmTokenizer, which ends no sequence where its eos_token is null, or of DNABERT,
// which BertTokenizer reads there as words.
TokenizerSource read_kmers(const SpecialPieces& settings, const std::string& path, std::string bytes,
                           TokenizerJson definition, bool overlapping) {
  TokenizerSource source;
  source.kind = TokenizerSource::Kind::kmers;
  source.path = path;
  source.kmers = {std::move(definition.pieces), overlapping};
  source.pieces = source.kmers.pieces;
  std::size_t pieces_of_bases = 0;
  for (const std::string& piece : source.pieces) {
    if (is_piece_of_bases(piece)) {
      ++pieces_of_bases;
    } else if (piece.size() < 3 || (piece.front() != '<' && piece.front() != '[')) {
      throw_bad_input(
          fmt::format("{}: piece '{}' is of neither bases nor special", path, escape_controls(piece)),
          "vocabularies of EsmTokenizer are read where they are of DNA, in capital A C G T N");
    }
  }
  if (pieces_of_bases == 0) throw_bad_input(path + ": no piece is of bases", train_hint);
  SpecialPieces pieces = settings;
  pieces.add_all(source.pieces);
  source.special = {pieces.pad(),
                    pieces.unknown(),
                    pieces.find("cls_token", {"[CLS]", "<cls>"}),
                    0,
                    pieces.find("mask_token", {"[MASK]", "<mask>"}),
                    overlapping || !pieces.is_null("eos_token")};
  source.special.sep = overlapping              ? pieces.sep()
                       : source.special.has_sep ? pieces.find("eos_token", {"<eos>"})
                                                : source.special.cls;
  source.bytes = std::move(bytes);
  source.digest = sha256_bytes(source.bytes);
  return source;
}

// vocab.txt.
TokenizerSource read_wordpiece(const std::string& folder, const std::string& path) {
  TokenizerSource source;
  source.kind = TokenizerSource::Kind::subword;
  source.path = path;
  std::string bytes = read_file(path);
  source.definition = parse_wordpiece_vocabulary(bytes, path);
  TokenizerJson& definition = source.definition;
  SpecialPieces pieces(folder, path);
  const std::string name = pieces.tokenizer_class();
  const bool esm = name == "EsmTokenizer" || (name.empty() && model_type_of(folder) == "esm");
  if (esm || are_overlapping_kmers(definition.pieces))
    return read_kmers(pieces, path, std::move(bytes), std::move(definition), !esm);
  const AddedTokens added = read_added_tokens(folder, definition.pieces, {}, path);
  definition.pieces = together(std::move(definition.pieces), added.new_pieces);
  if (!is_bert_class(name)) {
    throw_bad_input(
        fmt::format("{}: a vocabulary of {}, which is not read", path, escape_controls(name)),
        "vocab.txt is read as BertTokenizer and EsmTokenizer do; other classes need a tokenizer.json");
  }
  pieces.add_all(definition.pieces);
  source.special = {pieces.pad(), pieces.unknown(), pieces.cls(), pieces.sep(), pieces.mask()};
  apply_bert_settings(pieces, definition);
  definition.unknown = source.special.unknown;
  definition.cls = source.special.cls;
  definition.sep = source.special.sep;
  source.pieces = definition.pieces;
  source.added = found_in_texts(added.tokens, pieces, source.special);
  definition.added = added.tokens;
  mark_special(definition.pieces, source.special, definition.added);
  source.digest = vocabulary_digest(definition);
  return source;
}

// A tokenizer.json beside the spiece.model that it was converted from: ids are known by the model's digest,
// so that what was made of the model alone, here or there, still fits.
TokenizerSource read_json_beside(const std::string& folder, const std::string& path, std::string bytes,
                                 const std::string& model_path) {
  std::optional<TokenizerSource> beside;
  try {
    beside = read_sentencepiece(folder, model_path);
  } catch (const Error&) {  // the model is not needed
  }
  if (beside && beside->kind == TokenizerSource::Kind::dna) return std::move(*beside);
  try {
    TokenizerSource source = read_json(folder, path, std::move(bytes));
    if (beside && source.definition.pieces == beside->pieces) source.digest = beside->digest;
    return source;
  } catch (const TokenizerJsonNotUnderstood& error) {
    if (!beside) throw;
    log_warning(error.message() + "; " + sentencepiece_file + " is read instead");
    return std::move(*beside);
  }
}

// Of the model's pieces, and of those that were added behind them.
PieceTable piece_table_with(const SentencePieceModel& model, const TokenizerSource& source) {
  PieceTable table = piece_table(model);
  table.texts = source.pieces;
  for (std::size_t id = table.lengths.size(); id < source.pieces.size(); ++id) {
    table.lengths.push_back(static_cast<std::uint32_t>(source.pieces[id].size()));
    table.special.push_back(0);
  }
  for (const AddedToken& token : source.added) {
    table.special[token.id] = token.special ? 1 : 0;
    table.lengths[token.id] = token.special ? 0 : static_cast<std::uint32_t>(token.text.size());
  }
  return table;
}

// The tokenizer as it is where nothing was added to it.
std::unique_ptr<Tokenizer> with_added_tokens(std::unique_ptr<Tokenizer> tokenizer,
                                             const TokenizerSource& source) {
  if (source.added.empty() && source.pieces.size() == tokenizer->vocab_size()) return tokenizer;
  return with_added_tokens(std::move(tokenizer), source.pieces, source.added, source.special, source.digest);
}

}  // namespace

void add_tokens(const TokenizerSource& source, TokenizerJson& definition) {
  for (std::size_t id = definition.pieces.size(); id < source.pieces.size(); ++id)
    definition.pieces.push_back(source.pieces[id]);
  for (const AddedToken& token : source.added) {
    const auto known = std::find_if(definition.added.begin(), definition.added.end(),
                                    [&](const AddedToken& other) { return other.id == token.id; });
    if (known != definition.added.end()) {
      *known = token;
    } else {
      definition.added.push_back(token);
    }
  }
}

TokenizerSource read_tokenizer_source(const std::string& folder) {
  if (!folder_exists(folder)) throw_bad_input(folder + ": no such tokenizer folder", train_hint);
  const std::string sentencepiece = folder + "/" + sentencepiece_file;
  const std::string json = folder + "/" + json_file;
  const std::string vocabulary = folder + "/" + vocabulary_file;
  const std::string merges = folder + "/" + merges_file;
  if (file_exists(json)) {
    std::string bytes = read_file(json);
    const std::string config_path = folder + "/" + config_file;
    const nlohmann::json own =
        own_settings(file_exists(config_path) ? nlohmann::json::parse(read_file(config_path), nullptr, false)
                                              : nlohmann::json());
    const bool repeats =
        own.is_object() && own.contains(repeats_key) && own[repeats_key] == sha256_bytes(bytes);
    if (!repeats) {
      return file_exists(sentencepiece) ? read_json_beside(folder, json, std::move(bytes), sentencepiece)
                                        : read_json(folder, json, std::move(bytes));
    }
    if (!file_exists(sentencepiece) && !(file_exists(vocabulary) && file_exists(merges))) {
      return read_json(folder, json, std::move(bytes));
    }
  }
  if (file_exists(sentencepiece)) return read_sentencepiece(folder, sentencepiece);
  if (file_exists(vocabulary) && file_exists(merges)) return read_merges(folder, vocabulary, merges);
  if (file_exists(vocabulary)) {
    throw_bad_input(merges + ": no such file, which " + vocabulary_file + " needs", train_hint);
  }
  if (file_exists(folder + "/" + wordpiece_file))
    return read_wordpiece(folder, folder + "/" + wordpiece_file);
  throw_bad_input(sentencepiece + ": no such file, and no " + json_file + " either", train_hint);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder) {
  TokenizerSource source = read_tokenizer_source(folder);
  switch (source.kind) {
    case TokenizerSource::Kind::dna:
      if (source.from_json) {
        return make_json_tokenizer(source.definition, source.special, source.bytes + source.more);
      }
      return with_added_tokens(make_dna_tokenizer(*source.model, source.special, source.bytes), source);
    case TokenizerSource::Kind::kmers:
      return make_kmer_tokenizer(source.kmers, source.special, source.digest);
    case TokenizerSource::Kind::library:
      return with_added_tokens(
          make_sentencepiece_tokenizer(*source.model, source.special, source.bytes, source.path), source);
    case TokenizerSource::Kind::subword:
      return make_subword_tokenizer(source.definition, source.special,
                                    source.model && !source.from_json
                                        ? piece_table_with(*source.model, source)
                                        : subword_pieces(source.definition),
                                    std::move(source.digest), source.path);
    case TokenizerSource::Kind::byte_level:
      break;
  }
  source.pieces = source.byte_level.pieces;
  return with_added_tokens(make_byte_level_tokenizer(source.byte_level, source.special, source.digest),
                           source);
}

std::vector<std::string> tokenizer_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const char* name : {sentencepiece_file, "spiece.vocab", json_file, vocabulary_file, merges_file,
                           wordpiece_file, added_file, config_file, specials_file}) {
    if (file_exists(folder + "/" + name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace bigbird
