// Pictures, pages, options, scripts, lists of pieces, lines; and where text files come from. See
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
#include "lib/io/text/tagged_sentences.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// What stands between `open` and `close`, the first time; empty for none.
std::string between(const std::string& text, std::string_view open, std::string_view close) {
  const std::size_t begin = text.find(open);
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find(close, begin + open.size());
  return end == std::string::npos ? std::string()
                                  : text.substr(begin + open.size(), end - begin - open.size());
}

// Text files of XML end with their root.
void require_end(const std::string& text, std::string_view root, const std::string& path) {
  const std::size_t last = text.find_last_not_of(" \n\r\t");
  if (last != std::string::npos && last + 1 >= root.size() &&
      text.compare(last + 1 - root.size(), root.size(), root) == 0)
    return;
  throw_bad_input(fmt::format("{}: no {} at its end, byte {}", path, root, text.size()),
                  "the file was cut short; make it again");
}

// Of "bigbird 0.1.0: bigbird report run", wherever it stands.
Json provenance_of_page(const std::string& text) {
  const std::string_view program = "bigbird ", verb = ": bigbird ";
  for (std::size_t at = text.find(verb); at != std::string::npos; at = text.find(verb, at + 1)) {
    const std::size_t begin = text.rfind(program, at);
    if (begin == std::string::npos || begin == at + 2) continue;
    const std::string version = text.substr(begin + program.size(), at - begin - program.size());
    if (version.empty() || version.find_first_not_of("0123456789.") != std::string::npos) continue;
    return {{"version", version}, {"command", text.substr(at + 2, text.find('<', at) - at - 2)}};
  }
  return nullptr;
}

// What the manifest of a data set or of a simulated genome says of all files of the folder; "null" without
// one.
std::string provenance_of_folder(const std::string& folder) {
  if (const auto lines = read_provenance(folder + "/provenance.json"); !lines.empty())
    return provenance_of_lines(lines);
  for (const char* manifest : {"/manifest.json", "/simulate.json"}) {
    if (!file_exists(folder + manifest)) continue;
    const Json json = Json::parse(read_file(folder + manifest), nullptr, false);
    if (json.is_object() && json.contains("provenance")) return json_text(json["provenance"]);
  }
  return "null";
}

}  // namespace

std::string describe_empty(const std::string& path) {
  return json_text(Json{
      {"kind", "empty file"},
      {"path", path},
      {"bytes", 0},
      {"note",
       "nothing is in it: no header, no rows. Some outputs are like this when there is nothing to report (what does not lift, for one)"}});
}

std::string provenance_of_lines(const std::vector<std::string>& lines) {
  Json json = Json::parse(provenance_json(lines));
  if (json.is_object()) json.erase("settings");
  return json.empty() ? "null" : json_text(json);
}

std::string provenance_of_text(const std::string& path, std::vector<std::string>* lines) {
  LineReader reader(path);
  std::vector<std::string> comments;
  for (std::string_view line; reader.next(line);) {
    if (line.empty()) continue;
    if (!line.starts_with("##")) break;
    comments.emplace_back(line.substr(2));
  }
  if (comments.empty()) comments = provenance_beside(path);
  std::string provenance =
      comments.empty() ? provenance_of_folder(parent_folder(path)) : provenance_of_lines(comments);
  if (lines != nullptr) *lines = std::move(comments);
  return provenance;
}

std::string command_of(std::string_view provenance) {
  const Json json = Json::parse(provenance, nullptr, false);
  return json.is_object() ? json.value("command", std::string()) : std::string();
}

std::string describe_picture(const std::string& path) {
  const std::string text = read_file(path);
  require_end(text, "</svg>", path);
  // The title of a picture is its first text.
  const std::string title = between(text, "<text", "</text>");
  return json_text(Json{{"kind", "picture"},
                        {"path", path},
                        {"format", "SVG"},
                        {"width", between(text, "width=\"", "\"")},
                        {"height", between(text, "height=\"", "\"")},
                        {"title", title.substr(std::min(title.find('>') + 1, title.size()))},
                        {"next", "a browser shows it"}});
}

std::string describe_page(const std::string& path) {
  const std::string text = read_file(path);
  require_end(text, "</html>", path);
  const std::string title = between(text, "<title>", "</title>");
  const bool report = text.find("name=\"generator\" content=\"bigbird report\"") != std::string::npos;
  Json json = {{"kind", report                               ? "report"
                        : title.starts_with("Worst answers") ? "worst answers"
                                                             : "page"},
               {"path", path},
               {"format", "HTML"},
               {"title", title},
               {"bytes", text.size()}};
  json["provenance"] = provenance_of_page(text);
  json["next"] = "a browser shows it";
  return json_text(json);
}

std::string describe_options(const std::string& path) {
  LineReader lines(path);
  std::uint64_t options = 0;
  std::string verb;
  for (std::string_view line; lines.next(line);) {
    const std::size_t at = line.find("run again with: ");
    if (at != std::string_view::npos) verb = line.substr(at + 16);
    if (!line.empty() && line.front() != '#' && line.find('=') != std::string_view::npos) ++options;
  }
  if (lines.line_number() == 0) return describe_empty(path);
  // "bigbird pretrain" of "bigbird pretrain --config THIS_FILE".
  const std::string name = verb.substr(0, verb.find(" -"));
  return json_text(Json{{"kind", "options"},
                        {"path", path},
                        {"of", name.empty() ? Json() : Json(name)},
                        {"options", options},
                        {"next", name.empty() ? "" : name + " takes it as config"}});
}

std::string describe_script(const std::string& path) {
  LineReader lines(path);
  std::string_view line;
  std::string command;
  std::uint64_t count = 0;
  bool ours = false;
  for (; lines.next(line); ++count) {
    const std::size_t at = line.find("bigbird ");
    if (line.find("Written by `bigbird cluster sbatch`") != std::string_view::npos) {
      ours = true;
    } else if (ours && command.empty() && line.starts_with("#") && at != std::string_view::npos) {
      command = line.substr(at);
    }
  }
  Json json = {{"kind", ours ? "script for Slurm" : "script"}, {"path", path}, {"lines", count}};
  if (!command.empty()) json["runs"] = command;
  if (ours) json["next"] = "bash " + path + ", where sbatch is";
  return json_text(json);
}

std::string describe_model_card(const std::string& path) {
  LineReader lines(path);
  std::string title;
  std::uint64_t count = 0;
  for (std::string_view line; lines.next(line); ++count)
    if (title.empty() && line.starts_with("# ")) title = line.substr(2);
  if (count == 0) return describe_empty(path);
  const bool card = file_exists(parent_folder(path) + "/config.json");
  Json json = {
      {"kind", card ? "model card" : "Markdown"}, {"path", path}, {"title", title}, {"lines", count}};
  if (card) json["next"] = "bigbird info " + parent_folder(path);
  return json_text(json);
}

std::string describe_piece_list(const std::string& path) {
  LineReader lines(path);
  std::vector<std::string_view> fields;
  std::uint64_t pieces = 0;
  for (std::string_view line; lines.next(line); ++pieces) {
    split_tabs(line, fields);
    if (fields.size() != 2)
      throw_bad_input(lines.where() + ": no piece and its score", "spiece.model next to it is what counts");
  }
  if (pieces == 0) return describe_empty(path);
  return json_text(Json{{"kind", "pieces of a vocabulary"},
                        {"path", path},
                        {"pieces", pieces},
                        {"note", "for people; programs read spiece.model"},
                        {"next", "bigbird info " + parent_folder(path)}});
}

std::string describe_lines(const std::string& path) {
  LineReader reader(path);
  std::uint64_t lines = 0, blank = 0, letters = 0, dna = 0;
  for (std::string_view line; reader.next(line); ++lines) {
    throw_if_cancelled();
    if (line.empty()) ++blank;
    for (const char letter : line) {
      if (letter == '\0') {
        throw_bad_input(path + ": not a kind of file that is described",
                        "bigbird info knows what bigbird writes; is the name of the file its own?");
      }
      if (std::string_view("ACGTNacgtn").find(letter) != std::string_view::npos) ++dna;
      ++letters;
    }
  }
  if (reader.line_number() == 0) return describe_empty(path);
  const bool is_dna = letters > 0 && dna == letters;
  Json json = {{"kind", is_dna ? "sentences of DNA" : "text"},
               {"path", path},
               {"lines", lines},
               {"blank_lines", blank},
               {is_dna ? "bases" : "bytes", letters}};
  if (is_dna) json["next"] = "bigbird train-bpe and tokenize take it as text";
  return json_text(json);
}

std::string describe_tagged(const std::string& path) {
  TaggedSentenceOptions options;
  options.labels = Labels::optional;
  TaggedSentences source(path, options);
  std::uint64_t sentences = 0, words = 0;
  for (TaggedSentence sentence; source.next(sentence); ++sentences) {
    throw_if_cancelled();
    words += sentence.words.size();
  }
  Json json = {{"kind", "words with labels"}, {"path", path}, {"sentences", sentences}, {"words", words}};
  json["provenance"] = Json::parse(provenance_of_text(path));
  json["next"] = file_exists(path + ".shard.json") ? "bigbird merge, with the other shards"
                                                   : "bigbird text tag evaluate";
  return json_text(json);
}

}  // namespace bigbird
