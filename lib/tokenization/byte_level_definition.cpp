// Reads vocab.json, merges.txt and tokenizer.json of byte-level BPE; see byte_level_definition.h.
#include "lib/tokenization/byte_level_definition.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

using BpeJson = nlohmann::json;

constexpr std::size_t most_byte_level_pieces = std::size_t{1} << 24;
constexpr const char* copy_hint = "copy the file again from where the model was published";
constexpr const char* byte_level_hint =
    "of byte-level BPE, the form of GPT-2 and RoBERTa is read; other tokenizers need a spiece.model";

[[noreturn]] void refuse_damaged(const std::string& where, const std::string& what) {
  throw_bad_input(where + ": " + escape_controls(what), copy_hint);
}

// Pieces by id and merges, each checked as it comes; `where` is the file that an entry is from.
class DefinitionBuilder {
 public:
  // No id may reach `most`: larger ones leave holes, and nothing is allocated for them.
  void limit(std::size_t most) { most_ = most; }

  void place(const std::string& piece, const BpeJson& value, const std::string& where) {
    if (piece.empty()) refuse_damaged(where, "an empty piece");
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= most_byte_level_pieces) {
      refuse_damaged(where, fmt::format("piece '{}' has no id below {}", piece, most_byte_level_pieces));
    }
    const auto id = value.get<std::uint32_t>();
    if (const auto known = ids_.find(piece); known != ids_.end()) {
      if (known->second == id) return;
      refuse_damaged(where, fmt::format("piece '{}' has id {} and id {}", piece, known->second, id));
    }
    if (id >= most_)
      refuse_damaged(where, fmt::format("piece '{}' has id {} of {} pieces", piece, id, most_));
    if (id >= result_.pieces.size()) result_.pieces.resize(id + std::size_t{1});
    if (!result_.pieces[id].empty()) {
      refuse_damaged(where, fmt::format("id {} is '{}' and '{}'", id, result_.pieces[id], piece));
    }
    result_.pieces[id] = piece;
    ids_.emplace(piece, id);
  }

  void merge(const std::string& left, const std::string& right, const std::string& place) {
    const auto id = [&](const std::string& piece) {
      const auto found = ids_.find(piece);
      if (found == ids_.end()) {
        refuse_damaged(place, fmt::format("the merge of '{}' and '{}' needs '{}', which is not a piece", left,
                                          right, piece));
      }
      return found->second;
    };
    const BpeMerge merge{id(left), id(right), id(left + right)};
    if (!seen_.insert(std::uint64_t{merge.left} << 32 | merge.right).second) {
      refuse_damaged(place, fmt::format("the merge of '{}' and '{}' is there twice", left, right));
    }
    if (seen_.size() > most_byte_level_pieces) {
      refuse_damaged(place, fmt::format("more than {} merges", most_byte_level_pieces));
    }
    result_.merges.push_back(merge);
  }

  std::optional<std::uint32_t> find(const std::string& piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  ByteLevelDefinition& result() { return result_; }

  ByteLevelDefinition finish(const std::string& where) {
    for (std::size_t id = 0; id < result_.pieces.size(); ++id) {
      if (result_.pieces[id].empty()) {
        refuse_damaged(where,
                       fmt::format("no piece has id {}, but one has {}", id, result_.pieces.size() - 1));
      }
    }
    return std::move(result_);
  }

 private:
  ByteLevelDefinition result_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t most_ = most_byte_level_pieces;
};

// "a b": two pieces with one blank between them.
std::optional<std::pair<std::string, std::string>> pair_of(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size() ||
      line.find(' ', blank + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return std::pair(std::string(line.substr(0, blank)), std::string(line.substr(blank + 1)));
}

// The object of a file that maps pieces to ids; JSON's own rule for a key that stands twice is silence.
BpeJson object_of(std::string_view bytes, const std::string& where) {
  std::unordered_set<std::string> keys;
  std::string twice;
  const auto watch = [&](int depth, BpeJson::parse_event_t event, BpeJson& value) {
    if (event == BpeJson::parse_event_t::key && depth == 1 && twice.empty() &&
        !keys.insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
      if (twice.empty()) twice = " ";
    }
    return true;
  };
  BpeJson object = BpeJson::parse(bytes.begin(), bytes.end(), watch, false);
  if (!object.is_object()) refuse_damaged(where, "not a JSON object of pieces and ids");
  if (!twice.empty()) refuse_damaged(where, "piece '" + twice + "' is there twice");
  return object;
}

void read_merges_text(std::string_view text, const std::string& where, DefinitionBuilder& builder) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number;
    if (line.empty() || (number == 1 && line.substr(0, 8) == "#version")) continue;
    const std::string place = fmt::format("{}:{}", where, number);
    const auto parts = pair_of(line);
    if (!parts) {
      constexpr std::size_t shown = 40;
      refuse_damaged(place, fmt::format("'{}' is not a pair of pieces", line.substr(0, shown)));
    }
    builder.merge(parts->first, parts->second, place);
  }
}

class ByteLevelReader {
 public:
  ByteLevelReader(std::string_view bytes, const std::string& where) : where_(where) {
    file_ = BpeJson::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (!file_.is_object()) refuse("not a JSON object");
  }

  ByteLevelDefinition read() {
    if (!entry(file_, "normalizer").is_null()) {
      const BpeJson& normalizer = entry(file_, "normalizer");
      const BpeJson& type = normalizer.is_object() ? entry(normalizer, "type") : normalizer;
      not_read("normalizer type " + (type.is_string() ? type.get<std::string>() : json_text(type)) +
               " with pre_tokenizer type ByteLevel");
    }
    read_model(object(entry(file_, "model"), "model"));
    read_added();
    const BpeJson& pre_tokenizer = object(entry(file_, "pre_tokenizer"), "pre_tokenizer");
    if (!flag(pre_tokenizer, "use_regex", "pre_tokenizer", true)) not_read("pre_tokenizer.use_regex false");
    builder_.result().add_prefix_space = flag(pre_tokenizer, "add_prefix_space", "pre_tokenizer", true);
    read_post_processor(entry(file_, "post_processor"));
    return builder_.finish(where_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_damaged(where_, what); }
  [[noreturn]] void not_read(const std::string& what) const {
    throw_bad_input(where_ + ": " + escape_controls(what) + " is not understood", byte_level_hint);
  }
  static const BpeJson& entry(const BpeJson& object, const char* key) {
    static const BpeJson null;
    const auto found = object.find(key);
    return found == object.end() ? null : *found;
  }
  const BpeJson& object(const BpeJson& value, const char* what) const {
    if (!value.is_object()) refuse(fmt::format("{} is not an object", what));
    return value;
  }
  bool flag(const BpeJson& owner, const char* key, const char* what, bool usual) const {
    const BpeJson& value = entry(owner, key);
    if (value.is_null()) return usual;
    if (!value.is_boolean()) refuse(fmt::format("{}.{} is neither true nor false", what, key));
    return value.get<bool>();
  }

  void read_model(const BpeJson& model) {
    const BpeJson& type = entry(model, "type");
    if (type.is_string() && type != "BPE") not_read("model type " + type.get<std::string>());
    for (const char* key : {"byte_fallback", "ignore_merges"}) {
      if (flag(model, key, "model", false)) not_read(fmt::format("model.{}", key));
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const BpeJson& value = entry(model, key);
      const bool empty = value.is_string() && value.get_ref<const std::string&>().empty();
      if (!value.is_null() && !empty) not_read(fmt::format("model.{}", key));
    }
    const BpeJson& dropout = entry(model, "dropout");
    if (!dropout.is_null() && dropout != 0.0) not_read("model.dropout");
    const BpeJson& vocabulary = object(entry(model, "vocab"), "model.vocab");
    if (vocabulary.empty()) refuse("model.vocab holds no pieces");
    const BpeJson& added = entry(file_, "added_tokens");
    builder_.limit(vocabulary.size() + (added.is_array() ? added.size() : 0));
    for (const auto& [piece, id] : vocabulary.items()) builder_.place(piece, id, where_);
    const BpeJson& unknown = entry(model, "unk_token");
    if (unknown.is_string()) {
      builder_.result().unknown = builder_.find(unknown.get<std::string>());
      if (!builder_.result().unknown) {
        refuse("model.vocab lacks the unknown piece '" + unknown.get<std::string>() + "'");
      }
    } else if (!unknown.is_null()) {
      refuse("model.unk_token is not a string");
    }
    const BpeJson& merges = entry(model, "merges");
    if (!merges.is_array()) refuse("model.merges is not a list");
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const BpeJson& merge = merges[i];
      std::optional<std::pair<std::string, std::string>> parts;
      if (merge.is_string()) parts = pair_of(merge.get<std::string>());
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        parts = std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
      }
      if (!parts) refuse(fmt::format("merge {} is not a pair of pieces", i + 1));
      builder_.merge(parts->first, parts->second, where_);
    }
  }

  void read_added() {
    const BpeJson& tokens = entry(file_, "added_tokens");
    if (tokens.is_null()) return;
    if (!tokens.is_array()) refuse("added_tokens is not a list");
    for (const BpeJson& token : tokens) {
      object(token, "an entry of added_tokens");
      const BpeJson& content = entry(token, "content");
      if (!content.is_string()) refuse("an added token without content");
      AddedToken added;
      added.text = content.get<std::string>();
      builder_.place(added.text, entry(token, "id"), where_);
      added.id = *builder_.find(added.text);
      added.special = flag(token, "special", "added_tokens", false);
      added.strips_left = flag(token, "lstrip", "added_tokens", false);
      added.strips_right = flag(token, "rstrip", "added_tokens", false);
      added.normalized = flag(token, "normalized", "added_tokens", false);
      added.single_word = flag(token, "single_word", "added_tokens", false);
      builder_.result().added.push_back(std::move(added));
    }
  }

  std::uint32_t named(const BpeJson& processor, const char* key) const {
    const BpeJson& value = entry(processor, key);
    if (!value.is_array() || value.size() != 2 || !value[0].is_string()) {
      refuse(fmt::format("post_processor.{} is not a name and an id", key));
    }
    const auto id = builder_.find(value[0].get<std::string>());
    if (!id || value[1] != *id) {
      refuse("post_processor: '" + value[0].get<std::string>() + "' has another id than in the vocabulary");
    }
    return *id;
  }

  void read_post_processor(const BpeJson& processor) {
    ByteLevelDefinition& result = builder_.result();
    result.trim_offsets = false;
    if (processor.is_null()) return;
    const BpeJson& type = entry(object(processor, "post_processor"), "type");
    if (type == "RobertaProcessing") {
      result.cls = named(processor, "cls");
      result.sep = named(processor, "sep");
    } else if (type != "ByteLevel") {
      not_read("post_processor type " + (type.is_string() ? type.get<std::string>() : json_text(type)) +
               " with pre_tokenizer type ByteLevel");
    }
    result.trim_offsets = flag(processor, "trim_offsets", "post_processor", true);
    if (result.trim_offsets &&
        flag(processor, "add_prefix_space", "post_processor", true) != result.add_prefix_space) {
      not_read("post_processor.add_prefix_space unlike pre_tokenizer's");
    }
  }

  const std::string& where_;
  BpeJson file_;
  DefinitionBuilder builder_;
};

}  // namespace

bool is_byte_level_json(std::string_view bytes) {
  if (bytes.find("ByteLevel") == std::string_view::npos) return false;
  const BpeJson file = BpeJson::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!file.is_object()) return false;
  const auto pre_tokenizer = file.find("pre_tokenizer");
  if (pre_tokenizer == file.end() || !pre_tokenizer->is_object()) return false;
  const auto type = pre_tokenizer->find("type");
  return type != pre_tokenizer->end() && *type == "ByteLevel";
}

ByteLevelDefinition parse_byte_level_json(std::string_view bytes, const std::string& where) {
  return ByteLevelReader(bytes, where).read();
}

ByteLevelDefinition parse_byte_level_files(std::string_view vocabulary, const std::string& vocabulary_where,
                                           std::string_view merges, const std::string& merges_where,
                                           std::string_view added, const std::string& added_where) {
  DefinitionBuilder builder;
  const BpeJson pieces = object_of(vocabulary, vocabulary_where);
  const BpeJson more = added.empty() ? BpeJson::object() : object_of(added, added_where);
  if (pieces.empty()) refuse_damaged(vocabulary_where, "no pieces");
  if (pieces.size() > most_byte_level_pieces) {
    refuse_damaged(vocabulary_where, fmt::format("more than {} pieces", most_byte_level_pieces));
  }
  builder.limit(pieces.size() + more.size());
  for (const auto& [piece, id] : pieces.items()) builder.place(piece, id, vocabulary_where);
  for (const auto& [piece, id] : more.items()) {
    builder.place(piece, id, added_where);
    AddedToken token;
    token.text = piece;
    token.id = *builder.find(piece);
    token.normalized = true;  // what transformers takes such a token for; tokenizer_config.json may say more
    builder.result().added.push_back(std::move(token));
  }
  read_merges_text(merges, merges_where, builder);
  return builder.finish(vocabulary_where);
}

}  // namespace bigbird
