// Reads tokenizer.json; see tokenizer_json.h.
#include "lib/tokenization/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/core/names.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_pieces = std::size_t{1} << 24;
constexpr std::uint64_t most_characters_of_a_word = 1'000'000;
constexpr int deepest_sequence = 8;
constexpr const char* damaged_hint = "copy the file again from where the model was published";
constexpr const char* kind_hint =
    "of tokenizer.json, BPE and Unigram with the steps of SentencePiece and of GENA-LM, byte-level BPE, and "
    "WordPiece with BERT's steps are read; take a tokenizer of such a kind";

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& where) : where_(where) {
    file_ = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (!file_.is_object()) damaged("not a JSON object");
  }

  TokenizerJson read() {
    const Json& model = member(file_, "model", "");
    read_model(model);
    read_added_tokens();
    read_normalizer(member_or_null(file_, "normalizer"), 0);
    read_pre_tokenizer(member_or_null(file_, "pre_tokenizer"), 0);
    read_post_processor(member_or_null(file_, "post_processor"));
    return std::move(result_);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw_bad_input(where_ + ": " + escape_controls(what), damaged_hint);
  }
  [[noreturn]] void not_understood(const std::string& what) const {
    throw TokenizerJsonNotUnderstood(ErrorKind::bad_input,
                                     where_ + ": " + escape_controls(what) + " is not understood", kind_hint);
  }

  // Fields, each with its type checked; `owner` names the object in messages.
  const Json& member(const Json& object, const char* key, const std::string& owner) const {
    const auto found = object.find(key);
    if (found == object.end()) damaged(fmt::format("{}{} is missing", owner, key));
    return *found;
  }
  static const Json& member_or_null(const Json& object, const char* key) {
    static const Json null;
    const auto found = object.find(key);
    return found == object.end() ? null : *found;
  }
  std::string string_member(const Json& object, const char* key, const std::string& owner) const {
    const Json& value = member(object, key, owner);
    if (!value.is_string()) damaged(fmt::format("{}{} is not a string", owner, key));
    return value.get<std::string>();
  }
  bool flag(const Json& object, const char* key, const std::string& owner) const {
    const Json& value = member_or_null(object, key);
    if (value.is_null()) return false;
    if (!value.is_boolean()) damaged(fmt::format("{}{} is neither true nor false", owner, key));
    return value.get<bool>();
  }
  std::uint32_t id_of(const Json& value, const std::string& what) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= most_pieces) {
      damaged(fmt::format("{} has no id below {}", what, most_pieces));
    }
    return value.get<std::uint32_t>();
  }
  std::string type_of(const Json& object, const std::string& what) const {
    if (!object.is_object()) damaged(what + " is not an object");
    return string_member(object, "type", what + ".");
  }

  // Sets pieces[id]; ids may come in any order, holes are looked for at the end.
  void place(std::uint32_t id, const std::string& piece) {
    if (id >= result_.pieces.size()) {
      result_.pieces.resize(id + std::size_t{1});
      placed_.resize(id + std::size_t{1});
    }
    if (placed_[id] != 0) {
      damaged(fmt::format("id {} is '{}' and '{}'", id, result_.pieces[id], piece));
    }
    placed_[id] = 1;
    result_.pieces[id] = piece;
    ids_.emplace(piece, id);
  }

  void read_model(const Json& model) {
    const std::string type = type_of(model, "model");
    result_.byte_fallback = flag(model, "byte_fallback", "model.");
    if (type == "Unigram") return read_unigram(model);
    if (type == "WordPiece") return read_wordpiece(model);
    if (type != "BPE") not_understood("model type " + type);
    if (flag(model, "ignore_merges", "model.")) not_understood("model.ignore_merges");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = member_or_null(model, key);
      const bool empty = value.is_string() && value.get_ref<const std::string&>().empty();
      if (!value.is_null() && !empty) not_understood(fmt::format("model.{}", key));
    }
    const Json& dropout = member_or_null(model, "dropout");
    if (!dropout.is_null() && dropout != 0.0) not_understood("model.dropout");
    result_.fuse_unknown = flag(model, "fuse_unk", "model.");
    read_vocabulary(model);
    read_merges(member(model, "merges", "model."));
  }

  void read_wordpiece(const Json& model) {
    result_.model = SubwordModel::wordpiece;
    result_.within_words = string_member(model, "continuing_subword_prefix", "model.");
    const Json& longest = member(model, "max_input_chars_per_word", "model.");
    if (!longest.is_number_unsigned() || longest.get<std::uint64_t>() > most_characters_of_a_word)
      damaged("model.max_input_chars_per_word is not a number below a million");
    result_.longest_word = longest.get<std::size_t>();
    if (result_.within_words.empty()) not_understood("model.continuing_subword_prefix that is empty");
    read_vocabulary(model);
  }

  // An object of pieces and ids, with the unknown piece.
  void read_vocabulary(const Json& model) {
    const Json& vocabulary = member(model, "vocab", "model.");
    if (!vocabulary.is_object() || vocabulary.empty()) damaged("model.vocab holds no pieces");
    if (vocabulary.size() > most_pieces) {
      damaged(fmt::format("model.vocab holds more than {} pieces", most_pieces));
    }
    // Ids run to the number of pieces and of added tokens, or there are holes: nothing larger is allocated.
    const Json& added = member_or_null(file_, "added_tokens");
    // But for WordPiece's: of a line that vocab.txt has twice the tokenizers package keeps the last.
    const std::size_t holes = result_.model == SubwordModel::wordpiece ? vocabulary.size() : 0;
    const std::size_t most = vocabulary.size() + holes + (added.is_array() ? added.size() : 0);
    for (const auto& [piece, value] : vocabulary.items()) {
      if (piece.empty() && result_.model == SubwordModel::bpe) damaged("model.vocab holds an empty piece");
      const std::uint32_t id = id_of(value, "piece '" + piece + "'");
      if (id >= most) damaged(fmt::format("piece '{}' has id {} of {} pieces", piece, id, most));
      place(id, piece);
    }
    const std::string unknown = string_member(model, "unk_token", "model.");
    const auto found = ids_.find(unknown);
    if (found == ids_.end()) damaged("model.vocab lacks the unknown piece '" + unknown + "'");
    result_.unknown = found->second;
  }

  // A list of pieces and scores, by id.
  void read_unigram(const Json& model) {
    result_.model = SubwordModel::unigram;
    const Json& vocabulary = member(model, "vocab", "model.");
    if (!vocabulary.is_array() || vocabulary.empty()) damaged("model.vocab holds no pieces");
    if (vocabulary.size() > most_pieces) {
      damaged(fmt::format("model.vocab holds more than {} pieces", most_pieces));
    }
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      const Json& entry = vocabulary[id];
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
        damaged(fmt::format("model.vocab: entry {} is not a piece and a score", id));
      }
      const auto& piece = entry[0].get_ref<const std::string&>();
      if (piece.empty()) damaged(fmt::format("model.vocab: piece {} is empty", id));
      place(id, piece);
      ids_[piece] = id;  // of a piece that stands twice the last one is meant
      result_.scores.push_back(entry[1].get<double>());
    }
    const Json& unknown = member_or_null(model, "unk_id");
    if (unknown.is_null()) return;
    result_.unknown = id_of(unknown, "model.unk_id");
    if (*result_.unknown >= vocabulary.size()) damaged("model.unk_id is not a piece");
  }

  void read_merges(const Json& merges) {
    if (!merges.is_array()) damaged("model.merges is not a list");
    std::unordered_set<std::uint64_t> seen;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const std::pair<std::string, std::string> parts = merge_of(merges[i], i);
      const std::string& left = parts.first;
      const std::string& right = parts.second;
      const auto id = [&](const std::string& piece) {
        const auto found = ids_.find(piece);
        if (found == ids_.end()) {
          damaged(fmt::format("merge {} ('{}' and '{}') needs '{}', which is not a piece", i + 1, left, right,
                              piece));
        }
        return found->second;
      };
      const BpeMerge merge{id(left), id(right), id(left + right)};
      if (!seen.insert(std::uint64_t{merge.left} << 32 | merge.right).second) {
        damaged(fmt::format("merge {} ('{}' and '{}') is there twice", i + 1, left, right));
      }
      result_.merges.push_back(merge);
    }
  }

  // "a b", or ["a", "b"].
  std::pair<std::string, std::string> merge_of(const Json& merge, std::size_t index) const {
    if (merge.is_string()) {
      const auto& text = merge.get_ref<const std::string&>();
      const std::size_t blank = text.find(' ');
      if (blank != std::string::npos && blank != 0 && blank + 1 != text.size() &&
          text.find(' ', blank + 1) == std::string::npos) {
        return {text.substr(0, blank), text.substr(blank + 1)};
      }
    }
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      std::pair<std::string, std::string> parts{merge[0].get<std::string>(), merge[1].get<std::string>()};
      if (!parts.first.empty() && !parts.second.empty()) return parts;
    }
    damaged(fmt::format("merge {} is not a pair of pieces", index + 1));
  }

  void read_added_tokens() {
    const Json& tokens = member_or_null(file_, "added_tokens");
    if (!tokens.is_null() && !tokens.is_array()) damaged("added_tokens is not a list");
    std::unordered_set<std::string> seen;
    for (const Json& token : tokens) {
      if (!token.is_object()) damaged("added_tokens holds something that is not an object");
      AddedToken added;
      added.text = string_member(token, "content", "added_tokens: ");
      if (added.text.empty()) damaged("added_tokens holds an empty token");
      const std::string owner = "added token '" + added.text + "'";
      added.id = id_of(member(token, "id", owner + ": "), owner);
      added.special = flag(token, "special", owner + ": ");
      added.strips_left = flag(token, "lstrip", owner + ": ");
      added.strips_right = flag(token, "rstrip", owner + ": ");
      added.normalized = flag(token, "normalized", owner + ": ");
      added.single_word = flag(token, "single_word", owner + ": ");
      if (!seen.insert(added.text).second) damaged(owner + " is there twice");
      const auto known = ids_.find(added.text);
      if (known == ids_.end()) {
        if (added.id >= result_.pieces.size() + tokens.size()) {
          damaged(fmt::format("{} has id {}, far beyond the others", owner, added.id));
        }
        place(added.id, added.text);
      } else if (known->second != added.id) {
        damaged(fmt::format("{} has id {}, and {} in model.vocab", owner, added.id, known->second));
      }
      result_.added.push_back(std::move(added));
    }
    for (std::size_t id = 0; id < placed_.size(); ++id) {
      if (placed_[id] == 0 && result_.model != SubwordModel::wordpiece)
        damaged(fmt::format("no piece has id {}, but one has {}", id, placed_.size() - 1));
    }
  }

  TextPattern pattern_of(const Json& step, const std::string& owner) const {
    const Json& pattern = member(step, "pattern", owner + ".");
    if (pattern.is_object() && pattern.size() == 1) {
      const std::string kind = pattern.begin().key();
      if (pattern.begin()->is_string()) {
        const std::string text = pattern.begin()->get<std::string>();
        if (kind == "String" && !text.empty()) return TextPattern::literal(text);
        if (kind == "Regex") {
          if (const auto found = TextPattern::regular_expression(text)) return *found;
          not_understood(owner + ": the regular expression '" + text + "'");
        }
      }
    }
    damaged(owner + ".pattern is neither a String nor a Regex");
  }

  // The steps of a "Sequence", under `key`.
  const Json& steps_of(const Json& sequence, const char* key, const std::string& owner, int depth) const {
    const Json& steps = member(sequence, key, owner + ".");
    if (!steps.is_array()) damaged(fmt::format("{}.{} is not a list", owner, key));
    if (depth >= deepest_sequence) damaged(owner + ": sequences are nested too deeply");
    return steps;
  }

  void read_normalizer(const Json& normalizer, int depth) {
    if (normalizer.is_null()) return;
    const std::string owner = "normalizer";
    const std::string type = type_of(normalizer, owner);
    if (type == "Sequence") {
      for (const Json& step : steps_of(normalizer, "normalizers", owner, depth)) {
        read_normalizer(step, depth + 1);
      }
      return;
    }
    NormalizerStep step;
    if (type == "Strip") {
      step.kind = NormalizerStep::Kind::strip;
      step.strip_left = flag(normalizer, "strip_left", owner + ".");
      step.strip_right = flag(normalizer, "strip_right", owner + ".");
    } else if (type == "Replace") {
      step.kind = NormalizerStep::Kind::replace;
      step.pattern = pattern_of(normalizer, owner);
      step.content = string_member(normalizer, "content", owner + ".");
    } else if (type == "Prepend") {
      step.kind = NormalizerStep::Kind::prepend;
      step.content = string_member(normalizer, "prepend", owner + ".");
    } else if (type == "Precompiled") {
      const Json& table = member_or_null(normalizer, "precompiled_charsmap");
      if (table.is_null()) return;
      const auto bytes = decode_base64(string_member(normalizer, "precompiled_charsmap", owner + "."));
      if (!bytes) damaged("normalizer.precompiled_charsmap is not base64");
      if (bytes->empty()) return;
      step.kind = NormalizerStep::Kind::character_map;
      step.map = std::make_shared<const CharacterMap>(*bytes, where_);
    } else if (type == "BertNormalizer") {
      step.kind = NormalizerStep::Kind::bert;
      step.cleans = flag(normalizer, "clean_text", owner + ".");
      step.parts_ideographs = flag(normalizer, "handle_chinese_chars", owner + ".");
      step.lowers = flag(normalizer, "lowercase", owner + ".");
      // Without a word on accents they go where capital letters do.
      step.strips_accents = member_or_null(normalizer, "strip_accents").is_null()
                                ? step.lowers
                                : flag(normalizer, "strip_accents", owner + ".");
    } else if (const auto form = find_value(form_names, type)) {
      step.kind = *form;
    } else {
      not_understood("normalizer type " + type);
    }
    result_.normalizer.push_back(std::move(step));
  }

  void read_pre_tokenizer(const Json& pre_tokenizer, int depth) {
    if (pre_tokenizer.is_null()) return;
    const std::string owner = "pre_tokenizer";
    const std::string type = type_of(pre_tokenizer, owner);
    if (type == "Sequence") {
      for (const Json& step : steps_of(pre_tokenizer, "pretokenizers", owner, depth)) {
        read_pre_tokenizer(step, depth + 1);
      }
      return;
    }
    if (type == "BertPreTokenizer") {
      for (const auto kind : {SplitStep::Kind::white_space, SplitStep::Kind::punctuation}) {
        SplitStep step;
        step.kind = kind;
        result_.splits.push_back(std::move(step));
      }
      return;
    }
    if (type == "WhitespaceSplit" || type == "Metaspace") {
      SplitStep step;
      step.kind = type == "Metaspace" ? SplitStep::Kind::metaspace : SplitStep::Kind::white_space;
      if (type == "Metaspace") read_metaspace(pre_tokenizer, owner, step);
      result_.splits.push_back(std::move(step));
      return;
    }
    if (type != "Split") not_understood("pre_tokenizer type " + type);
    if (flag(pre_tokenizer, "invert", owner + ".")) not_understood("pre_tokenizer.invert");
    const std::string behavior = string_member(pre_tokenizer, "behavior", owner + ".");
    if (behavior != "Isolated" && behavior != "Removed") {
      not_understood("pre_tokenizer.behavior " + behavior);
    }
    SplitStep step;
    step.pattern = pattern_of(pre_tokenizer, owner);
    step.keep_matches = behavior == "Isolated";
    result_.splits.push_back(std::move(step));
  }

  // Files of before tokenizers 0.14 have add_prefix_space in the place of prepend_scheme.
  void read_metaspace(const Json& metaspace, const std::string& owner, SplitStep& step) const {
    step.sign = string_member(metaspace, "replacement", owner + ".");
    if (step.sign.empty()) damaged(owner + ".replacement is empty");
    const Json& split = member_or_null(metaspace, "split");
    step.cuts = split.is_null() || flag(metaspace, "split", owner + ".");
    if (member_or_null(metaspace, "prepend_scheme").is_null()) {
      const bool prefix = member_or_null(metaspace, "add_prefix_space").is_null() ||
                          flag(metaspace, "add_prefix_space", owner + ".");
      step.prepend = prefix ? SplitStep::Prepend::always : SplitStep::Prepend::never;
      return;
    }
    const std::string scheme = string_member(metaspace, "prepend_scheme", owner + ".");
    const auto prepend = find_value(prepend_names, scheme);
    if (!prepend) not_understood(owner + ".prepend_scheme " + scheme);
    step.prepend = *prepend;
  }

  // A special piece by name, which must have the id that the post-processor gives it.
  std::uint32_t special_id(const std::string& name, const Json& id) const {
    const auto found = ids_.find(name);
    if (found == ids_.end() || id_of(id, "post_processor: '" + name + "'") != found->second) {
      damaged("post_processor: '" + name + "' has another id than in the vocabulary");
    }
    return found->second;
  }

  void read_post_processor(const Json& processor) {
    if (processor.is_null()) return;
    const std::string type = type_of(processor, "post_processor");
    if (type == "BertProcessing") {
      const auto read = [&](const char* key) {
        const Json& value = member(processor, key, "post_processor.");
        if (!value.is_array() || value.size() != 2 || !value[0].is_string()) {
          damaged(fmt::format("post_processor.{} is not a name and an id", key));
        }
        return special_id(value[0].get<std::string>(), value[1]);
      };
      result_.cls = read("cls");
      result_.sep = read("sep");
    } else if (type == "TemplateProcessing") {
      read_template(processor);
    } else {
      not_understood("post_processor type " + type);
    }
  }

  void read_template(const Json& processor) {
    const Json& single = member(processor, "single", "post_processor.");
    const Json& specials = member(processor, "special_tokens", "post_processor.");
    if (!single.is_array() || !specials.is_object()) damaged("post_processor: not a template");
    const auto special = [&](std::size_t index) {
      const Json& item = single[index];
      if (!item.is_object() || !item.contains("SpecialToken") || !item["SpecialToken"].is_object()) {
        not_understood("post_processor: a template other than [CLS] A [SEP]");
      }
      const std::string name = string_member(item["SpecialToken"], "id", "post_processor: ");
      const Json& entry = member(specials, name.c_str(), "post_processor.special_tokens: ");
      if (!entry.is_object()) damaged("post_processor: '" + name + "' is not described");
      const Json& ids = member_or_null(entry, "ids");
      if (!ids.is_array() || ids.size() != 1) damaged("post_processor: '" + name + "' has not one id");
      return special_id(name, ids[0]);
    };
    const auto is_text = [&](std::size_t index) {
      return index < single.size() && single[index].is_object() && single[index].contains("Sequence");
    };
    if (single.size() <= 2 && is_text(0)) {  // a text alone, or Pegasus's, which ends with a piece
      if (single.size() == 2) result_.ending = special(1);
      return;
    }
    if (single.size() != 3 || !is_text(1)) {
      not_understood("post_processor: a template other than [CLS] A [SEP]");
    }
    result_.cls = special(0);
    result_.sep = special(2);
  }

  const std::string& where_;
  Json file_;
  TokenizerJson result_;
  std::vector<std::uint8_t> placed_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace

bool TokenizerJson::is_of_text() const {
  const auto beyond_ascii = [&](std::uint32_t id) {
    return pieces[id].size() > 1 && character_length(pieces[id], 0) == pieces[id].size();
  };
  return model != SubwordModel::bpe || byte_fallback || !unknown ||
         std::any_of(normalizer.begin(), normalizer.end(),
                     [](const NormalizerStep& step) {
                       return step.kind != NormalizerStep::Kind::strip &&
                              step.kind != NormalizerStep::Kind::replace;
                     }) ||
         std::any_of(splits.begin(), splits.end(),
                     [](const SplitStep& step) { return step.kind != SplitStep::Kind::pattern; }) ||
         std::any_of(merges.begin(), merges.end(), [&](const BpeMerge& merge) {
           return beyond_ascii(merge.left) || beyond_ascii(merge.right);
         });
}

TokenizerJson parse_wordpiece_vocabulary(std::string_view bytes, const std::string& where) {
  if (const std::size_t invalid = find_invalid_utf8(bytes); invalid < bytes.size())
    throw_bad_input(fmt::format("{}: byte {} is not UTF-8", where, invalid + 1), damaged_hint);
  TokenizerJson definition;
  definition.model = SubwordModel::wordpiece;
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find_first_of("\r\n", begin), bytes.size());
    if (definition.pieces.size() == most_pieces)
      throw_bad_input(fmt::format("{}: more than {} pieces", where, most_pieces), damaged_hint);
    const std::string_view piece = bytes.substr(begin, end - begin);
    const auto [known, is_new] = ids.try_emplace(piece, definition.pieces.size());
    if (!is_new) definition.pieces[std::exchange(known->second, definition.pieces.size())].clear();
    definition.pieces.emplace_back(piece);
    begin = end + (bytes.substr(end, 2) == "\r\n" ? 2 : 1);
  }
  if (definition.pieces.empty()) throw_bad_input(where + ": holds no pieces", damaged_hint);
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::bert;
  step.cleans = step.parts_ideographs = step.strips_accents = step.lowers = true;
  definition.normalizer.push_back(std::move(step));
  for (const auto kind : {SplitStep::Kind::white_space, SplitStep::Kind::punctuation}) {
    SplitStep split;
    split.kind = kind;
    definition.splits.push_back(std::move(split));
  }
  return definition;
}

TokenizerJson parse_tokenizer_json(std::string_view bytes, const std::string& where) {
  return Reader(bytes, where).read();
}

}  // namespace bigbird
