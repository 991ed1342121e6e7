// Tables with a line of names; see describe_parts.h.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// A table that some verb writes, known by columns that it has. The first row whose columns are all there is
// taken: the more particular ones stand first.
struct TableKind {
  const char* kind;
  std::vector<std::string> columns;
  const char* row;        // what a row is
  const char* next;       // what to do with it; may be empty
  bool profiles = false;  // it has columns of profiles, "0:CTCF", too
};

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kinds = {
      {"skipped variants", {"chrom", "pos", "ref", "alt", "reason"}, "an allele that was not scored", ""},
      {"variant scores, rows of matrices",
       {"row", "chrom", "pos", "alt", "allele", "diff"},
       "an allele",
       "it says what the rows of the matrices beside it are"},
      {"variant scores",
       {"chrom", "pos", "ref", "alt", "allele", "diff", "lfc"},
       "an allele",
       "bigbird variants evaluate"},
      {"evaluation of variant scores", {"score", "direction", "class", "auroc"}, "a score and class", ""},
      {"comparison of variant scores", {"score", "baseline"}, "a score of another tool", ""},
      {"substitution effects", {"chrom", "pos", "ref", "alt"}, "a substitution", "", true},
      {"labels of variants",
       {"chrom", "pos", "ref", "alt", "label"},
       "an allele",
       "bigbird variants evaluate takes it as labels"},
      {"substitution effects, bases of a matrix",
       {"base", "chrom", "pos", "ref"},
       "a base",
       "it says what the second axis of the matrix beside it is"},
      {"substitution effects, profiles of a matrix",
       {"row", "index", "name", "group"},
       "a profile",
       "it says what the first axis of the matrix beside it is"},
      {"vectors, rows of a matrix",
       {"row", "id", "piece"},
       "a vector",
       "it says what the rows of the matrix beside it are"},
      {"masked tokens filled", {"actual", "actual_probability", "rank", "piece"}, "a candidate", ""},
      {"promoter examples",
       {"id", "chrom", "label", "split", "sequence"},
       "a window",
       "bigbird promoter finetune, predict or evaluate"},
      {"promoters left out", {"id", "chrom", "tss", "strand", "reason"}, "a start site", ""},
      {"promoter predictions", {"id", "n_share", "score"}, "a window", "bigbird promoter evaluate"},
      {"calibration errors of profiles", {"index", "name", "method", "ece"}, "a profile and method", ""},
      {"calibration errors",
       {"method", "ece", "log_loss", "brier"},
       "a method",
       "the predict verbs take the method as calibrated"},
      {"reliability curves", {"method", "bin", "mean_predicted", "observed"}, "a bin", ""},
      {"evaluation of profiles", {"index", "name", "positives", "auroc", "auprc"}, "a profile", ""},
      {"tracks of a folder", {"index", "name", "group", "file"}, "a track", ""},
      {"peak files", {"name", "group", "file"}, "a track", "bigbird chromatin build"},
      {"profiles of a chromatin data set", {"index", "name", "group", "train", "valid"}, "a profile", ""},
      {"profiles of a model", {"index", "name", "group"}, "an output of the model", ""},
      {"predicted profiles",
       {"chrom", "start", "window_start", "n_share", "status"},
       "a window",
       "bigbird chromatin evaluate",
       true},
      {"predicted profiles, rows of a matrix",
       {"chrom", "start", "window_start", "n_share", "status"},
       "a window",
       "it says what the rows of the matrix beside it are"},
      {"track", {"chrom", "start", "end", "value"}, "an interval", "a genome browser shows it"},
      {"metrics of a run", {"step", "loss", "lr", "grad_norm"}, "an update", "bigbird report RUN"},
      {"validations of a run", {"step", "loss"}, "a validation", "bigbird report RUN"},
      {"memory of a run", {"where", "part", "bytes"}, "a part of the plan", "bigbird report RUN"},
      {"learning rates tried", {"rate", "best_step", "valid_loss", "chosen"}, "a learning rate", ""},
      {"evaluation of classes", {"class", "precision", "recall", "f1", "support"}, "a class", ""},
      {"summaries", {"id", "summary", "tokens"}, "a document", "bigbird text summarize evaluate"},
      {"ROUGE of documents", {"id", "summary_words", "predicted_words"}, "a document", ""},
      {"text predictions", {"id", "label", "score"}, "a text", "bigbird text classify evaluate"},
      {"text predictions", {"id", "prediction"}, "a text", "bigbird text classify evaluate"},
      {"GLUE predictions", {"index", "prediction"}, "a text", "the benchmark's site takes it"},
      {"rates of a machine", {"what", "shape", "median", "best", "unit"}, "a measurement", ""},
      {"devices", {"device", "name", "compute_capability"}, "a device", ""},
  };
  return kinds;
}

bool is_profile(const std::string& column) {
  return !column.empty() && column[0] >= '0' && column[0] <= '9' && column.find(':') != std::string::npos;
}

const TableKind* find_kind(const std::vector<std::string>& columns) {
  for (const TableKind& kind : table_kinds()) {
    const bool all = std::all_of(kind.columns.begin(), kind.columns.end(), [&](const std::string& name) {
      return std::find(columns.begin(), columns.end(), name) != columns.end();
    });
    if (all && (!kind.profiles || std::any_of(columns.begin(), columns.end(), is_profile))) return &kind;
  }
  return nullptr;
}

// The table, its "#" line or its first line with the names, and the other rows counted.
class Table {
 public:
  explicit Table(const std::string& path) : lines_(path) {
    std::vector<std::string_view> fields;
    std::string_view line;
    while (lines_.next(line)) {
      if (line.empty()) continue;
      if (line.starts_with("##")) {
        comments_.emplace_back(line.substr(2));
        continue;
      }
      has_names_ = line.front() == '#';
      split_tabs(has_names_ ? line.substr(1) : line, fields);
      columns_.assign(fields.begin(), fields.end());
      break;
    }
    while (lines_.next(line)) {
      throw_if_cancelled();
      if (line.empty()) continue;
      split_tabs(line, fields);
      if (fields.size() != columns_.size()) {
        throw_bad_input(fmt::format("{}: {} columns where the line of names has {}", lines_.where(),
                                    fields.size(), columns_.size()),
                        "the line was cut short, or is of another table");
      }
      last_.assign(fields.begin(), fields.end());
      ++rows_;
    }
  }

  bool is_empty() const { return lines_.line_number() == 0; }
  bool has_names() const { return has_names_; }
  std::uint64_t rows() const { return rows_; }
  const std::vector<std::string>& comments() const { return comments_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::string>& last() const { return last_; }

 private:
  LineReader lines_;
  bool has_names_ = false;
  std::uint64_t rows_ = 0;
  std::vector<std::string> comments_, columns_, last_;
};

// How the table goes on when a run in shards wrote it; empty for a whole one.
std::string merge_of(const std::string& path) {
  if (file_exists(path + ".shard.json")) return "bigbird merge, with the other shards";
  if (!file_exists(path + ".summary.json")) return {};
  const Json summary = Json::parse(read_file(path + ".summary.json"), nullptr, false);
  return summary.is_object() && summary.contains("shard") ? "bigbird variants merge, with the other shards"
                                                          : "";
}

}  // namespace

std::string kind_of_columns(const std::vector<std::string>& columns) {
  const TableKind* const kind = find_kind(columns);
  return kind == nullptr ? std::string() : kind->kind;
}

std::string describe_table(const std::string& path) {
  const Table table(path);
  if (table.is_empty()) return describe_empty(path);
  const TableKind* const kind = find_kind(table.columns());
  if (kind != nullptr && std::string_view(kind->kind) == "track") return describe_bedgraph(path);
  Json json = {{"kind", kind == nullptr ? "table" : kind->kind}, {"path", path}, {"rows", table.rows()}};
  if (kind != nullptr) json["a_row_is"] = kind->row;
  json["columns"] = table.columns();
  const auto profiles = std::count_if(table.columns().begin(), table.columns().end(), is_profile);
  if (profiles > 0) json["profiles"] = profiles;
  // Where a run stands.
  if (!table.columns().empty() && table.columns()[0] == "step" && table.rows() > 0) {
    for (std::size_t i = 0; i < table.columns().size(); ++i)
      json["last_row"][table.columns()[i]] = table.last()[i];
  }
  for (const std::string& comment : table.comments()) {
    const std::size_t equals = comment.find('=');
    if (!comment.starts_with("bigbird_") && equals != std::string::npos)
      json["settings"][comment.substr(0, equals)] = comment.substr(equals + 1);
  }
  json["provenance"] = Json::parse(provenance_of_lines(table.comments()));
  if (kind == nullptr && !table.has_names())
    json["note"] = "the first line is taken for the names of the columns";
  const std::string merge = merge_of(path);
  if (!merge.empty()) {
    json["next"] = merge;
  } else if (kind != nullptr && *kind->next != '\0') {
    json["next"] = kind->next;
  }
  return json_text(json);
}

}  // namespace bigbird
