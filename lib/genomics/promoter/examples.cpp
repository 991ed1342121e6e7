// Reading and writing of promoter examples; see examples.h.
#include "lib/genomics/promoter/examples.h"

#include <fmt/format.h>

#include <cctype>

#include "lib/core/error.h"

namespace bigbird {
namespace {

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = {"id",     "chrom", "start", "end",
                                                 "strand", "label", "split", "sequence"};
  return names;
}

int parse_label(std::string_view text, const std::string& where) {
  if (text == "0" || text == "1") return text[0] - '0';
  throw_bad_input(fmt::format("{}: label '{}' is neither 0 nor 1", where, text),
                  "labels are 1 for promoters, else 0");
}

class ExampleWindows : public WindowReader {
 public:
  explicit ExampleWindows(const std::string& path) : reader_(path) {}

  bool next(Window& window) override {
    if (!reader_.next(example_)) return false;
    window = {example_.id,     example_.chrom, example_.start,   example_.end,
              example_.strand, example_.label, example_.sequence};
    return true;
  }

 private:
  PromoterExampleReader reader_;
  PromoterExample example_;
};

}  // namespace

PromoterExampleWriter::PromoterExampleWriter(const std::string& path,
                                             const std::vector<std::string>& provenance)
    : out_(path), table_(out_, column_names(), provenance) {}

void PromoterExampleWriter::write(const PromoterExample& example) {
  table_.row({example.id, example.chrom, std::to_string(example.start), std::to_string(example.end),
              std::string(1, example.strand), std::to_string(example.label), example.split,
              example.sequence});
}

void PromoterExampleWriter::close() {
  out_.close();
}

PromoterExampleReader::PromoterExampleReader(const std::string& path) : table_(path) {
  for (const std::string& name : column_names()) columns_.push_back(table_.column(name));
}

bool PromoterExampleReader::next(PromoterExample& example) {
  if (!table_.next(fields_)) return false;
  const auto field = [&](std::size_t column) { return fields_[columns_[column]]; };
  example.id = field(0);
  example.chrom = field(1);
  example.start = parse_integer(field(2), where(), "start");
  example.end = parse_integer(field(3), where(), "end");
  if (field(4) != "+" && field(4) != "-") {
    throw_bad_input(fmt::format("{}: strand '{}' is neither + nor -", where(), field(4)));
  }
  example.strand = field(4)[0];
  example.label = parse_label(field(5), where());
  example.split = field(6);
  example.sequence = field(7);
  if (example.sequence.empty()) throw_bad_input(where() + ": the sequence is empty");
  for (char& base : example.sequence) {
    base = static_cast<char>(std::toupper(static_cast<unsigned char>(base)));
    if (std::string_view("ACGTN").find(base) == std::string_view::npos) {
      throw_bad_input(fmt::format("{}: '{}' in the sequence is none of A C G T N", where(), base));
    }
  }
  return true;
}

std::unique_ptr<WindowReader> read_example_windows(const std::string& path) {
  return std::make_unique<ExampleWindows>(path);
}

}  // namespace bigbird
