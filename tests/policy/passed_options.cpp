// What tests pass to the program; see passed_options.h.
#include "tests/policy/passed_options.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "tests/policy/lines.h"

namespace bigbird::policy {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// "--max-n=1" -> "--max-n"; quotes around a word of a shell are taken off.
std::string bare(std::string word) {
  const auto is_quote = [](char c) { return c == '"' || c == '\'' || c == '\\'; };
  while (!word.empty() && is_quote(word.front())) word.erase(0, 1);
  while (!word.empty() && is_quote(word.back())) word.pop_back();
  return word[0] == '-' ? word.substr(0, word.find('=')) : word;
}

struct Literal {
  std::string text;
  bool opens_list = false;    // stands behind an opening brace
  bool follows_next = false;  // the literal behind it follows after a comma
};

// The string literals of code, in order; comments are passed over.
std::vector<Literal> literals_of(const std::string& code) {
  std::vector<Literal> literals;
  char before = ' ';  // the last character that is no blank
  bool only_comma = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code.compare(i, 2, "//") == 0) {
      i = code.find('\n', i);
      if (i == std::string::npos) break;
      continue;
    }
    if (code[i] == '\'') {  // a character; or a digit separator, which is in no pair of quotes
      const std::size_t size = i + 1 < code.size() && code[i + 1] == '\\' ? 3 : 2;
      if (i + size < code.size() && code[i + size] == '\'') i += size;
      before = '\'';
      only_comma = false;
      continue;
    }
    if (code[i] != '"') {
      if (std::isspace(static_cast<unsigned char>(code[i])) != 0) continue;
      only_comma = code[i] == ',' && before == '"';
      before = code[i];
      continue;
    }
    Literal literal;
    literal.opens_list = before == '{';
    if (only_comma && !literals.empty()) literals.back().follows_next = true;
    for (++i; i < code.size() && code[i] != '"'; ++i) {
      if (code[i] == '\\' && i + 1 < code.size()) {
        ++i;
        literal.text += code[i] == 'n' || code[i] == 't' ? ' ' : code[i];
      } else {
        literal.text += code[i];
      }
    }
    literals.push_back(std::move(literal));
    before = '"';
    only_comma = false;
  }
  return literals;
}

// Names before an opening parenthesis.
std::set<std::string> called_names(const std::string& code) {
  std::set<std::string> names;
  for (std::size_t at = code.find('('); at != std::string::npos; at = code.find('(', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_word(code[begin - 1])) --begin;
    if (begin < at) names.insert(code.substr(begin, at - begin));
  }
  return names;
}

std::string name_of_function(const std::string& function) {
  const std::size_t at = function.find('(');
  std::size_t begin = at;
  while (begin > 0 && is_word(function[begin - 1])) --begin;
  return function.substr(begin, at - begin);
}

// Adds what the words of a shell's text, or the verbs and options in it, pass.
void add_commands(const std::string& text, const std::set<std::string>& verbs,
                  std::map<std::string, std::set<std::string>>& passed) {
  std::string verb;
  const std::vector<std::string> words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = bare(words[i]);
    if (word == "|" || word == ";" || word == "&&" || word == ">") verb.clear();
    if (const std::size_t slash = word.rfind('/'); slash != std::string::npos) word.erase(0, slash + 1);
    if (word == "bigbird" || word == "$bigbird" || word == "$BIGBIRD") {
      verb = i + 1 < words.size() ? bare(words[i + 1]) : "";
      const std::string both = verb + " " + (i + 2 < words.size() ? bare(words[i + 2]) : "");
      const std::string three = both + " " + (i + 3 < words.size() ? bare(words[i + 3]) : "");
      if (verbs.count(both) > 0) verb = both;
      if (verbs.count(three) > 0) verb = three;
      if (verbs.count(verb) > 0) passed[verb];
    } else if (verbs.count(verb) > 0) {
      passed[verb].insert(bare(words[i]));
    }
  }
}

}  // namespace

std::map<std::string, std::vector<OptionNames>> options_of_verbs(const std::string& completion) {
  std::map<std::string, std::vector<OptionNames>> verbs;
  for (const std::string& line : lines_of(completion)) {
    const std::size_t words = line.find(") words='-");
    const std::size_t quote = line.find('\'');
    if (words == std::string::npos || quote > words) continue;
    std::vector<OptionNames>& options = verbs[line.substr(quote + 1, line.find('\'', quote + 1) - quote - 1)];
    for (const std::string& word : words_of(line.substr(words + 9))) {
      const std::string name = bare(word);
      if (name.rfind("--", 0) == 0 || options.empty()) options.emplace_back();
      options.back().push_back(name);
    }
  }
  return verbs;
}

std::vector<std::string> functions_of(const std::string& source) {
  std::vector<std::string> functions;
  std::string current, indent;
  for (const std::string& line : lines_of(source)) {
    if (current.empty()) {
      const std::size_t first = line.find_first_not_of(' ');
      if (first != 0 && first != 2) continue;
      const std::string word = line.substr(first, line.find_first_of(" (", first) - first);
      const bool other = line[first] == '#' || line[first] == '/' || line[first] == '}' ||
                         word == "namespace" || word == "class" || word == "struct" || word == "using" ||
                         word.back() == ':';
      if (other || line.find('(') == std::string::npos || line.back() == ';') continue;
      indent = line.substr(0, first);
      current = line + "\n";
      if (line.back() != '}') continue;
    } else {
      current += line + "\n";
      if (line != indent + "}" && line != indent + "};") continue;
    }
    functions.push_back(std::move(current));
    current.clear();
  }
  return functions;
}

std::map<std::string, std::set<std::string>> passed_words(const std::string& source,
                                                          const std::string& headers,
                                                          const std::set<std::string>& verbs) {
  std::set<std::string> families;  // first words of verbs of two
  for (const std::string& verb : verbs) {
    if (const std::size_t space = verb.find(' '); space != std::string::npos)
      families.insert(verb.substr(0, space));
  }
  std::vector<std::string> functions = functions_of(source);
  for (const std::string& function : functions_of(headers)) functions.push_back(function);
  std::multimap<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < functions.size(); ++i) by_name.emplace(name_of_function(functions[i]), i);

  std::map<std::string, std::set<std::string>> passed;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    std::set<std::size_t> reached = {i};
    std::vector<std::size_t> open = {i};
    while (!open.empty()) {
      const std::string& function = functions[open.back()];
      open.pop_back();
      for (const std::string& name : called_names(function)) {
        const auto [begin, end] = by_name.equal_range(name);
        for (auto called = begin; called != end; ++called) {
          if (functions[called->second].rfind("TEST", 0) != 0 && reached.insert(called->second).second)
            open.push_back(called->second);
        }
      }
    }
    std::set<std::string> words, spoken, families_spoken;
    for (const std::size_t at : reached) {
      const std::vector<Literal> literals = literals_of(functions[at]);
      for (std::size_t k = 0; k < literals.size(); ++k) {
        const std::string& text = literals[k].text;
        words.insert(bare(text));
        add_commands(text, verbs, passed);
        if (!literals[k].opens_list) continue;
        const std::string both =
            text + " " + (literals[k].follows_next && k + 1 < literals.size() ? literals[k + 1].text : "");
        if (families.count(text) > 0) families_spoken.insert(text);
        const bool has_third =
            k + 2 < literals.size() && literals[k].follows_next && literals[k + 1].follows_next;
        const std::string three = both + " " + (has_third ? literals[k + 2].text : "");
        if (verbs.count(three) > 0) {
          spoken.insert(three);
        } else if (verbs.count(both) > 0) {
          spoken.insert(both);
        } else if (verbs.count(text) > 0) {
          spoken.insert(text);
        }
      }
    }
    // The second word may be put in where the list is used.
    for (const std::string& verb : verbs) {
      const std::size_t space = verb.find(' ');
      if (space == std::string::npos || families_spoken.count(verb.substr(0, space)) == 0) continue;
      const std::vector<std::string> rest = words_of(verb.substr(space + 1));
      if (std::all_of(rest.begin(), rest.end(),
                      [&](const std::string& word) { return words.count(word) > 0; }))
        spoken.insert(verb);
    }
    for (const std::string& verb : spoken) passed[verb].insert(words.begin(), words.end());
  }
  return passed;
}

std::map<std::string, std::set<std::string>> passed_words_of_script(const std::string& script,
                                                                    const std::set<std::string>& verbs) {
  std::string whole = script;
  for (std::size_t at = 0; (at = whole.find("\\\n", at)) != std::string::npos;) whole.replace(at, 2, " ");
  std::map<std::string, std::set<std::string>> passed;
  for (const std::string& line : lines_of(whole)) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && line[first] != '#') add_commands(line, verbs, passed);
  }
  return passed;
}

}  // namespace bigbird::policy
