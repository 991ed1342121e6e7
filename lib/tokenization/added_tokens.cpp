// Finding added tokens; see added_tokens.h.
#include "lib/tokenization/added_tokens.h"

#include <algorithm>

#include "lib/core/unicode.h"

namespace bigbird {
namespace {

unsigned char first_byte(const AddedToken& token) {
  return static_cast<unsigned char>(token.text[0]);
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_character(code_point_before(text, begin).value)) &&
         (end == text.size() || !is_word_character(code_point_at(text, end).value));
}

}  // namespace

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

}  // namespace bigbird
