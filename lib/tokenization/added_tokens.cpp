// Finding added tokens, and reading them where they stand beside a vocabulary; see added_tokens.h.
#include "lib/tokenization/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

unsigned char first_byte(const AddedToken& token) {
  return static_cast<unsigned char>(token.text[0]);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_character(code_point_before(text, begin).value)) &&
         (end == text.size() || !is_word_character(code_point_at(text, end).value));
}

using TokenJson = nlohmann::ordered_json;

constexpr std::uint64_t most_added_ids = std::uint64_t{1} << 24;
constexpr const char* added_files_hint = "save the tokenizer again in transformers, or copy its files again";

[[noreturn]] void refuse_added(const std::string& file, const std::string& what) {
  throw_bad_input(file + ": " + escape_controls(what), added_files_hint);
}

// A file's object; null where there is no such file.
TokenJson object_in(const std::string& file) {
  if (!file_exists(file)) return {};
  TokenJson json = TokenJson::parse(read_file(file), nullptr, false);
  if (!json.is_object()) refuse_added(file, "not a JSON object");
  return json;
}

const TokenJson& at_key(const TokenJson& object, const char* key) {
  static const TokenJson null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

bool flag_of(const TokenJson& token, const char* key, bool otherwise) {
  const TokenJson& value = at_key(token, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::uint32_t checked_id(const TokenJson& value, const std::string& text, const std::string& file) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= most_added_ids)
    refuse_added(file, fmt::format("added token '{}' has no id below {}", text, most_added_ids));
  return value.get<std::uint32_t>();
}

// A token as transformers writes it: {"content": ..., flags}.
AddedToken described(const TokenJson& json, const std::string& file) {
  const TokenJson& content = at_key(json, "content");
  if (!content.is_string() || content.get_ref<const std::string&>().empty())
    refuse_added(file, "an added token without content");
  AddedToken token;
  token.text = content.get<std::string>();
  token.special = flag_of(json, "special", false);
  token.strips_left = flag_of(json, "lstrip", false);
  token.strips_right = flag_of(json, "rstrip", false);
  token.single_word = flag_of(json, "single_word", false);
  token.normalized = flag_of(json, "normalized", !token.special);
  return token;
}

class AddedTokenReader {
 public:
  AddedTokenReader(std::string folder, const std::vector<std::string>& pieces, const std::string& where)
      : folder_(std::move(folder)), pieces_(pieces), where_(where) {
    for (std::size_t id = 0; id < pieces.size(); ++id)
      ids_.emplace(pieces[id], static_cast<std::uint32_t>(id));
  }

  AddedTokens read(const std::vector<AddedToken>& known) {
    config_ = object_in(config_file());
    map_ = object_in(folder_ + "/special_tokens_map.json");
    for (const AddedToken& token : known) take(token, where_);
    if (at_key(config_, "added_tokens_decoder").is_object()) {
      take_decoder();
    } else {
      take_plain_list();
    }
    place();
    take_additional();
    if (!displaced_.empty()) {
      log_warning_once(
          fmt::format("{}: {} special tokens such as '{}' have the ids of other pieces in {}, and "
                      "are text",
                      config_file(), displaced_.size(), escape_controls(displaced_.front()), where_));
    }
    for (auto& [id, token] : placed_) result_.tokens.push_back(std::move(token));
    return std::move(result_);
  }

 private:
  struct Found {
    AddedToken token;
    std::string file;
  };

  std::string config_file() const { return folder_ + "/tokenizer_config.json"; }

  // The first that says a token has the word.
  void take(AddedToken token, const std::string& file) {
    if (texts_.emplace(token.text, found_.size()).second) found_.push_back({std::move(token), file});
  }

  void take_decoder() {
    for (const auto& [key, json] : at_key(config_, "added_tokens_decoder").items()) {
      AddedToken token = described(json, config_file());
      const bool digits = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == key.npos;
      token.id = checked_id(digits ? TokenJson(std::stoull(key)) : TokenJson(), token.text, config_file());
      take(std::move(token), config_file());
    }
  }

  void take_plain_list() {
    const std::string file = folder_ + "/added_tokens.json";
    const TokenJson list = object_in(file);
    for (const auto& [text, id] : list.items()) {
      if (text.empty()) refuse_added(file, "an added token without content");
      AddedToken token;
      token.text = text;
      token.id = checked_id(id, text, file);
      token.special = is_named_special(text);
      token.normalized = !token.special;
      take(std::move(token), file);
    }
  }

  std::vector<const TokenJson*> additional() const {
    std::vector<const TokenJson*> list;
    const TokenJson& first = at_key(config_, "additional_special_tokens");
    const TokenJson& source = first.is_array() ? first : at_key(map_, "additional_special_tokens");
    if (!source.is_array()) return list;
    for (const TokenJson& entry : source) list.push_back(&entry);
    return list;
  }

  bool is_named_special(const std::string& text) const {
    const auto says = [&](const TokenJson& entry) {
      return entry == text || at_key(entry, "content") == text;
    };
    for (const TokenJson* file : {&config_, &map_}) {
      if (!file->is_object()) continue;
      for (const char* key :
           {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
        if (says(at_key(*file, key))) return true;
      }
    }
    const std::vector<const TokenJson*> more = additional();
    return std::any_of(more.begin(), more.end(), [&](const TokenJson* entry) { return says(*entry); });
  }

  // Ids that the vocabulary has already must be the token's; the others lie behind it without a hole.
  void place() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.token.id < b.token.id; });
    for (const Found& entry : found_) place(entry.token, entry.file);
  }

  void place(const AddedToken& token, const std::string& file) {
    const std::size_t size = pieces_.size() + result_.new_pieces.size();
    if (token.id < size) {
      const std::string& piece =
          token.id < pieces_.size() ? pieces_[token.id] : result_.new_pieces[token.id - pieces_.size()];
      if (piece != token.text) {
        if (token.special) {
          displaced_.push_back(token.text);
          return;
        }
        refuse_added(file,
                     fmt::format("added token '{}' has id {}, which is '{}'", token.text, token.id, piece));
      }
    } else if (token.id == size) {
      result_.new_pieces.push_back(token.text);
      ids_.emplace(token.text, token.id);
    } else {
      refuse_added(file, fmt::format("added token '{}' has id {}, but {} has {} pieces", token.text, token.id,
                                     where_, size));
    }
    placed_.emplace(token.id, token);
  }

  void take_additional() {
    for (const TokenJson* entry : additional()) {
      AddedToken token;
      if (entry->is_object()) {
        token = described(*entry, config_file());
      } else if (entry->is_string() && !entry->get_ref<const std::string&>().empty()) {
        token.text = entry->get<std::string>();
      } else {
        refuse_added(config_file(), "additional_special_tokens holds something that is not a token");
      }
      token.special = true;
      if (texts_.contains(token.text)) continue;
      texts_.emplace(token.text, found_.size());
      const auto known = ids_.find(token.text);
      token.id = known != ids_.end() ? known->second
                                     : static_cast<std::uint32_t>(pieces_.size() + result_.new_pieces.size());
      place(token, config_file());
    }
  }

  std::string folder_;
  const std::vector<std::string>& pieces_;
  const std::string& where_;
  TokenJson config_, map_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_map<std::string, std::size_t> texts_;
  std::vector<Found> found_;
  std::map<std::uint32_t, AddedToken> placed_;
  std::vector<std::string> displaced_;
  AddedTokens result_;
};

}  // namespace

std::vector<AddedToken> tokens_looked_for(const std::vector<AddedToken>& added, bool normalized) {
  std::vector<AddedToken> tokens;
  std::copy_if(added.begin(), added.end(), std::back_inserter(tokens),
               [&](const AddedToken& token) { return token.normalized == normalized; });
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens) : tokens_(tokens) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return first_byte(a) != first_byte(b) ? first_byte(a) < first_byte(b) : a.text.size() > b.text.size();
  });
  for (const AddedToken& token : tokens_) ++first_[first_byte(token) + std::size_t{1}];
  for (std::size_t byte = 1; byte < first_.size(); ++byte) first_[byte] += first_[byte - 1];
}

const AddedToken* AddedTokenFinder::token_at(std::string_view text, std::size_t at) const {
  const auto byte = static_cast<unsigned char>(text[at]);
  for (std::uint32_t i = first_[byte]; i < first_[byte + std::size_t{1}]; ++i) {
    if (text.compare(at, tokens_[i].text.size(), tokens_[i].text) == 0) return &tokens_[i];
  }
  return nullptr;
}

void AddedTokenFinder::split(std::string_view text,
                             const std::function<void(TextRange, std::optional<std::uint32_t>)>& part) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
    const AddedToken* token = token_at(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    if (token->single_word && !stands_alone(text, at, at + token->text.size())) {
      at += token->text.size();
      continue;
    }
    const std::size_t begin = token->strips_left ? std::max(done, skip_space_back(text, at)) : at;
    at += token->text.size();
    if (token->strips_right) at = skip_space(text, at);
    if (done < begin) part({done, begin}, std::nullopt);
    part({begin, at}, token->id);
    done = at;
  }
  if (done < text.size()) part({done, text.size()}, std::nullopt);
}

AddedTokens read_added_tokens(const std::string& folder, const std::vector<std::string>& pieces,
                              const std::vector<AddedToken>& known, const std::string& where) {
  return AddedTokenReader(folder, pieces, where).read(known);
}

}  // namespace bigbird
