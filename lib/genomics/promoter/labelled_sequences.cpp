// Readers of labelled sequences; see labelled_sequences.h.
#include "lib/genomics/promoter/labelled_sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/fasta_stream.h"
#include "lib/io/tables/tsv.h"
#include "lib/metrics/class_metrics.h"

namespace bigbird {
namespace {

constexpr std::size_t no_column = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t most_classes = 10'000;

// The fields of a comma-separated line.
void split_commas(std::string_view line, const std::string& where, std::vector<std::string>& fields) {
  fields.clear();
  std::size_t at = 0;
  for (;;) {
    std::string& field = fields.emplace_back();
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) {
          throw_bad_input(where + ": a quote is not closed on its line", "a row must not hold line ends");
        }
        if (line[at] != '"') {
          field += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += line[at++];
        } else {
          break;
        }
      }
      ++at;
      if (at < line.size() && line[at] != ',') {
        throw_bad_input(where + ": text after a closing quote", "quotes within a quoted field are doubled");
      }
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      field = line.substr(at, end - at);
      at = end;
    }
    if (at >= line.size()) return;
    ++at;  // the comma
  }
}

class TableWindows : public WindowReader {
 public:
  explicit TableWindows(const std::string& path) : lines_(path) {
    std::string_view line;
    do {
      if (!lines_.next(line)) {
        throw_bad_input(path + ": there is no header",
                        "the first line must name a sequence and a label column");
      }
      if (lines_.line_number() == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    } while (line.empty() || line.starts_with("##"));
    if (line.front() == '>') {
      throw_bad_input(lines_.where() + ": a FASTA file has no labels",
                      "give its negatives in a second FASTA, or a table with the columns sequence and label");
    }
    if (line.front() == '#') line.remove_prefix(1);
    tabs_ = line.find('\t') != std::string_view::npos;
    split(line);
    for (std::string& name : fields_) name = lower_ascii(name);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto found = std::find(fields_.begin(), fields_.end(), names[i]);
      columns_[i] = found == fields_.end() ? no_column : static_cast<std::size_t>(found - fields_.begin());
      if (found != fields_.end() && std::find(found + 1, fields_.end(), names[i]) != fields_.end()) {
        throw_bad_input(fmt::format("{}: two columns are named '{}'", lines_.where(), names[i]),
                        "rename one of them");
      }
    }
    count_ = fields_.size();
    for (const Column needed : {sequence, label}) {
      if (columns_[needed] != no_column) continue;
      throw_bad_input(
          fmt::format("{}: the header names no column '{}'", lines_.where(), names[needed]),
          "the first line must name the columns, sequence and label among them, separated by tabs or commas");
    }
  }

  bool next(Window& window) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) {
        if (replaced_ > 0) {
          log_warning(
              fmt::format("{}: {} letters other than A C G T N were read as N", lines_.path(), replaced_));
        }
        log_info(fmt::format("{}: {} rows read", lines_.path(), rows_));
        return false;
      }
    } while (line.find_first_not_of(" \t") == std::string_view::npos);
    split(line);
    if (fields_.size() != count_) {
      throw_bad_input(
          fmt::format("{}: {} fields where the header has {}", lines_.where(), fields_.size(), count_),
          tabs_ ? "fields are separated by single tabs" : "fields are separated by commas");
    }
    ++rows_;
    window.sequence.clear();
    read_sequence(fields_[columns_[sequence]], window.sequence);
    const auto length = static_cast<std::int64_t>(window.sequence.size());
    window.id = columns_[id] == no_column ? fmt::format("row{}", rows_) : fields_[columns_[id]];
    window.chrom = columns_[chrom] == no_column ? "." : fields_[columns_[chrom]];
    window.begin = number_or(start, 0);
    window.end = number_or(end, window.begin + length);
    window.strand = '+';
    if (columns_[strand] != no_column) {
      const std::string& text = fields_[columns_[strand]];
      if (text != "+" && text != "-" && text != ".") {
        throw_bad_input(
            fmt::format("{}: strand '{}' is neither + nor -", lines_.where(), text.substr(0, 80)));
      }
      window.strand = text[0] == '-' ? '-' : '+';
    }
    window.label = read_label(fields_[columns_[label]]);
    return true;
  }

 private:
  enum Column : std::size_t { sequence, label, id, chrom, start, end, strand };
  static constexpr std::array<const char*, 7> names = {"sequence", "label", "id",    "chrom",
                                                       "start",    "end",   "strand"};

  void split(std::string_view line) {
    if (!tabs_) return split_commas(line, lines_.where(), fields_);
    split_tabs(line, views_);
    fields_.assign(views_.begin(), views_.end());
  }

  std::int64_t number_or(Column column, std::int64_t otherwise) const {
    if (columns_[column] == no_column) return otherwise;
    return parse_integer(fields_[columns_[column]], lines_.where(), names[column]);
  }

  std::int32_t read_label(std::string_view cell) const {
    const std::string_view text = class_of_label(cell);
    std::int32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || value < 0 || value >= most_classes) {
      throw_bad_input(fmt::format("{}: label '{}' is not a class", lines_.where(), text.substr(0, 80)),
                      "classes are whole numbers: 0 and 1, or 0, 1, 2 ...");
    }
    return value;
  }

  void read_sequence(const std::string& text, std::string& out) {
    if (text.empty()) throw_bad_input(lines_.where() + ": the sequence is empty");
    out.reserve(text.size());
    for (const char letter : text) {
      const std::uint8_t read = base_letters[static_cast<unsigned char>(letter)];
      if (read == not_a_base) {
        throw_bad_input(fmt::format("{}: '{}' in the sequence is not a base", lines_.where(), letter),
                        "sequences are letters of the DNA alphabet, without blanks");
      }
      replaced_ += (read & base_flag) != 0 ? 1 : 0;
      out += static_cast<char>(read & ~base_flag);
    }
  }

  LineReader lines_;
  bool tabs_ = false;
  std::size_t count_ = 0;
  std::array<std::size_t, names.size()> columns_{};
  std::vector<std::string> fields_;
  std::vector<std::string_view> views_;
  std::int64_t rows_ = 0;
  std::int64_t replaced_ = 0;
};

class FastaPair : public WindowReader {
 public:
  explicit FastaPair(const LabelledSource& source) : source_(source), stream_(source.path) {}

  bool next(Window& window) override {
    while (!stream_.next(record_)) {
      if (stream_.iupac_replaced() > 0) {
        log_warning(fmt::format("{}: {} letters other than A C G T N were read as N", name(),
                                stream_.iupac_replaced()));
      }
      if (label_ == 0 || source_.negatives.empty()) return false;
      label_ = 0;
      stream_ = FastaStream(name());
    }
    const auto length = static_cast<std::int64_t>(record_.sequence.size());
    window = {record_.name, ".", 0, length, '+', label_, std::move(record_.sequence)};
    return true;
  }

 private:
  const std::string& name() const { return label_ == 1 ? source_.path : source_.negatives; }

  LabelledSource source_;
  std::int32_t label_ = 1;
  FastaStream stream_;
  FastaRecord record_;
};

// The standard input and other pipes are taken for tables: they cannot be looked at twice.
bool is_fasta(const std::string& path) {
  if (path == "-" || is_stream_only(path)) return false;
  char first = 0;
  return InputStream(path).read(&first, 1) == 1 && first == '>';
}

// Of the manifest of promoter build: the share of promoters on the training side of a fold, from 0 on.
std::optional<double> training_share(const nlohmann::json& manifest, std::size_t fold) {
  if (!manifest.contains("splits")) return std::nullopt;
  const auto& train = manifest.at("splits").at(fold).at("train");
  const auto positives = train.at("positives").get<double>(), negatives = train.at("negatives").get<double>();
  if (positives <= 0 || negatives <= 0) return std::nullopt;
  return positives / (positives + negatives);
}

}  // namespace

std::unique_ptr<WindowReader> read_labelled_windows(const LabelledSource& source) {
  if (source.negatives.empty() && !(source.positives_alone && is_fasta(source.path)))
    return std::make_unique<TableWindows>(source.path);
  return std::make_unique<FastaPair>(source);
}

std::optional<LabelledSource> labelled_side(const std::string& folder, const std::string& side) {
  std::vector<std::string> names = {side};
  if (side == "valid") names.emplace_back("dev");
  for (const std::string& name : names) {
    for (const char* suffix : {".tsv", ".csv"}) {
      const std::string path = folder + "/" + name + suffix;
      if (file_exists(path)) return LabelledSource{path, {}};
    }
  }
  return std::nullopt;
}

PromoterDataFacts read_promoter_facts(const LabelledSource& source) {
  return source.path == "-" ? PromoterDataFacts{} : read_promoter_facts(parent_folder(source.path));
}

PromoterDataFacts read_promoter_facts(const std::string& folder) {
  std::string path = folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string last = path.substr(path.rfind('/') + 1);
  std::string manifest = path + "/manifest.json";
  std::size_t fold = 0;
  if (!file_exists(manifest) && last.starts_with("fold")) {
    manifest = parent_folder(path) + "/manifest.json";
    const auto parsed = std::from_chars(last.data() + 4, last.data() + last.size(), fold);
    if (parsed.ec == std::errc() && fold > 0) --fold;
  }
  PromoterDataFacts facts;
  if (!file_exists(manifest)) return facts;
  try {
    const auto json = nlohmann::json::parse(read_file(manifest));
    if (!json.contains("negatives") || !json.at("negatives").is_object()) return facts;  // of other data
    facts.negatives = json.at("negatives").at("kind").get<std::string>();
    const auto& window = json.at("window");
    facts.window = ModelWindow{"promoter", window.at("length").get<std::int64_t>(),
                               window.at("tss_offset").get<std::int64_t>(), 1};
    facts.prior = training_share(json, fold);
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: not a manifest of promoter build: {}", manifest, json_problem(error)),
                    "build the examples again");
  }
  return facts;
}

}  // namespace bigbird
