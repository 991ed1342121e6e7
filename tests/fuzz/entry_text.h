// What the fuzzers of text files do with their bytes; the suite's short runs do the same. Each reads what
// there is to read, in the ways that users can ask for, and returns whether the first of them read all of it.
// An Error, in one line, is a right answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/delimited.h"
#include "lib/io/text/documents.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/io/text/summary_pairs.h"
#include "tests/fuzz/fuzz_file.h"

namespace bigbird::fuzz {

template <typename Read>
bool text_read_or_refused(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.message().find('\n') != std::string::npos) std::abort();
    if (error.hint().find('\n') != std::string::npos) std::abort();
    return false;
  }
}

// Whatever comes out is UTF-8 and holds no NUL.
inline void demand_text(const std::string& text) {
  if (find_invalid_utf8(text) != text.size()) std::abort();
}

inline void demand_row(const LabelledText& row) {
  demand_text(row.id);
  demand_text(row.text);
  if (row.pair) demand_text(*row.pair);
  for (const std::string& label : row.labels) demand_text(label);
  if (row.place.empty()) std::abort();
}

inline bool delimited(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  with_file(".csv", data, size, [&](const std::string& path) {
    for (const int way : {0, 1, 2, 3}) {
      DelimitedOptions options;
      options.separator = (way & 1) != 0 ? '\t' : ',';
      options.quoting = (way & 1) != 0 ? Quoting::none : Quoting::doubled;
      options.replace_invalid = (way & 2) != 0;
      options.ragged = (way & 2) != 0 ? RaggedRows::kept : RaggedRows::refused;
      const bool read = text_read_or_refused([&] {
        DelimitedReader reader(path, options);
        std::vector<std::string> row;
        while (reader.next(row)) {
          if (options.ragged == RaggedRows::refused && row.size() != reader.header().size()) std::abort();
          for (const std::string& field : row) demand_text(field);
          if (reader.line_number() == 0) std::abort();
        }
      });
      if (way == 0) whole = read;
    }
    for (const TableFormat format : {TableFormat::csv, TableFormat::tsv}) {
      LabelledTextOptions options;
      options.format = format;
      options.labels = Labels::optional;
      options.replace_invalid = true;
      options.backslash_newline = true;
      text_read_or_refused([&] {
        LabelledTexts texts(path, options);
        for (LabelledText row; texts.next(row);) demand_row(row);
        demand_text(texts.columns());
      });
    }
  });
  return whole;
}

// What the scanner hands out is JSON for the library too, numbers beyond double included; what it refuses as
// one value a line, the library refuses as well. `accepts(text, beyond_double)`: the library reads the text,
// or it does but for such a number.
inline bool json_records(const std::uint8_t* data, std::size_t size,
                         bool (*accepts)(const std::string&, bool)) {
  bool whole = false;
  with_file(".json", data, size, [&](const std::string& path) {
    for (const int way : {0, 1, 2}) {
      JsonRecordsOptions options;
      if (way != 1) options.list_keys = {"data", "Data"};
      options.replace_invalid = way == 1;
      options.layout = way == 2 ? JsonLayout::lines : JsonLayout::automatic;
      const bool read = text_read_or_refused([&] {
        JsonRecords records(path, options);
        for (JsonRecord record; records.next(record);) {
          if (record.line == 0 || record.column == 0 || !accepts(record.json, true)) std::abort();
        }
      });
      if (way == 0) whole = read;
    }
    LabelledTextOptions options;
    options.format = TableFormat::jsonl;
    text_read_or_refused([&] {
      LabelledTexts texts(path, options);
      for (LabelledText row; texts.next(row);) demand_row(row);
    });
    const std::string text(reinterpret_cast<const char*>(data), size);
    // The library stops at NUL, and nests as deep as it gets.
    const bool plain = text.find_first_of(std::string_view("\n\xEF\x1F\0", 4)) == std::string::npos;
    if (plain && text.size() < JsonRecords::max_depth && !whole && accepts(text, false)) std::abort();
  });
  return whole;
}

inline bool documents(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  with_file(".txt", data, size, [&](const std::string& path) {
    for (const DocumentFormat format :
         {DocumentFormat::automatic, DocumentFormat::plain, DocumentFormat::jsonl,
          DocumentFormat::wikiextractor, DocumentFormat::wikitext}) {
      TextDocumentOptions options;
      options.format = format;
      options.replace_invalid = format != DocumentFormat::automatic;
      const bool read = text_read_or_refused([&] {
        TextDocuments documents({path}, options);
        for (TextDocument document; documents.next(document);) {
          if (document.lines.empty() || document.name.empty() || document.place.empty()) std::abort();
          for (const std::string& line : document.lines) {
            demand_text(line);
            if (line.find('\n') != std::string::npos || is_blank(line)) std::abort();
          }
        }
      });
      if (format == DocumentFormat::automatic) whole = read;
    }
  });
  return whole;
}

// Documents with summaries, in every format; of JSON Lines also as lists of summaries, and with bad records
// passed over.
inline bool summaries(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  with_file(".jsonl", data, size, [&](const std::string& path) {
    for (const int way : {0, 1, 2, 3, 4, 5}) {
      constexpr SummaryFormat formats[] = {SummaryFormat::jsonl, SummaryFormat::jsonl,
                                           SummaryFormat::csv,   SummaryFormat::tsv,
                                           SummaryFormat::lines, SummaryFormat::automatic};
      SummaryPairOptions options;
      options.format = formats[way];
      if (options.format == SummaryFormat::lines) options.parts = SummaryParts::summary;
      options.list_of_summaries = way == 1;
      options.skip_bad = way % 2 == 1;
      options.replace_invalid = way % 2 == 1;
      const bool read = text_read_or_refused([&] {
        SummaryPairs pairs(path, options);
        for (SummaryPair pair; pairs.next(pair);) {
          demand_text(pair.id);
          demand_text(pair.document);
          if (pair.summaries.empty() || pair.place.empty()) std::abort();
          for (const std::string& summary : pair.summaries) demand_text(summary);
        }
      });
      if (way == 0) whole = read;
    }
  });
  return whole;
}

// The bytes as articles, and as the labels of themselves.
inline bool articles(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  with_file(".xml", data, size, [&](const std::string& path) {
    for (const bool labelled : {false, true}) {
      LabelledTextOptions options;
      options.labels = labelled ? Labels::optional : Labels::ignored;
      if (labelled) options.label_files = {path};
      options.replace_invalid = labelled;
      const bool read = text_read_or_refused([&] {
        LabelledTexts texts(path, options);
        for (LabelledText row; texts.next(row);) demand_row(row);
        demand_text(texts.columns());
      });
      if (!labelled) whole = read;
    }
  });
  return whole;
}

}  // namespace bigbird::fuzz
