// Tables with a line of names; JSON files: settings, records of runs, evaluations, predictions; see
// describe_parts.h.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// An object that some verb writes: known by members that it has, or by the command that it names. The first
// row that fits is taken.
struct JsonKind {
  const char* kind;
  std::vector<std::string> members;
  const char* verb;  // of the command; empty: known by members alone
  const char* next;  // what to do with it; may be empty
};

const std::vector<JsonKind>& json_kinds() {
  static const std::vector<JsonKind> kinds = {
      {"calibration of a model",
       {"format", "task", "weights", "outputs"},
       "",
       "it belongs to the model of its folder: the predict verbs take it as calibrated"},
      {"self-test of a model",
       {"about", "tolerance", "input_ids"},
       "",
       "bigbird check FOLDER compares with it"},
      {"attention plan",
       {"block_size", "heads", "layer"},
       "",
       "bigbird pretrain, convert and forward take it"},
      {"attention plan", {"block_size", "plan"}, "", ""},
      {"state of a run", {"global_step", "options"}, "", "it belongs to the checkpoint of its folder"},
      {"token shards", {"format", "sentences", "tokens", "shards"}, "", "bigbird pretrain"},
      {"record of a shard", {"shard", "kind", "form", "input"}, "", "bigbird merge, with the other shards"},
      {"record of a run in parts",
       {"kind", "run", "chunk"},
       "",
       "it lets a run with resume see that it is whole"},
      {"summary of variant scores", {"records", "alleles", "scored", "reasons"}, "", ""},
      {"evaluation of variant scores", {"rows", "scores"}, "bigbird variants evaluate", ""},
      {"near-copies, by contig", {"searched", "copied", "contigs"}, "bigbird copies", ""},
      {"summary of a promoter scan", {"positions", "positions_scored", "calls"}, "", ""},
      {"evaluation of a pretrained model", {"mlm_loss", "masked_tokens"}, "", ""},
      {"evaluation of promoters",
       {"precision", "recall", "mcc", "threshold"},
       "bigbird promoter evaluate",
       ""},
      {"evaluation of profiles", {"evaluations"}, "bigbird chromatin evaluate", ""},
      {"evaluation of a GLUE task", {"task", "examples", "unlabelled"}, "bigbird text glue evaluate", ""},
      {"evaluation of classes", {"examples", "cut"}, "bigbird text classify evaluate", ""},
      {"evaluation of words", {"sentences", "words", "per_label"}, "bigbird text tag evaluate", ""},
      {"evaluation of summaries", {"documents", "rouge"}, "bigbird text summarize evaluate", ""},
      {"evaluation of answers", {"exact_match", "f1"}, "bigbird text qa evaluate", ""},
      {"simulated genome", {"bases", "chromosomes", "promoters", "peaks"}, "", ""},
      {"report on a vocabulary", {"trainer", "vocab_size", "sample_tokens"}, "", ""},
      {"report on a vocabulary", {"vocab_size", "tokenizer_sha256"}, "bigbird text vocabulary", ""},
      {"manifest of a promoter data set", {"tss", "window", "negatives"}, "", "bigbird info FOLDER"},
      {"manifest of a chromatin data set", {"kind", "bins_by_split"}, "", "bigbird info FOLDER"},
      {"window of a model", {"task", "length", "target_offset"}, "", ""},
      {"size of extracts of a model", {"sentences", "chosen_on"}, "", ""},
      {"text settings of a model", {"task", "data_format", "white_space"}, "", ""},
      {"configuration of a model", {"model_type", "hidden_size"}, "", "bigbird info FOLDER"},
      {"configuration of a model", {"architectures", "vocab_size"}, "", "bigbird info FOLDER"},
      {"configuration of a tokenizer", {"tokenizer_class"}, "", "bigbird info FOLDER"},
      {"tokenizer", {"added_tokens", "pre_tokenizer", "model"}, "", "bigbird info FOLDER"},
      {"search settings of a model that writes", {"num_beams"}, "", ""},
      {"index of weights", {"weight_map"}, "", "bigbird info FOLDER"},
      {"plan for a cluster",
       {"seconds_per_pass", "core_hours", "sbatch_options"},
       "",
       "bigbird cluster sbatch"},
      {"devices", {"cpu", "cuda"}, "", ""},
      {"check of a model", {"checks"}, "bigbird check", ""},
      {"custom content for MultiQC", {"plot_type", "pconfig"}, "", "multiqc FOLDER"},
      {"description", {"kind", "path"}, "", ""},
      {"answers with supporting facts", {"answer", "sp"}, "", "bigbird text qa evaluate"},
      {"answers of Natural Questions", {"predictions"}, "", "bigbird text qa evaluate"},
      {"provenance of an output",
       {"version", "command"},
       "",
       "it belongs to the file that it is named after"},
  };
  return kinds;
}

const JsonKind* find_json_kind(const Json& json, const std::string& command) {
  for (const JsonKind& kind : json_kinds()) {
    const bool members = std::all_of(kind.members.begin(), kind.members.end(),
                                     [&](const std::string& name) { return json.contains(name); });
    const std::string verb = kind.verb;
    if (members || (!verb.empty() && command.starts_with(verb))) return &kind;
  }
  return nullptr;
}

// {id: text}, {id: candidates}, {id: number}: what is predicted of questions, as SQuAD's scripts have it.
const char* kind_of_entries(const Json& json) {
  const auto all = [&json](auto&& is) {
    return !json.empty() &&
           std::all_of(json.begin(), json.end(), [&](const Json& value) { return is(value); });
  };
  if (all([](const Json& value) { return value.is_string(); })) return "answers";
  if (all([](const Json& value) { return value.is_number(); })) return "scores of no answer";
  if (all([](const Json& value) {
        return value.is_array() &&
               (value.empty() || (value[0].is_object() && value[0].contains("probability")));
      }))
    return "candidates of answers";
  return nullptr;
}

constexpr std::size_t longest_value = 200;

// Numbers, truths and short texts at the top; of what is larger, how much there is.
Json contents_of(const Json& json) {
  Json contents = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (key == "provenance" || key == "kind" || key == "path") continue;
    if (value.is_object() || value.is_array()) {
      contents[key] = fmt::format("{} {}", value.size(), value.size() == 1 ? "entry" : "entries");
    } else if (!value.is_string() || value.get_ref<const std::string&>().size() <= longest_value) {
      contents[key] = value;
    }
  }
  return contents;
}

Json parse_or_refuse(std::string_view text, const std::string& path, const std::string& place) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw_bad_input(
        fmt::format("{}: no JSON after byte {}", place, error.byte),
        path.ends_with("l") ? "is the line whole?" : "was the file cut short or changed by hand?");
  }
}

// A table that some verb writes, known by columns that it has. The first row whose columns are all there is
// taken: the more particular ones stand first.
struct TableKind {
  const char* kind;
  std::vector<std::string> columns;
  const char* row;        // what a row is
  const char* next;       // what to do with it; may be empty
  bool profiles = false;  // the columns after the last of these are profiles, and there is one at least
};

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kinds = {
      {"skipped variants", {"chrom", "pos", "ref", "alt", "reason"}, "an allele that was not scored", ""},
      {"variant scores, rows of matrices",
       {"row", "chrom", "pos", "alt", "allele", "diff"},
       "an allele",
       "it names the rows of the matrices next to it"},
      {"variant scores",
       {"chrom", "pos", "ref", "alt", "allele", "diff", "lfc"},
       "an allele",
       "bigbird variants evaluate"},
      {"evaluation of variant scores", {"score", "direction", "class", "auroc"}, "a score and class", ""},
      {"evaluation of variant scores",
       {"score", "direction", "measured", "spearman"},
       "a score and what was measured",
       ""},
      {"comparison of variant scores", {"score", "baseline"}, "a score of another tool", ""},
      {"labels of variants",
       {"chrom", "pos", "ref", "alt", "label"},
       "an allele",
       "bigbird variants evaluate takes it as labels"},
      {"substitution effects", {"chrom", "pos", "ref", "alt"}, "a substitution", "", true},
      {"substitution effects, bases of a matrix",
       {"base", "chrom", "pos", "ref"},
       "a base",
       "it names the second axis of the matrix next to it"},
      {"substitution effects, profiles of a matrix",
       {"row", "index", "name", "group"},
       "a profile",
       "it names the first axis of the matrix next to it"},
      {"vectors, rows of a matrix",
       {"row", "id", "piece"},
       "a vector",
       "it names the rows of the matrix next to it"},
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
       "it names the rows of the matrix next to it"},
      {"track", {"chrom", "start", "end", "value"}, "an interval", "a genome browser shows it"},
      {"metrics of a run", {"step", "loss", "lr", "grad_norm"}, "an update", "bigbird report RUN"},
      {"validations of a run", {"step", "loss"}, "a validation", "bigbird report RUN"},
      {"memory of a run", {"where", "part", "bytes"}, "a part of the plan", "bigbird report RUN"},
      {"losses of tokens", {"sample", "position", "token", "nats"}, "a predicted token", ""},
      {"learning rates tried", {"rate", "best_step", "valid_loss", "chosen"}, "a learning rate", ""},
      {"evaluation of classes", {"class", "precision", "recall", "f1", "support"}, "a class", ""},
      {"evaluation of words", {"type", "precision", "recall", "f1", "support", "predicted"}, "a type", ""},
      {"extracts", {"id", "summary", "sentences"}, "a document", "bigbird text summarize evaluate"},
      {"summaries", {"id", "summary", "tokens"}, "a document", "bigbird text summarize evaluate"},
      {"continuations", {"id", "sample", "text", "score", "tokens"}, "a continuation", ""},
      {"ROUGE of documents", {"id", "summary_words", "predicted_words"}, "a document", ""},
      {"text predictions", {"id", "label", "score"}, "a text", "bigbird text classify evaluate"},
      {"text predictions", {"id", "prediction"}, "a text", "bigbird text classify evaluate"},
      {"GLUE predictions", {"index", "prediction"}, "a text", "the benchmark's site takes it"},
      {"rates of a machine", {"what", "shape", "median", "best", "unit"}, "a measurement", ""},
      {"devices", {"device", "name", "compute_capability"}, "a device", ""},
  };
  return kinds;
}

// The columns of profiles: those after the last one that the kind names.
std::size_t profiles_of(const TableKind& kind, const std::vector<std::string>& columns) {
  const auto last = std::find(columns.begin(), columns.end(), kind.columns.back());
  return static_cast<std::size_t>(columns.end() - last) - 1;
}

const TableKind* find_kind(const std::vector<std::string>& columns) {
  for (const TableKind& kind : table_kinds()) {
    const bool all = std::all_of(kind.columns.begin(), kind.columns.end(), [&](const std::string& name) {
      return std::find(columns.begin(), columns.end(), name) != columns.end();
    });
    if (all && (!kind.profiles || profiles_of(kind, columns) > 0)) return &kind;
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
      split_tabs(line.front() == '#' ? line.substr(1) : line, fields);
      columns_.assign(fields.begin(), fields.end());
      break;
    }
    if (comments_.empty()) comments_ = provenance_beside(path);
    if (comments_.empty()) comments_ = read_provenance(parent_folder(path) + "/provenance.json");
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
  std::uint64_t rows() const { return rows_; }
  const std::vector<std::string>& comments() const { return comments_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::string>& last() const { return last_; }

 private:
  LineReader lines_;
  std::uint64_t rows_ = 0;
  std::vector<std::string> comments_, columns_, last_;
};

// How the table goes on when a run in shards wrote it; empty for a whole one.
std::string merge_of(const std::string& path) {
  if (file_exists(path + ".shard.json")) return "bigbird merge, with the other shards";
  if (!file_exists(path + ".summary.json")) return {};
  const Json summary = Json::parse(read_file(path + ".summary.json"), nullptr, false);
  return summary.is_object() && summary.contains("shard") ? "bigbird merge, with the other shards" : "";
}

}  // namespace

std::string describe_json(const std::string& path) {
  const std::string text = InputStream(path).read_all();
  if (text.empty()) return describe_empty(path);
  const Json json = parse_or_refuse(text, path, path);
  const Json provenance = json.is_object() ? json.value("provenance", Json()) : Json();
  const JsonKind* const kind =
      json.is_object() ? find_json_kind(json, command_of(json_text(provenance))) : nullptr;
  Json described = {{"kind", kind == nullptr ? "JSON" : kind->kind}, {"path", path}};
  if (kind == nullptr && json.is_object()) {
    if (const char* const entries = kind_of_entries(json)) {
      described["kind"] = entries;
      described["questions"] = json.size();
      described["provenance"] = nullptr;
      described["note"] = "the data set's own form has no place for the command that made it";
      described["next"] = "bigbird text qa evaluate";
      return json_text(described);
    }
  }
  if (json.is_object() && !json.empty()) {
    described["contents"] = contents_of(json);
  } else {
    described["entries"] = json.size();
  }
  described["provenance"] = provenance;
  if (kind != nullptr && *kind->next != '\0') described["next"] = kind->next;
  return json_text(described);
}

std::string describe_json_lines(const std::string& path) {
  LineReader lines(path);
  std::uint64_t records = 0;
  Json first;
  for (std::string_view line; lines.next(line);) {
    throw_if_cancelled();
    if (line.empty()) continue;
    const Json record = parse_or_refuse(line, path, lines.where());
    if (records++ == 0) first = record;
  }
  if (lines.line_number() == 0) return describe_empty(path);
  const auto has = [&first](const char* name) { return first.is_object() && first.contains(name); };
  const bool extracts = has("id") && has("summary") && has("sentences");
  const bool summaries = extracts || (has("id") && has("summary") && has("tokens"));
  const bool continuations = has("id") && has("sample") && has("text") && has("tokens");
  const bool predictions = has("id") && (has("label") || has("labels") || has("prediction")) && !has("text");
  Json described = {{"kind", extracts                         ? "extracts"
                             : summaries                      ? "summaries"
                             : continuations                  ? "continuations"
                             : has("tokens") && has("labels") ? "words with labels"
                             : predictions                    ? "text predictions"
                                                              : "JSON lines"},
                    {"path", path},
                    {"records", records}};
  std::vector<std::string> fields;
  if (first.is_object()) {
    for (const auto& [key, value] : first.items()) fields.push_back(key);
  }
  described["fields"] = fields;
  described["provenance"] = Json::parse(provenance_of_lines(provenance_beside(path)));
  const bool shard = file_exists(path + ".shard.json");
  if (shard) described["shard"] = path + ".shard.json";
  if (shard)
    described["next"] = "bigbird merge, with the other shards";
  else if (summaries)
    described["next"] = "bigbird text summarize evaluate";
  return json_text(described);
}

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
  if (kind != nullptr && kind->profiles) json["profiles"] = profiles_of(*kind, table.columns());
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
  if (kind == nullptr) json["note"] = "the first line is taken for the names of the columns";
  const std::string merge = merge_of(path);
  if (!merge.empty()) {
    json["next"] = merge;
  } else if (kind != nullptr && *kind->next != '\0') {
    json["next"] = kind->next;
  }
  return json_text(json);
}

}  // namespace bigbird
