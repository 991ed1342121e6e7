// Documents and summaries as files of one name in two folders; see summary_pairs.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/folder_files.h"
#include "lib/io/text/summary_sources.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

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

  std::uint64_t replaced() const override { return replaced_; }
  std::string fields() const override {
    std::string text;
    for (const std::string& folder : {documents_, summaries_}) {
      if (!folder.empty()) text += folder + "/*.txt; ";
    }
    return text + "id: their names";
  }

 private:
  // Without its last line end.
  std::string whole_file(const std::string& path) {
    TextLines lines(path, options().replace_invalid);
    std::string text;
    for (std::string_view line; lines.next(line);) {
      if (lines.line_number() > 1) text += '\n';
      text += line;
    }
    replaced_ += lines.replaced();
    return text;
  }

  std::string documents_;
  std::string summaries_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
  std::uint64_t replaced_ = 0;
};

}  // namespace

std::unique_ptr<SummaryPairs::Source> open_summary_folder(const std::string& path,
                                                          const SummaryPairOptions& options) {
  return std::make_unique<SummaryFolderSource>(path, options);
}

}  // namespace bigbird
