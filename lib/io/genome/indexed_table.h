// Lines of a table by place: text compressed with bgzip, with the index that tabix makes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// Whether FILE.tbi or FILE.csi lies beside the file.
bool has_table_index(const std::string& path);

class IndexedTable {
 public:
  // Error{bad_input} when the index cannot be read, or is not of this file (table_index.h).
  explicit IndexedTable(const std::string& path);
  ~IndexedTable();
  IndexedTable(const IndexedTable&) = delete;
  IndexedTable& operator=(const IndexedTable&) = delete;

  // As the index names them.
  const std::vector<std::string>& contigs() const { return contigs_; }
  // next() then gives the lines that overlap [begin, end), 0-based half-open. `contig`: of contigs().
  void query(std::size_t contig, std::int64_t begin, std::int64_t end);
  // False at the end of the region; the view is valid until the next call. Error{bad_input} for damage.
  bool next(std::string_view& line);

 private:
  struct Handles;
  std::string path_;
  std::vector<std::string> contigs_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace bigbird
