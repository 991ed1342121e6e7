// Names in messages that lead nowhere; see message_names.h.
#include "tests/policy/message_names.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "apps/option_names.h"
#include "tests/policy/lines.h"

namespace bigbird::policy {
namespace {

// Which verbs the messages of a room reach: names, or the begins of names. The first row that fits counts.
const std::vector<std::pair<std::string, std::vector<std::string>>>& verbs_of_rooms() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> rooms = {
      {"lib/text/classify/", {"text classify", "text glue"}},
      {"lib/text/qa/", {"text qa"}},
      {"lib/text/generate/", {"text generate"}},
      {"lib/text/search/", {"text generate", "text summarize predict", "text summarize evaluate"}},
      {"lib/text/summarize/", {"text summarize"}},
      {"lib/text/", {"text"}},
      {"lib/genomics/promoter/", {"promoter"}},
      {"lib/genomics/chromatin/", {"chromatin"}},
      {"lib/genomics/variants/", {"variants", "cluster plan"}},
      {"lib/genomes/simulate/", {"simulate"}},
      {"lib/genomes/liftover/", {"liftover"}},
      {"lib/genomes/copies/", {"copies"}},
      {"lib/genomics/", {"promoter", "chromatin", "variants", "ism", "attribute"}},
      {"lib/training/evaluation_run.cpp", {"evaluate"}},
      {"lib/training/", {"pretrain", "promoter finetune", "chromatin finetune", "text"}},
      {"lib/data/", {"chunk", "train-bpe", "tokenize", "pretrain", "evaluate", "text"}},
      {"lib/io/text/", {"text"}},
      {"lib/quantization/convert.cpp", {"convert"}},
      {"lib/quantization/", {"quantize", "check"}},
      {"lib/report/", {"report"}},
      {"lib/describe/", {"info", "check"}},
      {"lib/bench/", {"bench", "devices"}},
      {"lib/parts/slurm_script.cpp", {"cluster sbatch"}},
      {"lib/", {""}}};
  return rooms;
}

// Tables are read by these, each of which must have the option that a reader of tables speaks of.
const std::vector<std::string> verbs_that_read_tables = {
    "text classify finetune",  "text classify predict",  "text classify evaluate", "text embed",
    "text summarize finetune", "text summarize predict", "text summarize evaluate"};

// What stands behind "bigbird" where it is no command.
const std::set<std::string> no_verbs = {"or",    "pattern", "computes", "wrote",       "writes",
                                        "shard", "differ",  "variant",  "calibration", "finished",
                                        "lease", "manual",  "as",       "bigbird",     "help"};

bool is_of(const std::string& verb, const std::string& begin) {
  return begin.empty() || verb == begin || verb.rfind(begin + " ", 0) == 0;
}

// All names of a verb's options, as they are typed.
const std::vector<std::string>& typed_options(const OptionsOfVerbs& options, const std::string& verb) {
  static std::map<std::pair<const OptionsOfVerbs*, std::string>, std::vector<std::string>> known;
  const auto [found, is_new] = known.try_emplace({&options, verb});
  if (is_new && options.count(verb) > 0) {
    for (const OptionNames& names : options.at(verb))
      found->second.insert(found->second.end(), names.begin(), names.end());
  }
  return found->second;
}

// The verb that a command begins with, of up to three words; empty where there is none.
std::string verb_of(const std::string& command, const OptionsOfVerbs& options) {
  std::istringstream words(command);
  std::string name, longest;
  for (std::string word; words >> word;) {
    while (!word.empty() && (word.back() == ',' || word.back() == '.' || word.back() == '`')) word.pop_back();
    name += (name.empty() ? "" : " ") + word;
    if (options.count(name) > 0) longest = name;
    if (std::count(name.begin(), name.end(), ' ') >= 2) break;
  }
  return longest;
}

class Judge {
 public:
  Judge(std::string path, const OptionsOfVerbs& options) : path_(std::move(path)), options_(options) {
    for (const auto& [begin, verbs] : verbs_of_rooms()) {
      if (path_.rfind(begin, 0) == 0) {
        reached_ = verbs;
        break;
      }
    }
  }

  std::vector<std::string> found() { return std::move(found_); }

  void settings(const Text& literal) {
    const std::string& text = literal.words;
    if (text.find('`') == std::string::npos) return;
    static const std::regex ticks("`([^`]+)`"), setting("[a-z][a-z0-9_]*"), word("[a-z]+ [a-z]+");
    for (std::sregex_iterator at(text.begin(), text.end(), ticks), end; at != end; ++at) {
      const std::string name = (*at)[1].str();
      if (std::regex_match(name, setting) && name != "bigbird") {
        if (!literal.is_message) report("`" + name + "` does not stand in a message()");
        if (!leads_somewhere(name)) report("`" + name + "` is an option of no verb that may say so");
        if (name == "quoting") all_table_verbs_have(name);
      } else if (std::regex_match(name, word) && name.rfind("bigbird", 0) != 0 &&
                 verb_of(name, options_).empty()) {
        report("`" + name + "` is no verb");
      }
    }
  }

  // "bigbird VERB", in backticks or not.
  void commands(const std::string& text) {
    if (text.find("bigbird ") == std::string::npos) return;
    static const std::regex command("(^|[^a-zA-Z_/-])bigbird ([a-z][a-z0-9 -]*)");
    for (std::sregex_iterator at(text.begin(), text.end(), command), end; at != end; ++at) {
      const std::string rest = (*at)[2].str(), first = rest.substr(0, rest.find(' '));
      if (no_verbs.count(first) == 0 && verb_of(rest, options_).empty())
        report("bigbird " + rest + " is no command");
    }
  }

  void no_options(const std::string& text) {
    if (text == "--lr") return;  // of folders that earlier versions wrote
    for (const std::string& option : written_options(text)) report(option + " stands in lib");
  }

  void own_options(const std::string& text, const std::string& verb, const std::set<std::string>& declared) {
    for (const std::string& option : written_options(text)) {
      bool known = declared.count(option) > 0;
      for (const auto& [name, names] : options_) {
        const bool counts = verb.empty() || name == verb || text.find(name) != std::string::npos;
        const std::vector<std::string>& typed = typed_options(options_, name);
        known = known || (counts && std::find(typed.begin(), typed.end(), option) != typed.end());
      }
      if (!known)
        report(option + " is no option" + (verb.empty() ? "" : " of " + verb) + ": " + text.substr(0, 80));
    }
  }

  static std::vector<std::string> written_options(const std::string& text) {
    if (text.find("--") == std::string::npos) return {};
    static const std::regex option("(^|[^a-zA-Z0-9_-])(--[a-z][a-z0-9-]*)");
    std::vector<std::string> all;
    for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at)
      all.push_back((*at)[2].str());
    return all;
  }

 private:
  bool leads_somewhere(const std::string& setting) const {
    return std::any_of(options_.begin(), options_.end(), [&](const auto& row) {
      const bool reached = std::any_of(reached_.begin(), reached_.end(),
                                       [&](const std::string& begin) { return is_of(row.first, begin); });
      return reached && apps::option_name(setting, typed_options(options_, row.first)) != setting;
    });
  }
  void all_table_verbs_have(const std::string& setting) {
    for (const std::string& verb : verbs_that_read_tables) {
      if (apps::option_name(setting, typed_options(options_, verb)) == setting)
        report("`" + setting + "` is no option of " + verb);
    }
  }
  void report(const std::string& what) { found_.push_back(path_ + ": " + what); }

  std::string path_;
  const OptionsOfVerbs& options_;
  std::vector<std::string> reached_;
  std::vector<std::string> found_;
};

// "text classify finetune" of cmd_text_classify_finetune.cpp; empty for what several verbs share.
std::string verb_of_source(const std::string& path, const OptionsOfVerbs& options) {
  for (const auto& [verb, names] : options) {
    std::string file = "/cmd_" + verb + ".cpp";
    std::replace_if(
        file.begin(), file.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    if (path.size() > file.size() && path.compare(path.size() - file.size(), file.size(), file) == 0)
      return verb;
  }
  return {};
}

}  // namespace

std::vector<Text> texts_of(std::string code) {
  static const std::regex joint("\"\\s*\\n\\s*\""), literal("(message\\(\\s*)?\"((?:[^\"\\\\\\n]|\\\\.)*)\"");
  std::string without;
  for (const std::string& line : lines_of(code)) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(begin, 2, "//") != 0) without += line + "\n";
  }
  code = std::regex_replace(without, joint, "");
  std::vector<Text> texts;
  for (std::sregex_iterator at(code.begin(), code.end(), literal), end; at != end; ++at)
    texts.push_back({(*at)[2].str(), (*at)[1].matched});
  return texts;
}

std::vector<std::string> unknown_names(const std::string& path, const std::string& source,
                                       const OptionsOfVerbs& options) {
  const std::vector<Text> texts = texts_of(source);
  Judge judge(path, options);
  if (path.rfind("lib/", 0) == 0) {
    for (const Text& text : texts) {
      judge.settings(text);
      judge.commands(text.words);
      // Commands that a script runs.
      if (path != "lib/parts/sharded_verbs.cpp" && path != "lib/parts/slurm_script.cpp")
        judge.no_options(text.words);
    }
    return judge.found();
  }
  // Scripts of Slurm have options of sbatch, and name those of every verb.
  if (path.find("/cmd_cluster") != std::string::npos) return {};
  const std::string verb = verb_of_source(path, options);
  std::set<std::string> declared = {"--version", "--version-only", "--help"};
  if (verb.empty()) {  // old spellings are accepted and shown nowhere
    for (const Text& text : texts) {
      if (text.words.rfind("--", 0) == 0 && text.words.find(' ') == std::string::npos) {
        for (const std::string& option : Judge::written_options(text.words)) declared.insert(option);
      }
    }
  }
  for (const Text& text : texts) {
    judge.commands(text.words);
    judge.own_options(text.words, verb, declared);
  }
  return judge.found();
}

}  // namespace bigbird::policy
