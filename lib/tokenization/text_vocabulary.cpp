// Training on text; see text_vocabulary.h.
#include "lib/tokenization/text_vocabulary.h"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_folder.h"

namespace bigbird {
namespace {

constexpr std::uint32_t unknown_id = 100;
constexpr std::uint32_t byte_pieces = 256;
constexpr std::uint32_t room_for_ascii = 512;         // pieces of a vocabulary that begins with all of it
constexpr std::uint32_t longest_piece_allowed = 512;  // the library's limit
constexpr const char* trainer_name = "sentencepiece " BIGBIRD_SENTENCEPIECE_VERSION;

// Lines as the library takes them: white space as blanks (a tab is the mark of a border to it), without the
// characters that it keeps for itself (it drops lines that hold U+2585 or NUL, and U+2581 is its word sign),
// cut where they are long.
class TrainingLines final : public sentencepiece::SentenceIterator {
 public:
  // After the text, where there is some, comes `last`.
  TrainingLines(const NextTextLine& next, std::uint32_t most, std::string last,
                TextVocabularySummary& summary)
      : next_(next), most_(most), last_(std::move(last)), summary_(summary) {
    Next();
  }

  bool done() const override { return done_; }
  const std::string& value() const override { return part_; }
  sentencepiece::util::Status status() const override { return {}; }

  // The library is not written for exceptions from here: the first one ends the input, and is thrown again
  // behind it.
  void Next() override {
    try {
      advance();
    } catch (...) {
      failure_ = std::current_exception();
      done_ = true;
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void advance() {
    while (number_ == parts_.size()) {
      throw_if_cancelled();
      std::string_view line;
      text_ended_ = text_ended_ || !next_(line);
      if (!text_ended_) {
        take(line);
      } else if (summary_.lines > 0 && !last_.empty()) {
        line_ = std::exchange(last_, {});
        parts_ = cut_line(line_, most_);
        number_ = 0;
      } else {
        done_ = true;
        return;
      }
    }
    part_ = parts_[number_++];
  }

  void take(std::string_view line) {
    ++lines_read_;
    if (const std::size_t invalid = find_invalid_utf8(line); invalid < line.size()) {
      throw_bad_input(fmt::format("line {} of the text: byte {} is not UTF-8", lines_read_, invalid + 1),
                      "convert the text to UTF-8");
    }
    line_.clear();
    bool empty = true;
    for (const CodePoint& c : CodePoints(line)) {
      const bool reserved = c.value == 0 || c.value == 0x2581 || c.value == 0x2585;
      if (reserved || is_white_space(c.value)) {
        line_ += ' ';
      } else {
        line_ += line.substr(c.begin, c.end - c.begin);
        empty = false;
      }
    }
    parts_.clear();
    number_ = 0;
    if (empty) return;
    parts_ = cut_line(line_, most_);
    ++summary_.lines;
    summary_.bytes += line_.size();
    if (parts_.size() > 1) ++summary_.lines_cut;
  }

  const NextTextLine& next_;
  std::uint32_t most_;
  std::string last_;
  bool text_ended_ = false;
  TextVocabularySummary& summary_;
  std::uint64_t lines_read_ = 0;
  std::string line_;
  std::vector<std::string_view> parts_;  // of line_
  std::size_t number_ = 0;
  std::string part_;
  bool done_ = false;
  std::exception_ptr failure_;
};

std::string required_characters(const TextVocabularyOptions& options) {
  if (options.required_characters) return *options.required_characters;
  const std::uint32_t room = room_for_ascii + (options.byte_fallback ? byte_pieces : 0);
  return options.vocab_size >= room ? printable_ascii() : std::string();
}

void check_settings(const TextVocabularyOptions& options) {
  const auto fixed =
      static_cast<std::uint32_t>(reserved_text_pieces().size()) + (options.byte_fallback ? byte_pieces : 0);
  if (options.vocab_size <= fixed) {
    throw_usage(message("`vocab_size` {}: {} pieces are taken by the special pieces{}", options.vocab_size,
                        fixed, options.byte_fallback ? " and the bytes" : ""),
                "the default is 32000");
  }
  if (!(options.character_coverage > 0 && options.character_coverage <= 1)) {
    throw_usage(message("`character_coverage` {} is not above 0 and at most 1", options.character_coverage),
                "the default is 0.9995");
  }
  const std::string characters = required_characters(options);
  const std::size_t invalid = find_invalid_utf8(characters);
  const CodePoints required(std::string_view(characters).substr(0, invalid));
  const bool reserved = std::any_of(required.begin(), required.end(), [](const CodePoint& c) {
    return c.value == 0 || c.value == 0x2581 || c.value == 0x2585 || is_white_space(c.value);
  });
  if (invalid < characters.size() || reserved) {
    throw_usage(
        message("`required_characters` holds what is not UTF-8, white space, or a sign of the library's own"),
        "give characters one after the other; none lets only the text decide");
  }
  if (options.max_piece_length < 1 || options.max_piece_length > longest_piece_allowed) {
    throw_usage(message("`max_piece_length` {} is not between 1 and {}", options.max_piece_length,
                        longest_piece_allowed),
                "the default is 16");
  }
  if (options.max_sentence_bytes < 1000 || options.max_sentence_bytes > 30000) {
    throw_usage(message("`max_sentence_bytes` {} is not between 1000 and 30000", options.max_sentence_bytes),
                "the default is 4000");
  }
}

std::unordered_map<std::string, std::string> trainer_settings(const TextVocabularyOptions& options) {
  std::string user_defined;
  for (const ModelPiece& piece : reserved_text_pieces()) {
    if (piece.type != PieceType::user_defined || piece.text == "<s>") continue;
    user_defined += user_defined.empty() ? piece.text : "," + piece.text;
  }
  return {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(options.vocab_size)},
      {"hard_vocab_limit", "false"},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"required_chars", required_characters(options)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"max_sentencepiece_length", std::to_string(options.max_piece_length)},
      {"max_sentence_length", std::to_string(options.max_sentence_bytes + 1)},
      {"normalization_rule_name", "identity"},
      {"num_threads", "1"},  // the number would be written into the file
      {"input_sentence_size", "0"},
      {"shuffle_input_sentence", "false"},
      {"pad_id", "0"},
      {"eos_id", "1"},
      {"bos_id", "2"},
      {"unk_id", std::to_string(unknown_id)},
      {"pad_piece", "<pad>"},
      {"eos_piece", "</s>"},
      {"bos_piece", "<s>"},
      {"unk_piece", "<unk>"},
      {"user_defined_symbols", user_defined},
      {"minloglevel", "2"},
  };
}

// The library has the published ids; its <s> is a control piece, the published one is user-defined.
std::string with_reserved_types(const std::string& bytes) {
  const std::vector<ModelPiece>& reserved = reserved_text_pieces();
  std::size_t right = 0;
  std::string typed = with_piece_types(bytes, [&](std::size_t id, std::string_view text, PieceType type) {
    if (id >= reserved.size()) return type;
    right += text == reserved[id].text ? 1u : 0u;
    return reserved[id].type;
  });
  if (right != reserved.size()) {
    throw_runtime("the SentencePiece library has put the special pieces at other ids",
                  "use the library 0.1.97 or later");
  }
  return typed;
}

std::string text_tokenizer_config(const TextVocabularyOptions& options) {
  nlohmann::ordered_json config;
  config["model_max_length"] = 4096;
  config["clean_up_tokenization_spaces"] = false;
  config["pad_token"] = "<pad>";
  config["unk_token"] = "<unk>";
  config["cls_token"] = "[CLS]";
  config["sep_token"] = "[SEP]";
  config["mask_token"] = "[MASK]";
  config["bos_token"] = "<s>";
  config["eos_token"] = "</s>";
  config["bigbird"] = {{"trainer", trainer_name},
                       {"byte_fallback", options.byte_fallback},
                       {"character_coverage", options.character_coverage},
                       {"required_characters", required_characters(options)},
                       {"max_piece_length", options.max_piece_length},
                       {"max_sentence_bytes", options.max_sentence_bytes}};
  if (options.provenance) {
    config["bigbird"]["provenance"] = nlohmann::ordered_json::parse(provenance_json(*options.provenance));
  }
  return json_text(config, 2) + "\n";
}

}  // namespace

const std::vector<ModelPiece>& reserved_text_pieces() {
  static const std::vector<ModelPiece> pieces = [] {
    std::vector<ModelPiece> all{{"<pad>", 0, PieceType::control},
                                {"</s>", 0, PieceType::control},
                                {"<s>", 0, PieceType::user_defined}};
    const auto add = [&](std::string text) { all.push_back({std::move(text), 0, PieceType::user_defined}); };
    const auto add_numbered = [&](const char* stem, int first, int last) {
      for (int i = first; i <= last; ++i) add(fmt::format("<{}_{}>", stem, i));
    };
    add_numbered("sep", 0, 4);
    add("<no_saic_raw_sp>");
    add_numbered("length", 0, 20);
    for (const char* text : {"<length_s>", "<length_m>", "<length_l>", "<::::>", "<space>"}) add(text);
    add_numbered("unused", 34, 36);
    add("<no_query_sp>");
    add("<no_passage_raw_sp>");
    add_numbered("unused", 39, 49);
    add_numbered("paraphrasing", 0, 8);
    for (const char* text : {"<empty>", "<row>", "<cn>", "<t>", "<ans>", "[CLS]", "[SEP]", "[MASK]"})
      add(text);
    add_numbered("unused", 67, 98);
    all.push_back({"<unk>", 0, PieceType::unknown});
    return all;
  }();
  return pieces;
}

bool is_reserved_text(std::string_view text) {
  if (text == "<n>") return true;
  for (const std::string_view stem : {"<sep_", "<length_", "<unused_", "<paraphrasing_"}) {
    if (!text.starts_with(stem) || !text.ends_with('>')) continue;
    const std::string_view number = text.substr(stem.size(), text.size() - stem.size() - 1);
    if (!number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos) return true;
  }
  const std::vector<ModelPiece>& pieces = reserved_text_pieces();
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](const ModelPiece& piece) { return piece.text == text; });
}

std::vector<std::string_view> cut_line(std::string_view line, std::size_t most) {
  std::vector<std::string_view> parts;
  while (line.size() > most) {
    std::size_t end = 0;      // before the last white space that fits
    std::size_t between = 0;  // between the last characters that fit
    for (const CodePoint& c : CodePoints(line.substr(0, std::min(line.size(), most + 4)))) {
      if (c.begin > most) break;
      if (c.begin > 0 && is_white_space(c.value)) end = c.begin;
      between = c.begin;
    }
    if (end == 0) end = between;
    parts.push_back(line.substr(0, end));
    line = line.substr(end);
  }
  parts.push_back(line);
  return parts;
}

std::string printable_ascii() {
  std::string characters;
  for (char character = '!'; character <= '~'; ++character) characters += character;
  return characters;
}

TextVocabularySummary train_text_vocabulary(const NextTextLine& next, const TextVocabularyOptions& options) {
  check_settings(options);
  AtomicFolder folder(options.output, options.overwrite);
  TextVocabularySummary summary;
  summary.trainer = trainer_name;
  // The library ends the process for a required character that the text has not at all.
  TrainingLines lines(next, options.max_sentence_bytes, required_characters(options), summary);
  if (lines.done()) {
    lines.rethrow();
    throw_bad_input(options.source + ": no text to train on", "give files with text in them");
  }
  std::string bytes;
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_settings(options), &lines, &bytes);
  lines.rethrow();
  throw_if_cancelled();
  if (!status.ok()) {
    const std::string said = escape_controls(status.ToString());
    // The two words of its check that pieces remain when every character has one.
    if (said.find("vocab_size") != std::string::npos || said.find("required_chars") != std::string::npos) {
      throw_usage(
          message("`vocab_size` {} is too small for the characters of the text", options.vocab_size),
          message("raise `vocab_size`, or lower `character_coverage` and give fewer `required_characters`"));
    }
    throw_runtime("the SentencePiece library could not train: " + said);
  }
  bytes = with_reserved_types(bytes);
  const SentencePieceModel model = parse_sentencepiece_model(bytes, "the SentencePiece trainer's model");
  summary.vocab_size = model.pieces.size();
  for (const ModelPiece& piece : model.pieces) {
    if (piece.type == PieceType::normal && count_code_points(piece.text) == 1) ++summary.characters;
  }
  if (summary.vocab_size < options.vocab_size) {
    log_warning(fmt::format("the text gives {} pieces only, not {}", summary.vocab_size, options.vocab_size));
  }
  write_text_atomic(folder.file("spiece.model"), bytes);
  write_text_atomic(folder.file("spiece.vocab"), vocabulary_lines(model));
  write_text_atomic(folder.file("tokenizer_config.json"), text_tokenizer_config(options));
  write_tokenizer_files(folder.path(), folder.path());
  load_tokenizer(folder.path());
  folder.commit();
  return summary;
}

}  // namespace bigbird
