// JSON files: settings, records of runs, evaluations, predictions; see describe_parts.h.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/io/files/file.h"

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
      {"summary of a promoter scan", {"positions", "positions_scored", "calls"}, "", ""},
      {"evaluation of a pretrained model", {"mlm_loss", "masked_tokens"}, "", ""},
      {"evaluation of promoters",
       {"precision", "recall", "mcc", "threshold"},
       "bigbird promoter evaluate",
       ""},
      {"evaluation of profiles", {"evaluations"}, "bigbird chromatin evaluate", ""},
      {"evaluation of a GLUE task", {"task", "examples", "unlabelled"}, "bigbird text glue evaluate", ""},
      {"evaluation of classes", {"examples", "cut"}, "bigbird text classify evaluate", ""},
      {"evaluation of summaries", {"documents", "rouge"}, "bigbird text summarize evaluate", ""},
      {"evaluation of answers", {"exact_match", "f1"}, "bigbird text qa evaluate", ""},
      {"simulated genome", {"bases", "chromosomes", "promoters", "peaks"}, "", ""},
      {"report on a vocabulary", {"trainer", "vocab_size", "sample_tokens"}, "", ""},
      {"report on a vocabulary", {"vocab_size", "tokenizer_sha256"}, "bigbird text vocabulary", ""},
      {"manifest of a promoter data set", {"tss", "window", "negatives"}, "", "bigbird info FOLDER"},
      {"manifest of a chromatin data set", {"kind", "bins_by_split"}, "", "bigbird info FOLDER"},
      {"window of a model", {"task", "length", "target_offset"}, "", ""},
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
      {"custom content for MultiQC", {"plot_type", "pconfig", "section_name"}, "", "multiqc FOLDER"},
      {"description", {"kind", "path"}, "", ""},
      {"answers with supporting facts", {"answer", "sp"}, "", "bigbird text qa evaluate"},
      {"answers of Natural Questions", {"predictions"}, "", "bigbird text qa evaluate"},
  };
  return kinds;
}

const JsonKind* find_kind(const Json& json, const std::string& command) {
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

}  // namespace

std::string describe_json(const std::string& path) {
  const std::string text = InputStream(path).read_all();
  if (text.empty()) return describe_empty(path);
  const Json json = parse_or_refuse(text, path, path);
  const Json provenance = json.is_object() ? json.value("provenance", Json()) : Json();
  const JsonKind* const kind =
      json.is_object() ? find_kind(json, command_of(json_text(provenance))) : nullptr;
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
  const bool summaries = has("id") && has("summary") && has("tokens");
  const bool predictions = has("id") && (has("label") || has("labels") || has("prediction")) && !has("text");
  Json described = {{"kind", summaries     ? "summaries"
                             : predictions ? "text predictions"
                                           : "JSON lines"},
                    {"path", path},
                    {"records", records}};
  std::vector<std::string> fields;
  if (first.is_object()) {
    for (const auto& [key, value] : first.items()) fields.push_back(key);
  }
  described["fields"] = fields;
  described["provenance"] = nullptr;
  const bool shard = file_exists(path + ".shard.json");
  if (shard) described["shard"] = path + ".shard.json";
  if (shard)
    described["next"] = "bigbird merge, with the other shards";
  else if (summaries)
    described["next"] = "bigbird text summarize evaluate";
  return json_text(described);
}

}  // namespace bigbird
