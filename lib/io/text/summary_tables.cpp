// Documents and summaries in CSV and TSV, and as plain lines; see summary_pairs.h.
#include <fmt/format.h>

#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/delimited.h"
#include "lib/io/text/summary_sources.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

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

  std::uint64_t replaced() const override { return reader_.replaced(); }
  std::string fields() const override { return describe_summary_fields(fields_); }

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

  std::uint64_t replaced() const override { return lines_.replaced(); }
  std::string fields() const override {
    return wants_document() ? "document: the line; id: its number from 0"
                            : "summary: the line; id: its number from 0";
  }

 private:
  TextLines lines_;
};

}  // namespace

std::unique_ptr<SummaryPairs::Source> open_summary_table(TextInput input, const SummaryPairOptions& options,
                                                         char separator) {
  return std::make_unique<SummaryTableSource>(std::move(input), options, separator);
}

std::unique_ptr<SummaryPairs::Source> open_summary_lines(TextInput input, const SummaryPairOptions& options) {
  return std::make_unique<SummaryLineSource>(std::move(input), options);
}

}  // namespace bigbird
