// Documents and summaries in CSV and TSV, in JSON, as plain lines, and as files of one name in two folders;
// see summary_pairs.h.
#include "lib/io/text/summary_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_input.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {

class SummaryPairs::Source {
 public:
  Source(std::string path, const SummaryPairOptions& options) : path_(std::move(path)), options_(options) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // The next row, which may be a bad one: Error{bad_input} of its own place, after which read() goes on with
  // the next. Errors that leave nothing to go on with are thrown by `broken` readers themselves.
  virtual bool read(SummaryPair& pair) = 0;

  // read(), with bad rows passed over where the options say so, ids checked and rows counted.
  bool next(SummaryPair& pair);
  std::uint64_t rows() const { return rows_; }
  std::uint64_t skipped() const { return skipped_; }
  const std::string& first_skipped() const { return first_skipped_; }

 protected:
  const std::string& path() const { return path_; }
  const SummaryPairOptions& options() const { return options_; }
  bool wants_document() const { return options_.parts != SummaryParts::summary; }
  bool wants_summary() const { return options_.parts != SummaryParts::document; }
  // The number of the next row, for rows without ids: bad ones count too, so that numbers are those of the
  // file.
  std::string row_number() const { return std::to_string(rows_ + skipped_); }

 private:
  std::string path_;
  SummaryPairOptions options_;
  std::uint64_t rows_ = 0;
  std::uint64_t skipped_ = 0;
  std::string first_skipped_;
  std::map<std::string, std::string> places_;  // of ids
};

namespace {

// A row that cannot be taken although the file can be read on.
class BadRow {
 public:
  BadRow(std::string message, std::string hint) : message_(std::move(message)), hint_(std::move(hint)) {}
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string message_;
  std::string hint_;
};

// Which of the names of a record or table hold what is asked for.
struct SummaryFields {
  std::string document;  // empty: not asked for
  std::string summary;
  std::string id;  // empty: none
};

constexpr std::array<const char*, 8> document_names{"article_text", "article",  "document",    "source",
                                                    "text",         "dialogue", "description", "src"};
constexpr std::array<const char*, 7> summary_names{"abstract_text", "summary",    "highlights", "abstract",
                                                   "target",        "prediction", "tgt"};
constexpr std::array<const char*, 3> id_names{"id", "article_id", "paper_id"};

// By the rules of SummaryPairOptions; BadRow where one is missing. `place` opens its message.
SummaryFields choose_summary_fields(const SummaryPairOptions& options, const std::vector<std::string>& names,
                                    const std::string& place) {
  const auto there = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto missing = [&](const std::string& what) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + text_for_message(name);
    throw BadRow(fmt::format("{}: {}", place, what),
                 known.empty() ? "it has no fields" : "the fields are: " + text_for_message(known, 300));
  };
  const auto chosen = [&](const std::string& given, std::span<const char* const> usual, const char* what) {
    if (!given.empty()) {
      if (!there(given)) missing(fmt::format("no field '{}'", text_for_message(given)));
      return given;
    }
    const auto found = std::find_if(usual.begin(), usual.end(), there);
    if (found == usual.end()) missing(fmt::format("no field that is known to hold the {}", what));
    return std::string(*found);
  };
  SummaryFields fields;
  if (options.parts != SummaryParts::summary)
    fields.document = chosen(options.document_field, document_names, "document");
  if (options.parts != SummaryParts::document)
    fields.summary = chosen(options.summary_field, summary_names, "summary");
  if (!options.id_field.empty()) {
    fields.id = chosen(options.id_field, {}, "id");
  } else if (const auto* found = std::find_if(id_names.begin(), id_names.end(), there);
             found != id_names.end()) {
    fields.id = *found;
  }
  return fields;
}

class SummaryTableSource : public SummaryPairs::Source {
 public:
  SummaryTableSource(TextInput input, const SummaryPairOptions& options, char separator)
      : Source(input.path(), options),
        reader_(std::move(input),
                {separator, options.quoting, true, RaggedRows::refused, options.replace_invalid}) {
    try {
      fields_ = choose_summary_fields(options, reader_.header(), path());
    } catch (const BadRow& bad) {  // of the header: there is no other row to go on with
      throw_bad_input(bad.message(), bad.hint());
    }
    const auto column = [&](const std::string& name) { return name.empty() ? 0 : reader_.column(name); };
    document_ = column(fields_.document);
    summary_ = column(fields_.summary);
    id_ = column(fields_.id);
  }

  bool read(SummaryPair& pair) override {
    if (!reader_.next(row_)) return false;
    pair.place = reader_.where();
    pair.id = fields_.id.empty() ? row_number() : row_[id_];
    if (wants_document()) pair.document = row_[document_];
    if (wants_summary()) pair.summaries = {row_[summary_]};
    return true;
  }

 private:
  DelimitedReader reader_;
  SummaryFields fields_;
  std::size_t document_ = 0, summary_ = 0, id_ = 0;
  std::vector<std::string> row_;
};

class SummaryLineSource : public SummaryPairs::Source {
 public:
  SummaryLineSource(TextInput input, const SummaryPairOptions& options)
      : Source(input.path(), options), lines_(std::move(input), options.replace_invalid) {
    if (wants_document() && wants_summary()) {
      throw_usage(fmt::format("{}: a line holds a document or a summary, not both", path()),
                  "write pairs as JSON Lines: {\"document\": \"...\", \"summary\": \"...\"}");
    }
  }

  bool read(SummaryPair& pair) override {
    std::string_view line;
    if (!lines_.next(line)) return false;
    pair.place = lines_.where();
    pair.id = row_number();
    if (wants_document()) pair.document = line;
    if (wants_summary()) pair.summaries = {std::string(line)};
    return true;
  }

 private:
  TextLines lines_;
};

using SummaryJson = nlohmann::basic_json<OrderedMap>;

JsonRecordsOptions summary_record_options(const SummaryPairOptions& options) {
  JsonRecordsOptions records;
  records.list_keys = {"data"};
  records.replace_invalid = options.replace_invalid;
  return records;
}

class SummaryJsonSource : public SummaryPairs::Source {
 public:
  SummaryJsonSource(TextInput input, const SummaryPairOptions& options)
      : Source(input.path(), options), records_(std::move(input), summary_record_options(options)) {}

  bool read(SummaryPair& pair) override {
    if (!records_.next(record_)) return false;
    pair.place = records_.place_of(record_);
    const auto object = parse_record<SummaryJson>(path(), record_);
    if (!object.is_object()) {
      throw BadRow(fmt::format("{}: a record is {}, not an object", pair.place, object.type_name()),
                   "a record looks like {\"document\": \"...\", \"summary\": \"...\"}");
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    fields_ = choose_summary_fields(options(), names, pair.place);
    pair.id = fields_.id.empty() ? row_number() : id_of(object.at(fields_.id), pair.place);
    if (wants_document())
      pair.document = text_of(object.at(fields_.document), fields_.document, pair.place, false);
    if (!wants_summary()) return true;
    const SummaryJson& summary = object.at(fields_.summary);
    if (options().list_of_summaries && summary.is_array()) {
      for (const SummaryJson& one : summary)
        pair.summaries.push_back(text_of(one, fields_.summary, pair.place, true));
      if (summary.empty())
        throw BadRow(
            fmt::format("{}: field '{}' has no summary", pair.place, text_for_message(fields_.summary)),
            message("leave the record out, or set `skip_bad`"));
    } else {
      pair.summaries.push_back(text_of(summary, fields_.summary, pair.place, true));
    }
    return true;
  }

 private:
  static std::string id_of(const SummaryJson& id, const std::string& place) {
    if (id.is_string()) return id.get<std::string>();
    if (id.is_number()) return json_text(id);
    throw BadRow(fmt::format("{}: the id is {}, not a string or a number", place, id.type_name()),
                 message("mend the record, or set `id_field`"));
  }

  [[noreturn]] static void no_text(const SummaryJson& value, const std::string& field,
                                   const std::string& place) {
    throw BadRow(fmt::format("{}: field '{}' is {}, not a text or a list of sentences", place,
                             text_for_message(field), value.type_name()),
                 "mend the record, or name another field");
  }

  static std::string sentence_of(const SummaryJson& value, const std::string& field,
                                 const std::string& place) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) no_text(value, field, place);
    std::string sentence;
    for (const SummaryJson& word : value) {
      if (!word.is_string()) no_text(word, field, place);
      sentence += (sentence.empty() ? "" : " ") + word.get<std::string>();
    }
    return sentence;
  }

  static std::string text_of(const SummaryJson& value, const std::string& field, const std::string& place,
                             bool is_summary) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) no_text(value, field, place);
    constexpr std::string_view opening = "<S>", closing = "</S>";
    std::string text;
    bool first = true;
    for (const SummaryJson& element : value) {
      std::string sentence = sentence_of(element, field, place);
      if (is_summary && sentence.size() >= opening.size() + closing.size() && sentence.starts_with(opening) &&
          sentence.ends_with(closing)) {
        sentence = sentence.substr(opening.size(), sentence.size() - opening.size() - closing.size());
      }
      if (!std::exchange(first, false)) text += '\n';
      text += sentence;
    }
    return text;
  }

  JsonRecords records_;
  JsonRecord record_;
  SummaryFields fields_;
};

constexpr std::array<const char*, 4> document_folders{"documents", "articles", "source", "News Articles"};
constexpr std::array<const char*, 4> summary_folders{"summaries", "abstracts", "target", "Summaries"};

class SummaryFolderSource : public SummaryPairs::Source {
 public:
  SummaryFolderSource(const std::string& path, const SummaryPairOptions& options) : Source(path, options) {
    const std::vector<std::string> folders = folders_in(path);
    const auto find = [&](const auto& names, const char* what) {
      const auto found = std::find_if(names.begin(), names.end(), [&](const char* name) {
        return std::find(folders.begin(), folders.end(), name) != folders.end();
      });
      if (found != names.end()) return path + "/" + *found;
      throw_bad_input(fmt::format("{}: no folder of {} in it", path, what),
                      fmt::format("it is called {}, and its files NAME.txt", fmt::join(names, ", ")));
    };
    const bool bare = !wants_summary() && folders.empty();
    if (wants_document()) documents_ = bare ? path : find(document_folders, "documents");
    if (wants_summary()) summaries_ = find(summary_folders, "summaries");
    const std::string& listed = wants_document() ? documents_ : summaries_;
    for (const std::string& name : bare ? text_files_in(listed) : files_below(listed)) {
      if (is_text_file_name(name)) names_.push_back(name);
    }
    if (names_.empty())
      throw_bad_input(fmt::format("{}: no .txt file in it", listed), "documents and summaries are NAME.txt");
  }

  bool read(SummaryPair& pair) override {
    if (next_ == names_.size()) return false;
    const std::string& name = names_[next_++];
    pair.id = name.substr(0, name.rfind(".txt"));
    pair.place = (wants_document() ? documents_ : summaries_) + "/" + name;
    if (wants_document()) pair.document = whole_file(documents_ + "/" + name);
    if (!wants_summary()) return true;
    if (!file_exists(summaries_ + "/" + name)) {
      throw BadRow(fmt::format("{}: its summary {}/{} is not there", pair.place, summaries_, name),
                   message("every document has a summary of its name; or set `skip_bad`"));
    }
    pair.summaries = {whole_file(summaries_ + "/" + name)};
    return true;
  }

 private:
  std::string whole_file(const std::string& path) const {
    TextLines lines(path, options().replace_invalid);
    return joined_lines(lines);
  }

  std::string documents_;
  std::string summaries_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
};

SummaryFormat summary_format_of_path(const std::string& path) {
  if (folder_exists(path)) return SummaryFormat::folder;
  if (is_one_of(path, {".jsonl", ".ndjson", ".json"})) return SummaryFormat::jsonl;
  if (is_one_of(path, {".csv"})) return SummaryFormat::csv;
  if (is_one_of(path, {".tsv", ".tab"})) return SummaryFormat::tsv;
  if (is_one_of(path, {".txt"})) return SummaryFormat::lines;
  throw_usage(fmt::format("{}: its name does not show its format", path),
              message("set `format` to jsonl, csv, tsv, lines or folder"));
}

bool is_summary_column(const SummaryPairOptions& options, const std::string& cell) {
  const auto among = [&](std::span<const char* const> names) {
    return std::find(names.begin(), names.end(), cell) != names.end();
  };
  return among(document_names) || among(summary_names) || among(id_names) ||
         (!cell.empty() &&
          (cell == options.document_field || cell == options.summary_field || cell == options.id_field));
}

// No more is read than tells it: a stream may go on slowly.
SummaryFormat summary_format_of_content(TextInput& input, const SummaryPairOptions& options) {
  std::size_t begin = std::string_view::npos;
  while ((begin = input.window().find_first_not_of(" \t\r\n")) == std::string_view::npos) {
    if (!input.fill()) break;
  }
  if (begin != std::string_view::npos && (input.window()[begin] == '{' || input.window()[begin] == '['))
    return SummaryFormat::jsonl;
  const std::string line = first_line_of(input);
  for (const auto& [separator, format] :
       {std::pair('\t', SummaryFormat::tsv), std::pair(',', SummaryFormat::csv),
        std::pair(';', SummaryFormat::csv)}) {
    const std::vector<std::string> fields = fields_of_line(line, separator);
    if (fields.size() > 1 && std::any_of(fields.begin(), fields.end(), [&](const std::string& cell) {
          return is_summary_column(options, cell);
        })) {
      return format;
    }
  }
  return SummaryFormat::lines;
}

std::unique_ptr<SummaryPairs::Source> open_summary_source(const std::string& path,
                                                          const SummaryPairOptions& options) {
  const bool told = options.format != SummaryFormat::automatic;
  SummaryFormat format = options.format;
  if (!told && path != "-") format = summary_format_of_path(path);
  if (format == SummaryFormat::folder) return std::make_unique<SummaryFolderSource>(path, options);
  TextInput input(path);
  // Cohan's records lie in files called .txt as well.
  const bool by_content = format == SummaryFormat::automatic || (!told && format == SummaryFormat::lines);
  if (by_content) format = summary_format_of_content(input, options);
  if (format == SummaryFormat::csv || format == SummaryFormat::tsv) {
    const char separator =
        separator_of_table(input, format == SummaryFormat::tsv ? '\t' : ',',
                           [&](const std::string& cell) { return is_summary_column(options, cell); });
    return std::make_unique<SummaryTableSource>(std::move(input), options, separator);
  }
  if (format == SummaryFormat::jsonl) return std::make_unique<SummaryJsonSource>(std::move(input), options);
  return std::make_unique<SummaryLineSource>(std::move(input), options);
}

}  // namespace
bool SummaryPairs::Source::next(SummaryPair& pair) {
  while (true) {
    pair.document.clear();
    pair.summaries.clear();
    try {
      if (!read(pair)) return false;
    } catch (const BadRow& bad) {
      if (!options_.skip_bad) throw_bad_input(bad.message(), bad.hint());
      if (skipped_++ == 0) first_skipped_ = bad.message();
      continue;
    }
    const auto [other, is_new] = places_.try_emplace(pair.id, pair.place);
    if (!is_new) {
      throw_bad_input(fmt::format("{}: the id '{}' is the one of {} as well", pair.place,
                                  text_for_message(pair.id), other->second),
                      message("ids must differ; set `id_field` to another field"));
    }
    ++rows_;
    return true;
  }
}

SummaryPairs::SummaryPairs(const std::string& path, const SummaryPairOptions& options)
    : source_(open_summary_source(path, options)) {}

SummaryPairs::~SummaryPairs() = default;

bool SummaryPairs::next(SummaryPair& pair) {
  return source_->next(pair);
}
std::uint64_t SummaryPairs::rows() const {
  return source_->rows();
}
std::uint64_t SummaryPairs::skipped() const {
  return source_->skipped();
}
const std::string& SummaryPairs::first_skipped() const {
  return source_->first_skipped();
}

}  // namespace bigbird
