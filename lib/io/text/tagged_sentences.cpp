// See tagged_sentences.h.
#include "lib/io/text/tagged_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {

class TaggedSentences::Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;
  virtual bool next(TaggedSentence& sentence) = 0;
};

namespace {

constexpr std::string_view document_start = "-DOCSTART-";

bool has_json_suffix(std::string path) {
  if (has_suffix(path, ".gz")) path.resize(path.size() - 3);
  return has_suffix(path, ".json") || has_suffix(path, ".jsonl") || has_suffix(path, ".ndjson");
}

bool is_conllu(const std::string& path) {
  return has_suffix(path, ".conllu") || has_suffix(path, ".conllu.gz");
}

// A column as it is typed, from 0 on.
std::size_t column_of(const std::string& text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number == 0)
    throw_usage(fmt::format("column {}: columns of CoNLL are numbers from 1 on", text_for_message(text)),
                "the word is often the first one, and its label the last");
  return number - 1;
}

class TaggedColumnSource : public TaggedSentences::Source {
 public:
  TaggedColumnSource(LineReader lines, const TaggedSentenceOptions& options, bool universal)
      : lines_(std::move(lines)), universal_(universal), reads_labels_(options.labels != Labels::ignored) {
    token_ = !options.token_column.empty() ? column_of(options.token_column) : universal ? 1 : 0;
    if (!options.label_column.empty()) {
      label_ = column_of(options.label_column);
    } else if (universal) {
      label_ = 3;
    }
    optional_ = options.labels == Labels::optional;
  }

  bool next(TaggedSentence& sentence) override {
    sentence = {};
    std::string_view line;
    while (lines_.next(line)) {
      if (line.find_first_not_of(" \t") == std::string_view::npos) {
        if (!sentence.words.empty()) break;
        continue;
      }
      const bool comment =
          columns_ == 0 && line.starts_with("##") && line.find('\t') == std::string_view::npos;
      if (comment || line.starts_with(document_start) || (universal_ && line.starts_with('#'))) continue;
      take(line, sentence);
    }
    if (sentence.words.empty()) return false;
    sentence.id = std::to_string(number_++);
    return true;
  }

 private:
  void take(std::string_view line, TaggedSentence& sentence) {
    if (find_invalid_utf8(line) < line.size())
      throw_bad_input(lines_.where() + ": bytes that are not UTF-8", "convert the file: iconv -t UTF-8 FILE");
    if (columns_ == 0) tabs_ = line.find('\t') != std::string_view::npos;
    split(line);
    if (universal_ && fields_.front().find_first_of("-.") != std::string_view::npos) return;
    if (columns_ == 0) begin();
    if (fields_.size() != columns_) {
      throw_bad_input(
          fmt::format("{}: {} columns, and the first line has {}", lines_.where(), fields_.size(), columns_),
          "separate columns by one tab, or by blanks, and sentences by an empty line");
    }
    if (sentence.words.empty()) sentence.place = lines_.where();
    sentence.words.emplace_back(fields_[token_]);
    if (label_ && reads_labels_) sentence.labels.emplace_back(fields_[*label_]);
  }

  // With the first line of the file.
  void begin() {
    columns_ = fields_.size();
    if (!label_ && columns_ > 1) label_ = columns_ - 1;
    if (optional_ && label_ && (*label_ >= columns_ || *label_ == token_)) label_.reset();
    if (token_ >= columns_ || (reads_labels_ && label_ && *label_ >= columns_)) {
      throw_bad_input(fmt::format("{}: {} column{}, and number {} is asked for", lines_.where(), columns_,
                                  columns_ == 1 ? "" : "s", std::max(token_, label_.value_or(0)) + 1),
                      message("name the one of the labels with `label_column`"));
    }
    if (reads_labels_ && !optional_ && (!label_ || *label_ == token_))
      throw_bad_input(lines_.where() + ": no column of labels next to the words",
                      "a line is a word and its label, with a tab or blanks between them");
  }

  void split(std::string_view line) {
    fields_.clear();
    if (tabs_) {
      for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find('\t', at), line.size());
        fields_.push_back(line.substr(at, end - at));
        at = end + 1;
      }
      return;
    }
    for (std::size_t at = line.find_first_not_of(' '); at < line.size();
         at = line.find_first_not_of(' ', at)) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      fields_.push_back(line.substr(at, end - at));
      at = end;
    }
  }

  LineReader lines_;
  bool universal_;
  bool reads_labels_;
  bool optional_ = false;
  std::size_t token_ = 0;
  std::optional<std::size_t> label_;
  std::size_t columns_ = 0;  // of the first line; 0 before it
  bool tabs_ = false;
  std::vector<std::string_view> fields_;
  std::uint64_t number_ = 0;
};

class TaggedJsonSource : public TaggedSentences::Source {
 public:
  TaggedJsonSource(const std::string& path, const TaggedSentenceOptions& options)
      : records_(path), options_(options) {}

  bool next(TaggedSentence& sentence) override {
    JsonRecord record;
    if (!records_.next(record)) return false;
    const auto json = parse_record<nlohmann::json>(records_.path(), record);
    sentence = {};
    sentence.place = records_.place_of(record);
    if (!json.is_object()) refuse(sentence, "no JSON object", "give {\"tokens\": [...], \"labels\": [...]}");
    const auto* const words = find(json, options_.token_column, {"tokens", "words"});
    if (words == nullptr)
      refuse(sentence, "no list of words in tokens or words", message("name its field with `token_column`"));
    sentence.words = texts(*words, sentence);
    if (options_.labels != Labels::ignored) {
      const auto* const labels =
          find(json, options_.label_column, {"labels", "tags", "ner_tags", "pos_tags"});
      if (labels == nullptr && options_.labels == Labels::required)
        refuse(sentence, "no list of labels", message("name its field with `label_column`"));
      if (labels != nullptr) sentence.labels = texts(*labels, sentence);
      if (labels != nullptr && sentence.labels.size() != sentence.words.size()) {
        refuse(sentence, fmt::format("{} labels for {} words", sentence.labels.size(), sentence.words.size()),
               "a label each");
      }
    }
    const auto id = json.find("id");
    const bool known = id != json.end() && (id->is_string() || id->is_number_integer());
    sentence.id = !known ? std::to_string(number_) : id->is_string() ? id->get<std::string>() : id->dump();
    ++number_;
    return true;
  }

 private:
  [[noreturn]] static void refuse(const TaggedSentence& sentence, const std::string& what,
                                  const std::string& hint) {
    throw_bad_input(sentence.place + ": " + what, hint);
  }

  static const nlohmann::json* find(const nlohmann::json& json, const std::string& asked,
                                    const std::vector<std::string>& usual) {
    for (const std::string& name : asked.empty() ? usual : std::vector<std::string>{asked}) {
      if (const auto found = json.find(name); found != json.end() && found->is_array()) return &*found;
    }
    return nullptr;
  }

  static std::vector<std::string> texts(const nlohmann::json& list, const TaggedSentence& sentence) {
    std::vector<std::string> all;
    for (const nlohmann::json& entry : list) {
      if (!entry.is_string() && !entry.is_number_integer())
        refuse(sentence, "an entry of a list that is neither a string nor a whole number",
               "words and labels are strings");
      all.push_back(entry.is_string() ? entry.get<std::string>() : entry.dump());
    }
    return all;
  }

  JsonRecords records_;
  TaggedSentenceOptions options_;
  std::uint64_t number_ = 0;
};

}  // namespace

TaggedFormat tagged_format_of(const std::string& path) {
  if (has_json_suffix(path)) return TaggedFormat::jsonl;
  return is_conllu(path) ? TaggedFormat::conllu : TaggedFormat::conll;
}

TaggedSentences::TaggedSentences(const std::string& path, const TaggedSentenceOptions& options) {
  const TaggedFormat format =
      options.format == TaggedFormat::automatic ? tagged_format_of(path) : options.format;
  if (format == TaggedFormat::jsonl) {
    source_ = std::make_unique<TaggedJsonSource>(path, options);
  } else {
    source_ = std::make_unique<TaggedColumnSource>(LineReader(path), options, format == TaggedFormat::conllu);
  }
}

TaggedSentences::~TaggedSentences() = default;

bool TaggedSentences::next(TaggedSentence& sentence) {
  return source_->next(sentence);
}

}  // namespace bigbird
