// See turing_machine.h.
#include "lib/theory/turing_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "lib/core/error.h"

namespace bigbird {
namespace {

struct ShippedMachine {
  const char* name;
  const char* text;
};

constexpr ShippedMachine shipped_machines[] = {
    {"increment", R"(; adds 1 to a binary number: to its right end, then 1s become 0s up to a 0
start S
halt H
input 0 1
S # -> R # R
R 0 -> R 0 R
R 1 -> R 1 R
R # -> C # L
C 1 -> C 0 L
C 0 -> H 1 R
C # -> H 1 R
)"},
    {"palindrome", R"(; compares the ends of a word, takes both away, and goes on; Yes or No
start S
halt Yes No
input a b
S # -> R # R
R a -> R a R
R b -> R b R
R # -> L # L
; the last letter is taken and kept in mind
L a -> Ba # L
L b -> Bb # L
L # -> Yes # R
; back to the left end
Ba a -> Ba a L
Ba b -> Ba b L
Ba # -> Fa # R
Bb a -> Bb a L
Bb b -> Bb b L
Bb # -> Fb # R
; the first letter has to be the same
Fa a -> G # R
Fa b -> No b R
Fa # -> Yes # R
Fb b -> G # R
Fb a -> No a R
Fb # -> Yes # R
; to the right end
G a -> G a R
G b -> G b R
G # -> L # L
)"},
    {"busy-beaver-2", R"(; of the machines of 2 states the one that writes most 1s: 4, in 6 steps
start A
halt H
A # -> B 1 R
A 1 -> B 1 L
B # -> A 1 L
B 1 -> H 1 R
)"},
    {"busy-beaver-3", R"(; of the machines of 3 states one that writes most 1s: 6, in 14 steps
start A
halt H
A # -> B 1 R
A 1 -> H 1 R
B # -> C # R
B 1 -> B 1 R
C # -> C 1 L
C 1 -> A 1 L
)"},
};

constexpr const char* line_form = "state symbol -> state symbol L, R or N";

// The words of one line, without its comment.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line.substr(0, line.find(';')));
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

class MachineReader {
 public:
  explicit MachineReader(const std::string& where) { machine_.where = where; }

  void take(const std::string& text) {
    ++line_;
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) return;
    if (words[0] == "start" || words[0] == "halt" || words[0] == "input") {
      if (words.size() < 2) fail(words[0] + " names nothing", "write it as: " + words[0] + " NAME");
      take_names(words);
    } else {
      take_transition(words);
    }
  }

  TuringMachine finish() {
    if (machine_.start.empty())
      throw_bad_input(machine_.where + ": no start state", "add a line: start STATE");
    if (machine_.halts.empty())
      throw_bad_input(machine_.where + ": no halting state", "add a line: halt STATE");
    for (const auto& entry : machine_.transitions) {
      const std::string& next = entry.second.state;
      const bool known =
          machine_.halted(next) || std::any_of(machine_.transitions.begin(), machine_.transitions.end(),
                                               [&](const auto& other) { return other.first.first == next; });
      if (!known)
        throw_bad_input(
            fmt::format("{}: nothing leads on from state {}", machine_.where, text_for_message(next)),
            "give it transitions, or name it in a line: halt STATE");
    }
    return machine_;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const {
    throw_bad_input(fmt::format("{}: line {}: {}", machine_.where, line_, what), hint);
  }

  char symbol(const std::string& word) const {
    if (word.size() == 1 && word[0] > ' ' && word[0] <= '~') return word[0];
    fail(fmt::format("'{}' is not a symbol", text_for_message(word)),
         "a symbol is one printable ASCII character");
  }

  void take_names(const std::vector<std::string>& words) {
    if (words[0] == "start") {
      if (words.size() > 2 || !machine_.start.empty()) fail("a second start state", "name one");
      machine_.start = words[1];
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[0] == "halt") machine_.halts.insert(words[i]);
      if (words[0] == "input") machine_.letters += symbol(words[i]);
    }
  }

  void take_transition(const std::vector<std::string>& words) {
    if (words.size() != 6 || words[2] != "->")
      fail("not a transition", fmt::format("write it as: {}", line_form));
    const std::size_t move = std::string_view("LNR").find(words[5]);
    if (words[5].size() != 1 || move == std::string_view::npos)
      fail(fmt::format("'{}' is not a move", text_for_message(words[5])), "it is L, R or N");
    const auto key = std::pair(words[0], symbol(words[1]));
    const Transition to{words[3], symbol(words[4]), static_cast<int>(move) - 1};
    if (!machine_.transitions.try_emplace(key, to).second)
      fail(fmt::format("a second transition of state {} and symbol {}", text_for_message(words[0]), words[1]),
           "a machine here has one for each");
  }

  TuringMachine machine_;
  int line_ = 0;
};

}  // namespace

TuringMachine parse_machine(const std::string& text, const std::string& where) {
  MachineReader reader(where);
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) reader.take(line);
  return reader.finish();
}

std::string machine_text(const std::string& name) {
  for (const ShippedMachine& machine : shipped_machines) {
    if (name == machine.name) return machine.text;
  }
  return {};
}

const std::vector<std::string>& machine_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ShippedMachine& machine : shipped_machines) all.emplace_back(machine.name);
    return all;
  }();
  return names;
}

std::string tape_text(const Tape& tape) {
  std::string text;
  const std::int64_t first = tape.empty() ? 0 : std::min<std::int64_t>(tape.begin()->first, 0);
  const std::int64_t last = tape.empty() ? 0 : std::max<std::int64_t>(tape.rbegin()->first, 0);
  for (std::int64_t cell = first; cell <= last; ++cell) {
    const auto at = tape.find(cell);
    text += at == tape.end() ? blank_symbol : at->second;
  }
  return text;
}

MachineRun run_machine(const TuringMachine& machine, const std::string& word, std::int64_t most_steps) {
  const auto length = static_cast<std::int64_t>(word.size());
  MachineRun run;
  Tape tape;
  for (std::int64_t i = 0; i < length; ++i) {
    const char letter = word[static_cast<std::size_t>(i)];
    if (machine.letters.find(letter) == std::string::npos)
      throw_usage(
          fmt::format("'{}' is not a letter of {}", text_for_message(std::string(1, letter)), machine.where),
          machine.letters.empty() ? "it has no letters, and runs on an empty tape"
                                  : fmt::format("its letters are {}", fmt::join(machine.letters, " ")));
    tape[i + 1] = letter;
  }
  std::string state = machine.start;
  std::int64_t cell = 0;
  for (std::int64_t time = 0;; ++time) {
    const auto under = tape.find(cell);
    const char symbol = under == tape.end() ? blank_symbol : under->second;
    run.configurations.push_back({state, symbol, cell});
    run.tapes.push_back(tape);
    run.halts = machine.halted(state);
    if ((time <= length && cell != time) || (run.halts && time < length))
      throw_bad_input(fmt::format("{}: at step {} it has not read its word", machine.where, time),
                      "from its start it must move right once for each letter");
    if (run.halts || time == most_steps) return run;
    const auto found = machine.transitions.find({state, symbol});
    if (found == machine.transitions.end())
      throw_bad_input(fmt::format("{}: no transition of state {} and symbol {}, which it meets at step {}",
                                  machine.where, text_for_message(state), symbol, time),
                      "add one, or name the state in a line: halt STATE");
    const Transition& step = found->second;
    if (step.symbol == blank_symbol) {
      tape.erase(cell);
    } else {
      tape[cell] = step.symbol;
    }
    state = step.state;
    cell += step.move;
  }
}

std::vector<std::string> all_words(const TuringMachine& machine, std::int64_t longest) {
  if (machine.letters.empty()) return {""};
  std::vector<std::string> words, last{""};
  for (std::int64_t length = 1; length <= longest; ++length) {
    std::vector<std::string> longer;
    for (const std::string& word : last) {
      for (const char letter : machine.letters) longer.push_back(word + letter);
    }
    words.insert(words.end(), longer.begin(), longer.end());
    if (words.size() > most_words)
      throw_usage(
          fmt::format("words of {} up to {} letters are more than {}", machine.where, longest, most_words),
          "give a shorter length");
    last = std::move(longer);
  }
  return words;
}

}  // namespace bigbird
