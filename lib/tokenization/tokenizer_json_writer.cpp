// Writes tokenizer.json; see tokenizer_json.h and byte_level_definition.h. The fields and their order are
// those of the tokenizers package 0.22.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/names.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"

namespace bigbird {
namespace {

using OrderedJson = nlohmann::ordered_json;

const char* const metaspace_sign = "\xE2\x96\x81";

OrderedJson pattern_json(const TextPattern& pattern) {
  return {{pattern.is_literal() ? "String" : "Regex", pattern.source()}};
}

OrderedJson step_json(const NormalizerStep& step) {
  switch (step.kind) {
    case NormalizerStep::Kind::strip:
      return {{"type", "Strip"}, {"strip_left", step.strip_left}, {"strip_right", step.strip_right}};
    case NormalizerStep::Kind::replace:
      return {{"type", "Replace"}, {"pattern", pattern_json(step.pattern)}, {"content", step.content}};
    case NormalizerStep::Kind::prepend:
      return {{"type", "Prepend"}, {"prepend", step.content}};
    case NormalizerStep::Kind::character_map:
      return {{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(step.map->bytes())}};
    case NormalizerStep::Kind::bert:
      return {{"type", "BertNormalizer"},
              {"clean_text", step.cleans},
              {"handle_chinese_chars", step.parts_ideographs},
              {"strip_accents", step.strips_accents},
              {"lowercase", step.lowers}};
    default:
      return {{"type", find_name(form_names, step.kind)}};
  }
}

OrderedJson normalizer_json(const std::vector<NormalizerStep>& first,
                            const std::vector<NormalizerStep>& then) {
  OrderedJson steps = OrderedJson::array();
  for (const std::vector<NormalizerStep>* list : {&first, &then}) {
    for (const NormalizerStep& step : *list) steps.push_back(step_json(step));
  }
  if (steps.empty()) return nullptr;
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

OrderedJson split_json(const SplitStep& step) {
  if (step.kind == SplitStep::Kind::white_space) return {{"type", "WhitespaceSplit"}};
  if (step.kind == SplitStep::Kind::pattern) {
    return {{"type", "Split"},
            {"pattern", pattern_json(step.pattern)},
            {"behavior", step.keep_matches ? "Isolated" : "Removed"},
            {"invert", false}};
  }
  const char* const scheme = find_name(prepend_names, step.prepend);
  return {
      {"type", "Metaspace"}, {"replacement", step.sign}, {"prepend_scheme", scheme}, {"split", step.cuts}};
}

OrderedJson pre_tokenizer_json(const std::vector<SplitStep>& splits) {
  if (splits.empty()) return nullptr;
  if (splits.size() == 2 && splits[0].kind == SplitStep::Kind::white_space &&
      splits[1].kind == SplitStep::Kind::punctuation)
    return {{"type", "BertPreTokenizer"}};
  if (splits.size() == 1) return split_json(splits[0]);
  OrderedJson steps = OrderedJson::array();
  for (const SplitStep& split : splits) steps.push_back(split_json(split));
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

OrderedJson added_json(const std::vector<AddedToken>& added) {
  OrderedJson tokens = OrderedJson::array();
  for (const AddedToken& token : added) {
    tokens.push_back({{"id", token.id},
                      {"content", token.text},
                      {"single_word", false},
                      {"lstrip", token.strips_left},
                      {"rstrip", token.strips_right},
                      {"normalized", token.normalized},
                      {"special", token.special}});
  }
  return tokens;
}

OrderedJson template_json(const std::vector<std::string>& pieces, std::optional<std::uint32_t> cls,
                          std::optional<std::uint32_t> last, bool second_type) {
  const auto special = [&](std::uint32_t id, int type) {
    return OrderedJson{{"SpecialToken", {{"id", pieces[id]}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const int second = second_type ? 1 : 0;
  OrderedJson single = OrderedJson::array();
  OrderedJson pair = OrderedJson::array();
  OrderedJson specials = OrderedJson::object();
  if (cls) {
    single.push_back(special(*cls, 0));
    pair.push_back(special(*cls, 0));
  }
  single.push_back(text("A", 0));
  pair.push_back(text("A", 0));
  if (last) single.push_back(special(*last, 0));
  if (last && cls) pair.push_back(special(*last, 0));
  pair.push_back(text("B", second));
  if (last) pair.push_back(special(*last, second));
  for (const auto& id : {cls, last}) {
    if (!id) continue;
    specials[pieces[*id]] = {{"id", pieces[*id]},
                             {"ids", OrderedJson::array({*id})},
                             {"tokens", OrderedJson::array({pieces[*id]})}};
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
}

OrderedJson decoder_json(const TokenizerJson& definition) {
  if (!definition.is_of_text()) return nullptr;
  if (definition.model == SubwordModel::wordpiece)
    return {{"type", "WordPiece"}, {"prefix", definition.within_words}, {"cleanup", true}};
  if (!definition.byte_fallback) {
    return {{"type", "Metaspace"},
            {"replacement", metaspace_sign},
            {"prepend_scheme", "always"},
            {"split", true}};
  }
  return {{"type", "Sequence"},
          {"decoders",
           {{{"type", "Replace"}, {"pattern", {{"String", metaspace_sign}}}, {"content", " "}},
            {{"type", "ByteFallback"}},
            {{"type", "Fuse"}},
            {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
}

OrderedJson vocabulary_json(const std::vector<std::string>& pieces) {
  OrderedJson vocabulary = OrderedJson::object();
  auto& entries = vocabulary.get_ref<OrderedJson::object_t&>();
  for (std::uint32_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].empty()) continue;  // of WordPiece: an id without a text
    // Not through a key: the ordered object looks for one from its beginning.
    entries.push_back({pieces[id], OrderedJson(id)});
  }
  return vocabulary;
}

OrderedJson bpe_json(const std::vector<std::string>& pieces, const std::vector<BpeMerge>& merges) {
  OrderedJson vocabulary = vocabulary_json(pieces);
  OrderedJson pairs = OrderedJson::array();
  for (const BpeMerge& merge : merges)
    pairs.push_back(OrderedJson::array({pieces[merge.left], pieces[merge.right]}));
  return {{"vocab", std::move(vocabulary)}, {"merges", std::move(pairs)}};
}

OrderedJson model_json(const TokenizerJson& definition) {
  if (definition.model == SubwordModel::unigram) {
    OrderedJson vocabulary = OrderedJson::array();
    for (std::size_t id = 0; id < definition.scores.size(); ++id) {
      vocabulary.push_back(OrderedJson::array({definition.pieces[id], definition.scores[id]}));
    }
    return {{"type", "Unigram"},
            {"unk_id", definition.unknown ? OrderedJson(*definition.unknown) : OrderedJson()},
            {"vocab", std::move(vocabulary)},
            {"byte_fallback", definition.byte_fallback}};
  }
  if (definition.model == SubwordModel::wordpiece) {
    return {{"type", "WordPiece"},
            {"unk_token", definition.pieces[*definition.unknown]},
            {"continuing_subword_prefix", definition.within_words},
            {"max_input_chars_per_word", definition.longest_word},
            {"vocab", vocabulary_json(definition.pieces)}};
  }
  OrderedJson model = {{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", definition.pieces[*definition.unknown]},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", definition.fuse_unknown},
                       {"byte_fallback", definition.byte_fallback},
                       {"ignore_merges", false}};
  model.update(bpe_json(definition.pieces, definition.merges));
  return model;
}

OrderedJson file_json(OrderedJson added, OrderedJson normalizer, OrderedJson pre_tokenizer,
                      OrderedJson processor, OrderedJson decoder, OrderedJson model) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(pre_tokenizer)},
          {"post_processor", std::move(processor)},
          {"decoder", std::move(decoder)},
          {"model", std::move(model)}};
}

}  // namespace

std::string tokenizer_json_text(const TokenizerJson& definition, const TokenizerJsonAdditions& additions) {
  const OrderedJson processor =
      definition.ending
          ? template_json(definition.pieces, std::nullopt, definition.ending, additions.second_type)
      : definition.cls && definition.sep
          ? template_json(definition.pieces, definition.cls, definition.sep, additions.second_type)
          : OrderedJson();
  return file_json(added_json(definition.added), normalizer_json(additions.first, definition.normalizer),
                   pre_tokenizer_json(definition.splits), processor, decoder_json(definition),
                   model_json(definition))
             .dump(1) +
         "\n";
}

std::string with_first_steps(std::string_view bytes, const std::vector<NormalizerStep>& first) {
  OrderedJson file = OrderedJson::parse(bytes.begin(), bytes.end());
  OrderedJson steps = normalizer_json(first, {})["normalizers"];
  OrderedJson& normalizer = file["normalizer"];
  if (normalizer.is_object() && normalizer.value("type", "") == "Sequence") {
    OrderedJson& old = normalizer["normalizers"];
    const bool there = old.size() >= steps.size() && std::equal(steps.begin(), steps.end(), old.begin());
    if (there) return std::string(bytes);
    for (OrderedJson& step : old) steps.push_back(std::move(step));
  } else if (!normalizer.is_null()) {
    steps.push_back(std::move(normalizer));
  }
  normalizer = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  return file.dump(1) + "\n";
}

std::string vocabulary_digest(const TokenizerJson& definition) {
  OrderedJson added = OrderedJson::array();
  for (const AddedToken& token : definition.added)
    added.push_back(OrderedJson::array({token.id, token.text}));
  OrderedJson parts = OrderedJson::array({model_json(definition), added});
  for (const NormalizerStep& step :
       definition.normalizer) {  // capital letters or none: one vocab.txt has both
    if (step.kind == NormalizerStep::Kind::bert) parts.push_back(step_json(step));
  }
  return sha256_bytes(parts.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

std::string byte_level_json_text(const ByteLevelDefinition& definition, const SpecialIds& special,
                                 const TokenizerJsonAdditions& additions) {
  std::vector<AddedToken> added = definition.added;
  for (const std::uint32_t id : special.all()) {
    const auto known =
        std::find_if(added.begin(), added.end(), [&](const AddedToken& one) { return one.id == id; });
    AddedToken& token = known == added.end() ? added.emplace_back() : *known;
    token.text = definition.pieces[id];
    token.id = id;
    token.special = true;
    if (id == special.mask) token.strips_left = true;
  }
  std::sort(added.begin(), added.end(), [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  OrderedJson model = {
      {"type", "BPE"},
      {"dropout", nullptr},
      {"unk_token", definition.unknown ? OrderedJson(definition.pieces[*definition.unknown]) : OrderedJson()},
      {"continuing_subword_prefix", ""},
      {"end_of_word_suffix", ""},
      {"fuse_unk", false},
      {"byte_fallback", false},
      {"ignore_merges", false}};
  model.update(bpe_json(definition.pieces, definition.merges));
  const OrderedJson byte_level = {{"type", "ByteLevel"},
                                  {"add_prefix_space", definition.add_prefix_space},
                                  {"trim_offsets", definition.trim_offsets},
                                  {"use_regex", true}};
  const std::string& cls = definition.pieces[special.cls];
  const std::string& sep = definition.pieces[special.sep];
  const OrderedJson processor = {{"type", "RobertaProcessing"},
                                 {"sep", OrderedJson::array({sep, special.sep})},
                                 {"cls", OrderedJson::array({cls, special.cls})},
                                 {"trim_offsets", definition.trim_offsets},
                                 {"add_prefix_space", definition.add_prefix_space}};
  OrderedJson decoder = byte_level;
  decoder["add_prefix_space"] = true;
  return file_json(added_json(added), normalizer_json(additions.first, {}), byte_level, processor, decoder,
                   model)
             .dump(1) +
         "\n";
}

}  // namespace bigbird
