// Labelled texts as articles in XML, whose labels lie in a file of their own; see labelled_texts.h.
#include "lib/io/text/labelled_articles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/labelled_sources.h"

namespace bigbird {
namespace {

constexpr const char* usual_label = "hyperpartisan";

const std::string* attribute(const Article& article, const std::string& name) {
  const auto found = std::find_if(article.attributes.begin(), article.attributes.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == article.attributes.end() ? nullptr : &found->second;
}

const std::string& id_of(const Article& article, const std::string& path) {
  const std::string* id = attribute(article, "id");
  if (id == nullptr || is_blank(*id)) {
    throw_bad_input(fmt::format("{}:{}: an <article> without an id", path, article.line),
                    "every article has one; its label is found by it");
  }
  return *id;
}

class ArticleSource : public LabelledTexts::Source {
 public:
  ArticleSource(TextInput input, const LabelledTextOptions& options)
      : Source(input.path(), options), reader_(std::move(input), options.replace_invalid) {
    const bool labels = options.labels != Labels::ignored && !options.label_files.empty();
    if (options.labels == Labels::required && options.label_files.empty()) {
      throw_bad_input(
          fmt::format("{}: articles without their labels", path()),
          message("these lie in a file of their own (ground-truth-*.xml): set `label_files` to it"));
    }
    if (!labels) return;
    label_ = options.label_column.empty() ? usual_label : options.label_column;
    for (const std::string& file : options.label_files) read_labels(file);
  }

  bool read(LabelledText& row) override {
    if (!reader_.next(article_)) return false;
    row.place = fmt::format("{}:{}", path(), article_.line);
    row.id = id_of(article_, path());
    check_id(row.id, article_.line, 0);
    row.text = joined(options().text_column.empty() ? "text" : options().text_column);
    row.pair.reset();
    if (!options().pair_column.empty()) row.pair = joined(options().pair_column);
    row.labels.clear();
    row.label_is_list = false;
    if (label_.empty()) return true;
    const auto found = labels_.find(row.id);
    if (found != labels_.end()) {
      row.labels.push_back(found->second);
    } else if (options().labels == Labels::required) {
      throw_bad_input(fmt::format("{}: article '{}' has no label in {}", row.place, text_for_message(row.id),
                                  options().label_files.front()),
                      message("`label_files` is the file (or files) of these articles' labels"));
    }
    return true;
  }

  std::uint64_t replaced() const override { return reader_.replaced() + replaced_in_labels_; }
  std::string columns() const override {
    std::string text = "text: " + (options().text_column.empty() ? "text" : options().text_column);
    if (!options().pair_column.empty()) text += "; pair: " + options().pair_column;
    if (!label_.empty()) text += "; label: " + label_;
    return text + "; id: id";
  }

 private:
  // "title,text": attributes of the article and its text, joined by a blank.
  std::string joined(const std::string& columns) const {
    std::string text;
    bool first = true;
    for (const std::string& name : split_column_list(columns)) {
      const std::string* part = name == "text" ? &article_.text : attribute(article_, name);
      if (part == nullptr) missing(article_, name, path());
      if (!std::exchange(first, false)) text += ' ';
      text += *part;
    }
    return text;
  }

  [[noreturn]] static void missing(const Article& article, const std::string& name, const std::string& path) {
    std::string known = "text";
    for (const auto& [key, value] : article.attributes) known += ", " + text_for_message(key);
    throw_bad_input(fmt::format("{}:{}: the article has no '{}'", path, article.line, text_for_message(name)),
                    "there are: " + text_for_message(known, 300));
  }

  void read_labels(const std::string& file) {
    ArticleReader reader(TextInput(file), options().replace_invalid);
    for (Article article; reader.next(article);) {
      const std::string& id = id_of(article, file);
      const std::string* label = attribute(article, label_);
      if (label == nullptr) missing(article, label_, file);
      if (is_blank(*label)) {
        throw_bad_input(fmt::format("{}:{}: the label is empty (attribute '{}')", file, article.line,
                                    text_for_message(label_)),
                        message("every article needs a label; leave it out, or look at `label_column`"));
      }
      if (!labels_.emplace(id, *label).second) {
        throw_bad_input(
            fmt::format("{}:{}: the id '{}' has a label already", file, article.line, text_for_message(id)),
            "ids must differ, over all files of labels");
      }
    }
    replaced_in_labels_ += reader.replaced();
  }

  ArticleReader reader_;
  Article article_;
  std::string label_;  // the attribute; empty: labels are not read
  std::map<std::string, std::string> labels_;
  std::uint64_t replaced_in_labels_ = 0;
};

}  // namespace

std::unique_ptr<LabelledTexts::Source> open_article_source(TextInput input,
                                                           const LabelledTextOptions& options) {
  return std::make_unique<ArticleSource>(std::move(input), options);
}

}  // namespace bigbird
