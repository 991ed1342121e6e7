// bigbird info: what a path holds, as lines or as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe.h"
#include "lib/io/files/file.h"
#include "lib/model_folder/model_names.h"

namespace bigbird::apps {
namespace {

// Names of files and contigs may hold control characters, which a terminal would obey; JSON has them as they
// are.
std::string shown(const std::string& text) {
  return text_for_message(text, text.size());
}

// "memory_bytes.inference.total<TAB>123", a line for every value; lists of plain values in one line.
void append_lines(const std::string& name, const nlohmann::basic_json<OrderedMap>& value,
                  std::string& lines) {
  const bool holds_objects = value.is_array() && !value.empty() && value[0].is_structured();
  if (value.is_object() || holds_objects) {
    for (const auto& [key, entry] : value.items())
      append_lines(name.empty() ? key : name + "." + key, entry, lines);
    return;
  }
  std::string text;
  if (value.is_array()) {
    for (const auto& entry : value) {
      text += (text.empty() ? "" : ", ") + (entry.is_string() ? entry.get<std::string>() : json_text(entry));
    }
  } else {
    text = value.is_string() ? value.get<std::string>() : value.is_null() ? "none" : json_text(value);
  }
  for (std::size_t begin = 0;
       begin <= text.size();) {  // a text of several lines keeps its name in front of each
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin || begin == 0)
      lines += shown(name) + "\t" + shown(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
}

}  // namespace

int cmd_info(int argc, char** argv) {
  Verb verb("info", "Describe what a path holds, of every kind that bigbird writes, and genomes.",
            {"bigbird info human/tracks --length 1000 --batch 8", "bigbird info demo-output/tokenizer --json",
             "bigbird info demo-output/genome/genome.fa.gz", "bigbird info bigbird-demo/scored.tsv"});
  std::string path;
  DescribeOptions options;
  bool as_json = false;
  verb.add_required("X", path, "Folder, file, prefix of token shards, or name of a model (docs/weights.md)");
  verb.with_word(verb.add_count("--length", options.length,
                                "Tokens of a sequence, for the memory of a model (default: all it has)",
                                CLI::NonNegativeNumber),
                 "auto", "0");
  verb.add_option("--batch", options.batch, "Sequences at a time, for the memory of a model",
                  CLI::Range(1, 1 << 20));
  verb.add_flag("--json", as_json, "Print JSON instead of lines");
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;

  const auto backend = kernels::make_cpu_backend();
  auto json = nlohmann::basic_json<OrderedMap>::parse(describe(model_folder_of(path), options, *backend));
  OutputStream out("-");
  if (as_json) {
    out.write(json_text(json, 2) + "\n");
  } else {
    std::string lines;
    append_lines("", json, lines);
    out.write(lines);
  }
  out.close();
  return 0;
}

}  // namespace bigbird::apps
