// Labelled texts as files in a folder for each class; see labelled_texts.h.
#include <fmt/format.h>

#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/folder_files.h"
#include "lib/io/text/labelled_sources.h"

namespace bigbird {
namespace {

class FolderSource : public LabelledTexts::Source {
 public:
  FolderSource(const std::string& path, const LabelledTextOptions& options) : Source(path, options) {
    if (!folder_exists(path)) {
      throw_bad_input(fmt::format("{}: is no folder", path),
                      message("`format` folder reads FOLDER/CLASS/*.txt; check the path"));
    }
    classes_ = folders_in(path);
    const bool bare =
        options.labels == Labels::ignored || (options.labels == Labels::optional && classes_.empty());
    if (bare && !text_files_in(path).empty()) {
      classes_.insert(classes_.begin(), "");
    } else if (classes_.empty()) {
      throw_bad_input(fmt::format("{}: no folder of a class in it", path),
                      "every class is a folder of .txt files: FOLDER/CLASS/*.txt");
    }
  }

  bool read(LabelledText& row) override {
    while (file_ == files_.size()) {
      if (next_class_ == classes_.size()) return false;
      class_ = classes_[next_class_++];
      files_ = text_files_in(class_.empty() ? path() : path() + "/" + class_);
      file_ = 0;
      if (files_.empty()) {
        throw_bad_input(fmt::format("{}/{}: no .txt file in the folder of this class", path(), class_),
                        "remove the folder, or put the texts of the class there");
      }
    }
    row.id = class_.empty() ? files_[file_] : class_ + "/" + files_[file_];
    row.place = path() + "/" + row.id;
    ++file_;
    row.text.clear();
    row.pair.reset();
    row.labels.clear();
    row.label_is_list = false;
    if (options().labels != Labels::ignored && !class_.empty()) row.labels.push_back(class_);
    TextLines lines(row.place, options().replace_invalid);
    for (std::string_view line; lines.next(line);) {
      if (lines.line_number() > 1) row.text += '\n';
      row.text += line;
    }
    replaced_ += lines.replaced();
    return true;
  }

  std::uint64_t replaced() const override { return replaced_; }
  std::string columns() const override {
    return options().labels == Labels::ignored ? "text: the files; id: their paths"
                                               : "text: the files; label: their folder; id: their paths";
  }

 private:
  std::vector<std::string> classes_;  // "" for the folder itself
  std::size_t next_class_ = 0;
  std::string class_;
  std::vector<std::string> files_;
  std::size_t file_ = 0;
  std::uint64_t replaced_ = 0;
};

}  // namespace

std::unique_ptr<LabelledTexts::Source> open_folder_source(const std::string& path,
                                                          const LabelledTextOptions& options) {
  return std::make_unique<FolderSource>(path, options);
}

}  // namespace bigbird
