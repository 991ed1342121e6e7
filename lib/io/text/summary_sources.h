// Private to lib/io/text: the forms behind SummaryPairs (summary_pairs.h), and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/text/summary_pairs.h"
#include "lib/io/text/text_input.h"

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
  virtual std::uint64_t replaced() const = 0;
  virtual std::string fields() const = 0;

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
// By the rules of SummaryPairOptions; BadRow where one is missing. `place` opens its message.
SummaryFields choose_summary_fields(const SummaryPairOptions& options, const std::vector<std::string>& names,
                                    const std::string& place);
std::string describe_summary_fields(const SummaryFields& fields);

std::unique_ptr<SummaryPairs::Source> open_summary_json(TextInput input, const SummaryPairOptions& options);
std::unique_ptr<SummaryPairs::Source> open_summary_table(TextInput input, const SummaryPairOptions& options,
                                                         char separator);
std::unique_ptr<SummaryPairs::Source> open_summary_lines(TextInput input, const SummaryPairOptions& options);
std::unique_ptr<SummaryPairs::Source> open_summary_folder(const std::string& path,
                                                          const SummaryPairOptions& options);

}  // namespace bigbird
