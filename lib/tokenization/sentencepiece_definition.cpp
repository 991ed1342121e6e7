// From a SentencePiece model to the steps of a tokenizer.json; see tokenizer_kinds.h.
#include "lib/tokenization/tokenizer_kinds.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

const std::string sign = "\xE2\x96\x81";  // U+2581

NormalizerStep replace_step(TextPattern pattern, std::string content) {
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::replace;
  step.pattern = std::move(pattern);
  step.content = std::move(content);
  return step;
}
NormalizerStep replace_run(const char* expression, std::string content) {
  return replace_step(*TextPattern::regular_expression(expression), std::move(content));
}

SplitStep metaspace(SplitStep::Prepend prepend) {
  SplitStep step;
  step.kind = SplitStep::Kind::metaspace;
  step.sign = sign;
  step.prepend = prepend;
  return step;
}

struct PieceSplit {
  BpeMerge merge;
  float score = 0;
  std::size_t left = 0;   // code points
  std::size_t right = 0;  // code points
};

// Every way to put two pieces together to a third, best first: generate_merges() of transformers.
std::vector<BpeMerge> merges_of(const SentencePieceModel& model) {
  std::unordered_map<std::string_view, std::uint32_t> ids;
  const auto takes_part = [](const ModelPiece& piece) {
    return piece.type == PieceType::normal || piece.type == PieceType::unused;
  };
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    if (takes_part(model.pieces[id])) ids.emplace(model.pieces[id].text, id);
  }
  std::vector<PieceSplit> splits;
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const ModelPiece& piece = model.pieces[id];
    if (!takes_part(piece)) continue;
    const std::string_view text = piece.text;
    const std::size_t first = splits.size();
    const std::size_t count = count_code_points(text);
    std::size_t left = 0;
    for (const CodePoint& c : CodePoints(text)) {
      if (++left == count) break;
      const auto a = ids.find(text.substr(0, c.end));
      const auto b = ids.find(text.substr(c.end));
      if (a == ids.end() || b == ids.end()) continue;
      splits.push_back({{a->second, b->second, id}, piece.score, left, count - left});
    }
    std::stable_sort(splits.begin() + static_cast<std::ptrdiff_t>(first), splits.end(),
                     [](const PieceSplit& a, const PieceSplit& b) {
                       return std::pair(a.merge.left, a.merge.right) < std::pair(b.merge.left, b.merge.right);
                     });
  }
  std::stable_sort(splits.begin(), splits.end(), [](const PieceSplit& a, const PieceSplit& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.left != b.left ? a.left > b.left : a.right > b.right;
  });
  std::vector<BpeMerge> merges;
  for (const PieceSplit& split : splits) merges.push_back(split.merge);
  return merges;
}

TokenizerJson pieces_of(const SentencePieceModel& model, const SpecialIds& special,
                        const std::string& where) {
  TokenizerJson definition;
  std::set<std::string_view> texts;
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const ModelPiece& piece = model.pieces[id];
    if (piece.text.empty() || !texts.insert(piece.text).second) {
      throw_bad_input(
          where + ": piece " + std::to_string(id) +
              (piece.text.empty() ? " is empty" : " ('" + escape_controls(piece.text) + "') is there twice"),
          "copy the file again");
    }
    definition.pieces.push_back(piece.text);
    const bool five = special.holds(id);
    if (!five && piece.type != PieceType::control && piece.type != PieceType::user_defined) continue;
    AddedToken token;
    token.text = piece.text;
    token.id = id;
    token.special = five || piece.type == PieceType::control;
    token.strips_left = id == special.mask;
    definition.added.push_back(std::move(token));
  }
  definition.unknown = special.unknown;
  definition.cls = special.cls;
  definition.sep = special.sep;
  if (model.type == ModelType::unigram) {
    definition.model = SubwordModel::unigram;
    for (const ModelPiece& piece : model.pieces) definition.scores.push_back(piece.score);
  } else {
    definition.merges = merges_of(model);
    definition.fuse_unknown = true;
  }
  return definition;
}

bool signs_begin_words(const SentencePieceModel& model) {
  return std::none_of(model.pieces.begin(), model.pieces.end(), [](const ModelPiece& piece) {
    return piece.type == PieceType::normal && piece.text.find(sign, 1) != std::string::npos;
  });
}

}  // namespace

TokenizerJson converted_definition(const SentencePieceModel& model, const SpecialIds& special,
                                   ConvertedClass converted, const std::string& where) {
  TokenizerJson definition = pieces_of(model, special, where);
  if (model.has_character_map) {
    NormalizerStep step;
    step.kind = NormalizerStep::Kind::character_map;
    step.map = std::make_shared<const CharacterMap>(model.character_map, where);
    definition.normalizer.push_back(std::move(step));
  }
  NormalizerStep strip;
  strip.strip_right = true;
  definition.normalizer.push_back(std::move(strip));
  definition.normalizer.push_back(replace_run(" {2,}", sign));
  if (converted == ConvertedClass::pegasus) {
    SplitStep words;
    words.kind = SplitStep::Kind::white_space;
    definition.splits.push_back(std::move(words));
  }
  definition.splits.push_back(metaspace(SplitStep::Prepend::always));
  return definition;
}

TokenizerJson library_definition(const SentencePieceModel& model, const SpecialIds& special,
                                 const std::string& where) {
  TokenizerJson definition = pieces_of(model, special, where);
  definition.byte_fallback = model.byte_fallback;
  if (model.is_dna_bpe()) {
    for (const char* letter : {"A", "C", "G", "T", "N"}) {
      definition.normalizer.push_back(
          replace_step(TextPattern::literal(std::string(1, static_cast<char>(letter[0] | 0x20))), letter));
    }
    return definition;
  }
  if (model.remove_extra_whitespaces) {
    definition.normalizer.push_back(replace_run(" {2,}", " "));
    definition.normalizer.push_back(replace_run("\\A ", ""));
  }
  if (model.add_dummy_prefix) {
    NormalizerStep prefix;
    prefix.kind = NormalizerStep::Kind::prepend;
    prefix.content = model.escape_whitespaces ? sign : " ";
    definition.normalizer.push_back(std::move(prefix));
  }
  if (model.escape_whitespaces)
    definition.normalizer.push_back(replace_step(TextPattern::literal(" "), sign));
  // Word signs that stand in a text go too where they end it.
  if (model.remove_extra_whitespaces) {
    definition.normalizer.push_back(replace_run(model.escape_whitespaces ? "\xE2\x96\x81+\\z" : " \\z", ""));
  }
  if (model.escape_whitespaces && signs_begin_words(model)) {
    definition.splits.push_back(metaspace(SplitStep::Prepend::never));
  }
  return definition;
}

}  // namespace bigbird
