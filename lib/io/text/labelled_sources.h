// Private to lib/io/text: the forms behind LabelledTexts (labelled_texts.h), and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/files/sha256.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/io/text/text_input.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {

class LabelledTexts::Source {
 public:
  Source(std::string path, const LabelledTextOptions& options) : path_(std::move(path)), options_(options) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  virtual bool read(LabelledText& row) = 0;
  virtual std::uint64_t replaced() const = 0;
  virtual std::string columns() const = 0;

  void count() { ++rows_; }
  std::uint64_t rows() const { return rows_; }

 protected:
  const std::string& path() const { return path_; }
  const LabelledTextOptions& options() const { return options_; }
  // Error{bad_input} if the id was there before. Column 0: the place is a line.
  void check_id(const std::string& id, std::uint64_t line, std::uint64_t column);

 private:
  struct Place {
    std::uint64_t line = 0;
    std::uint64_t column = 0;
  };

  std::string path_;
  LabelledTextOptions options_;
  std::uint64_t rows_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Place> ids_;  // by half a SHA-256
};

std::unique_ptr<LabelledTexts::Source> open_labelled_source(const std::string& path,
                                                            const LabelledTextOptions& given);
std::unique_ptr<LabelledTexts::Source> open_article_source(TextInput input,
                                                           const LabelledTextOptions& options);

// Numbers of columns, from 0.
struct ChosenColumns {
  std::vector<std::size_t> text;
  std::vector<std::size_t> pair;  // empty: none
  std::optional<std::size_t> label;
  std::optional<std::size_t> id;
};

// "2,3" as its parts.
std::vector<std::string> split_column_list(const std::string& list);
// By the rules of LabelledTextOptions. `find` gives the number of a column that the options name, or an
// Error.
ChosenColumns choose_columns(const std::string& path, const std::vector<std::string>& names,
                             const LabelledTextOptions& options,
                             const std::function<std::size_t(const std::string&)>& find);
std::string describe_columns(const std::vector<std::string>& names, const ChosenColumns& chosen);

}  // namespace bigbird
