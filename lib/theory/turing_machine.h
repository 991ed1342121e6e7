// Turing machines from small text files, and what they do step by step.
//
//   ; adds 1 to a binary number
//   start S
//   halt H
//   input 0 1
//   S # -> R # R
//   ...
//
// A line "state symbol -> state symbol move" is a transition; the move is L, R or N. Symbols are single
// characters, # is the blank, what follows a ; is a comment. `input` lists the letters of its words. The head
// begins on cell 0, the word stands on the cells from 1 on, and the machine reads it first: at time t <= its
// length the head stands on cell t (Perez et al. 2019, the convention of the paper's appendix B).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bigbird {

struct Transition {
  std::string state;
  char symbol = '#';
  int move = 0;  // -1, 0 or 1
};

struct TuringMachine {
  std::string where;  // its file or name, for messages
  std::string start;
  std::set<std::string> halts;
  std::string letters;
  std::map<std::pair<std::string, char>, Transition> transitions;

  bool halted(const std::string& state) const { return halts.count(state) > 0; }
};
inline constexpr char blank_symbol = '#';

// Error{bad_input} naming `where` and the line.
TuringMachine parse_machine(const std::string& text, const std::string& where);
// The text of a machine that comes with the program: increment, palindrome, busy-beaver-2, busy-beaver-3;
// empty for any other name.
std::string machine_text(const std::string& name);
const std::vector<std::string>& machine_names();

// What is the case at a time: the state, the symbol under the head, and its cell.
struct Configuration {
  std::string state;
  char symbol = blank_symbol;
  std::int64_t cell = 0;
  bool operator==(const Configuration&) const = default;
};
using Tape = std::map<std::int64_t, char>;  // cells that are not blank
// "#1011#", from cell 0 or the first that was written to the last one.
std::string tape_text(const Tape& tape);

struct MachineRun {
  std::vector<Configuration> configurations;  // at times 0, 1 .. ; the last one halts, where it does
  std::vector<Tape> tapes;                    // before each step
  bool halts = false;
};
// A tape and a head, and nothing of attention. Error{bad_input} for a configuration without a transition and
// for a machine that does not read its word first; Error{usage} for a word of other letters.
MachineRun run_machine(const TuringMachine& machine, const std::string& word, std::int64_t most_steps);

// All words of the machine's letters of lengths 1 .. longest; of a machine without letters the empty word.
// Error{usage} beyond most_words.
inline constexpr std::size_t most_words = 20'000;
std::vector<std::string> all_words(const TuringMachine& machine, std::int64_t longest);

}  // namespace bigbird
