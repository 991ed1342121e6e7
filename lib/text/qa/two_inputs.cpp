// Global tokens of questions, and their links; see two_inputs.h.
#include "lib/text/qa/two_inputs.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/core/unicode_borders.h"

namespace bigbird {
namespace {

bool is_piece(const Tokenizer& tokenizer, std::uint32_t id, std::string_view name) {
  return id < tokenizer.vocab_size() && tokenizer.piece(id) == name;
}

// The first of the names that is a piece.
std::optional<std::uint32_t> piece_of(const Tokenizer& tokenizer,
                                      std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (tokenizer.piece(id) == name) return id;
    }
  }
  return std::nullopt;
}

// The global token of each long one, as long as there are any left.
class SharedGlobals {
 public:
  SharedGlobals(GlobalLayout& layout, std::size_t most) : layout_(layout), most_(most) {}

  std::int32_t add(std::uint32_t id) {
    if (layout_.globals.size() < most_) return layout_.add_global(id);
    return last();
  }
  std::int32_t last() const { return static_cast<std::int32_t>(layout_.globals.size()) - 1; }

 private:
  GlobalLayout& layout_;
  std::size_t most_;
};

}  // namespace

PartIds part_ids(const Tokenizer& tokenizer) {
  const SpecialIds& special = tokenizer.special();
  PartIds ids;
  ids.sentence = static_cast<std::uint32_t>(etc_sentence_token);
  ids.cls = piece_of(tokenizer, {"<unused_39>"}).value_or(special.cls);
  ids.question = piece_of(tokenizer, {"[unused2]", "<unused_40>", "<sep_0>"}).value_or(special.sep);
  ids.candidate = piece_of(tokenizer, {"[unused3]", "<unused_41>", "<ans>"}).value_or(special.mask);
  ids.paragraph = piece_of(tokenizer, {"[unused4]", "<unused_42>", "<t>"}).value_or(special.cls);
  ids.long_cls = ids.window_cls = special.cls;
  ids.window_sep = special.sep;
  constexpr std::uint32_t etcmodel_window_cls = 64, etcmodel_window_sep = 3;
  if (is_piece(tokenizer, etcmodel_window_cls, "<unused_63>")) {
    ids.of_etcmodel = true;
    ids.long_cls = ids.cls;
    ids.window_cls = etcmodel_window_cls;
    ids.window_sep = etcmodel_window_sep;
  } else if (is_piece(tokenizer, ids.sentence, "[unused0]")) {
    ids.of_etcmodel = true;
  }
  return ids;
}

std::size_t most_globals(const ModelConfig& config) {
  if (config.attention != AttentionPattern::etc) return 0;
  return static_cast<std::size_t>(config.attention_options.etc.globals);
}

std::int32_t GlobalLayout::add_global(std::uint32_t id, std::int32_t type, bool is_free) {
  globals.push_back({static_cast<std::int32_t>(id), type, is_free, false});
  return static_cast<std::int32_t>(globals.size()) - 1;
}

void GlobalLayout::add_long(std::size_t count, std::int32_t type, std::int32_t sentence,
                            std::int32_t paragraph) {
  if (count > 0) runs.push_back({static_cast<std::uint32_t>(count), type, sentence, paragraph, false, false});
}

void GlobalLayout::end_part() {
  in_parts = true;
  if (!runs.empty()) runs.back().ends = true;
  if (!globals.empty()) globals.back().ends = true;
}

TwoInputs two_inputs(std::vector<std::int32_t> ids, const GlobalLayout& layout) {
  TwoInputs inputs;
  inputs.ids = std::move(ids);
  const auto column = [&](GlobalLink link) -> std::vector<std::int32_t>& {
    return inputs.links[static_cast<std::size_t>(link)];
  };
  std::vector<std::uint8_t> segment_ends, part_ends;
  for (const GlobalLayout::Run& run : layout.runs) {
    inputs.types.resize(inputs.types.size() + run.count, run.type);
    column(GlobalLink::sentence).resize(inputs.types.size(), run.sentence);
    if (!layout.in_parts) continue;
    column(GlobalLink::paragraph).resize(inputs.types.size(), run.paragraph);
    inputs.free.resize(inputs.types.size(), run.free ? 1 : 0);
    segment_ends.resize(inputs.types.size(), 0);
    if (run.ends) segment_ends.back() = 1;
  }
  if (inputs.types.size() != inputs.ids.size())
    throw_runtime("an input of two parts has another number of long tokens");
  for (const GlobalLayout::Token& token : layout.globals) {
    inputs.global_ids.push_back(token.id);
    inputs.global_types.push_back(token.type);
    if (!layout.in_parts) continue;
    inputs.global_free.push_back(token.free ? 1 : 0);
    part_ends.push_back(token.ends ? 1 : 0);
  }
  inputs.segments = numbers_of_marks(segment_ends);
  inputs.parts = numbers_of_marks(part_ends);
  if (!layout.mentions.empty()) column(GlobalLink::other).assign(inputs.ids.size(), -1);
  for (const GlobalLayout::Mention& mention : layout.mentions) {
    const auto first = column(GlobalLink::other).begin() + static_cast<std::ptrdiff_t>(mention.first);
    std::fill_n(first, mention.count, mention.global);
  }
  return inputs;
}

GlobalLayout window_globals(std::size_t question_tokens, std::span<const std::uint32_t> begins,
                            const ContextWindow& window, const WindowGlobals& options) {
  GlobalLayout layout;
  SharedGlobals globals(layout, options.most);
  layout.add_long(1, part_sentence, globals.add(options.ids.cls));
  for (std::size_t i = 0; i < question_tokens; ++i)
    layout.add_long(1, part_sentence, globals.add(options.ids.question));
  layout.add_long(1, part_sentence,
                  options.of_separators ? globals.add(options.ids.question) : globals.last());
  const std::size_t end = window.first + window.count;
  for (std::size_t at = window.first; at < end;) {
    const auto next = std::upper_bound(begins.begin(), begins.end(), static_cast<std::uint32_t>(at));
    const std::size_t until = next == begins.end() ? end : std::min<std::size_t>(*next, end);
    layout.add_long(until - at, part_sentence, globals.add(options.ids.sentence));
    at = until;
  }
  layout.add_long(1, part_sentence, options.of_separators ? globals.add(0) : globals.last());
  return layout;
}

WindowGlobals globals_of_windows(const Tokenizer& tokenizer, std::size_t most) {
  return {most > 0 ? part_ids(tokenizer) : PartIds{}, most, false};
}

std::shared_ptr<const GlobalLayout> sentence_globals(std::size_t question_tokens,
                                                     const ContextTokens& context,
                                                     const ContextWindow& window,
                                                     const WindowGlobals& options) {
  if (options.most == 0) return nullptr;
  return std::make_shared<const GlobalLayout>(
      window_globals(question_tokens, context.sentences, window, options));
}

std::vector<std::uint32_t> sentence_tokens(std::string_view text, std::span<const TextSpan> spans) {
  const CodePointIndex index(text);
  std::vector<std::uint32_t> begins;
  std::size_t token = 0;
  for (const std::size_t byte : sentence_begins(text)) {
    const std::size_t begin = index.code_point_of(byte);
    // A token may own the blank before it, which is of the sentence before.
    while (token < spans.size() && spans[token].end <= begin) ++token;
    if (token == spans.size()) break;
    if (begins.empty() || begins.back() < token) begins.push_back(static_cast<std::uint32_t>(token));
  }
  return begins;
}

}  // namespace bigbird
