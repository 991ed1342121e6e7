// Documents and summaries, whatever they lie in; see summary_pairs.h.
#include "lib/io/text/summary_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/summary_sources.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

constexpr std::array<const char*, 8> document_names{"article_text", "article",  "document",    "source",
                                                    "text",         "dialogue", "description", "src"};
constexpr std::array<const char*, 7> summary_names{"abstract_text", "summary",    "highlights", "abstract",
                                                   "target",        "prediction", "tgt"};
constexpr std::array<const char*, 3> id_names{"id", "article_id", "paper_id"};

SummaryFormat summary_format_of_path(const std::string& path) {
  if (folder_exists(path)) return SummaryFormat::folder;
  const auto is = [&](std::initializer_list<const char*> suffixes) {
    const std::string name = has_suffix(path, ".gz") ? path.substr(0, path.size() - 3) : path;
    return std::any_of(suffixes.begin(), suffixes.end(),
                       [&](const char* suffix) { return has_suffix(name, suffix); });
  };
  if (is({".jsonl", ".ndjson", ".json"})) return SummaryFormat::jsonl;
  if (is({".csv"})) return SummaryFormat::csv;
  if (is({".tsv", ".tab"})) return SummaryFormat::tsv;
  if (is({".txt"})) return SummaryFormat::lines;
  throw_usage(fmt::format("{}: its name does not tell its format", path),
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
  if (format == SummaryFormat::folder) return open_summary_folder(path, options);
  TextInput input(path);
  // Cohan's records lie in files called .txt as well.
  const bool by_content = format == SummaryFormat::automatic || (!told && format == SummaryFormat::lines);
  if (by_content) format = summary_format_of_content(input, options);
  if (format == SummaryFormat::csv || format == SummaryFormat::tsv) {
    const char separator =
        separator_of_table(input, format == SummaryFormat::tsv ? '\t' : ',',
                           [&](const std::string& cell) { return is_summary_column(options, cell); });
    return open_summary_table(std::move(input), options, separator);
  }
  switch (format) {
    case SummaryFormat::jsonl:
      return open_summary_json(std::move(input), options);
    default:
      return open_summary_lines(std::move(input), options);
  }
}

}  // namespace

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

std::string describe_summary_fields(const SummaryFields& fields) {
  std::string text;
  const auto add = [&](const char* what, const std::string& name) {
    if (!name.empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, text_for_message(name));
  };
  add("document", fields.document);
  add("summary", fields.summary);
  add("id", fields.id.empty() ? "number of the row" : fields.id);
  return text;
}

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
      throw_bad_input(fmt::format("{}: the id '{}' is that of {} as well", pair.place,
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
SummaryPairs::SummaryPairs(SummaryPairs&&) noexcept = default;
SummaryPairs& SummaryPairs::operator=(SummaryPairs&&) noexcept = default;

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
std::uint64_t SummaryPairs::replaced() const {
  return source_->replaced();
}
std::string SummaryPairs::fields() const {
  return source_->fields();
}

}  // namespace bigbird
