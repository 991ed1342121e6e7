// The decoder of appendix B against a plain simulator, step by step; and machine files.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lib/core/error.h"
#include "lib/report/theory_pictures.h"
#include "lib/theory/turing_decoder.h"

namespace bigbird {
namespace {

TuringMachine shipped(const std::string& name) {
  return parse_machine(machine_text(name), name);
}

// The steps of the machine; the decoder's run is compared with the plain one.
MachineRun compared(const TuringMachine& machine, const std::string& word) {
  MachineRun plain = run_machine(machine, word, 1000);
  EXPECT_TRUE(plain.halts) << word;
  const DecoderRun run =
      decode_machine(machine, word, static_cast<std::int64_t>(plain.configurations.size()));
  EXPECT_EQ(run.configurations, plain.configurations) << word;
  EXPECT_EQ(first_difference(plain, run, word), -1) << word;
  return plain;
}

std::string letters_of(const Tape& tape) {
  std::string letters;
  for (const auto& entry : tape) letters += entry.second;
  return letters;
}

TEST(TuringMachines, M1IncrementOf1011) {
  const TuringMachine machine = shipped("increment");
  const MachineRun plain = compared(machine, "1011");
  EXPECT_EQ(plain.configurations.size(), 10u);
  EXPECT_EQ(letters_of(plain.tapes.back()), "1100");
  const DecoderRun run = decode_machine(machine, "1011", 10);
  EXPECT_EQ(run.nodes.size(), 55u);
  EXPECT_EQ(run.products, 110);
}

TEST(TuringMachines, M2IncrementOfAllWords) {
  const TuringMachine machine = shipped("increment");
  const std::vector<std::string> words = all_words(machine, 6);
  EXPECT_EQ(words.size(), 126u);
  for (const std::string& word : words) {
    const std::string sum = letters_of(compared(machine, word).tapes.back());
    EXPECT_EQ(std::stoi(sum, nullptr, 2), std::stoi(word, nullptr, 2) + 1);
  }
}

TEST(TuringMachines, M2PalindromesOfAllWords) {
  const TuringMachine machine = shipped("palindrome");
  const std::vector<std::string> words = all_words(machine, 5);
  EXPECT_EQ(words.size(), 62u);
  for (const std::string& word : words) {
    const bool is = std::equal(word.begin(), word.end(), word.rbegin());
    EXPECT_EQ(compared(machine, word).configurations.back().state, is ? "Yes" : "No") << word;
  }
  EXPECT_EQ(compared(machine, "abba").configurations.size(), 22u);
  EXPECT_EQ(decode_machine(machine, "abba", 22).nodes.size(), 253u);
}

TEST(TuringMachines, M2BusyBeavers) {
  const MachineRun two = compared(shipped("busy-beaver-2"), ""),
                   three = compared(shipped("busy-beaver-3"), "");
  EXPECT_EQ(two.configurations.size() - 1, 6u);
  EXPECT_EQ(letters_of(two.tapes.back()), "1111");
  EXPECT_EQ(three.configurations.size() - 1, 14u);
  EXPECT_EQ(letters_of(three.tapes.back()), "111111");
  EXPECT_EQ(machine_names().size(), 4u);
  EXPECT_EQ(machine_text("busy-beaver-4"), "");
}

TEST(TuringMachines, M3TheEdgeAsPrintedLosesTheTape) {
  const TuringMachine machine = shipped("increment");
  const MachineRun plain = run_machine(machine, "1011", 100);
  const DecoderRun run = decode_machine(machine, "1011", 10, DecoderEdges::printed);
  int same = 0;
  for (std::size_t time = 0; time < std::min(run.configurations.size(), plain.configurations.size()); ++time)
    same += run.configurations[time] == plain.configurations[time] ? 1 : 0;
  EXPECT_EQ(same, 6);
  EXPECT_EQ(first_difference(plain, run, "1011"), 6);
}

TEST(TuringMachines, M4NodesAndEdges) {
  for (const std::string word : {"0", "111"}) {
    const MachineRun plain = compared(shipped("increment"), word);
    const auto steps = static_cast<std::int64_t>(plain.configurations.size()) - 1;
    const DecoderRun run = decode_machine(shipped("increment"), word, steps + 1);
    EXPECT_EQ(static_cast<std::int64_t>(run.nodes.size()), (steps + 1) * (steps + 2) / 2);
    EXPECT_EQ(run.products, 2 * static_cast<std::int64_t>(run.nodes.size()));
  }
  const DecoderRun run = decode_machine(shipped("increment"), "1011", 4);
  std::vector<std::pair<std::int64_t, std::int64_t>> edges;
  for (const DecoderNode& node : run.nodes) edges.emplace_back(node.first, node.second);
  EXPECT_EQ(decode_machine(shipped("increment"), "1011", 10).sources,
            (std::vector<std::int64_t>{-1, -1, -1, -1, -2, 4, 3, 2, 7, 9}));
  EXPECT_EQ(edges, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                       {1, 1}, {1, 1}, {3, 2}, {1, 3}, {3, 5}, {6, 5}, {1, 6}, {3, 8}, {6, 9}, {10, 9}}));
}

TEST(TuringMachines, ALongerRunThanItIsAllowed) {
  const TuringMachine machine = parse_machine("start A\nhalt H\nA # -> A 1 R\n", "m.txt");
  const MachineRun plain = run_machine(machine, "", 7);
  EXPECT_FALSE(plain.halts);
  EXPECT_EQ(first_difference(plain, decode_machine(machine, "", 8), ""), -1);
  EXPECT_EQ(tape_text(plain.tapes.back()), "1111111");
}

struct BadMachine {
  const char* text;
  const char* message;
};

TEST(TuringMachines, WhatIsNoMachine) {
  for (const BadMachine& bad : {
           BadMachine{"halt H\nA # -> H # R\n", "m.txt: no start state"},
           BadMachine{"start A\nA # -> A # R\n", "m.txt: no halting state"},
           BadMachine{"start A\nhalt H\nA # > H # R\n", "m.txt: line 3: not a transition"},
           BadMachine{"start A\nhalt H\nA # -> H #\n", "m.txt: line 3: not a transition"},
           BadMachine{"start A\nhalt H\nA # -> H # X\n", "m.txt: line 3: 'X' is not a move"},
           BadMachine{"start A\nhalt H\nA # -> H # LN\n", "m.txt: line 3: 'LN' is not a move"},
           BadMachine{"start A\nhalt H\nA ab -> H # R\n", "m.txt: line 3: 'ab' is not a symbol"},
           BadMachine{"start A\nstart B\n", "m.txt: line 2: a second start state"},
           BadMachine{"start\n", "m.txt: line 1: start names nothing"},
           BadMachine{"start A\nhalt H\nA # -> B # R\n", "m.txt: nothing leads on from state B"},
           BadMachine{"start A\nhalt H\nA # -> H # R\nA # -> H 1 R\n",
                      "m.txt: line 4: a second transition of state A and symbol #"},
       }) {
    try {
      parse_machine(bad.text, "m.txt");
      ADD_FAILURE() << bad.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_EQ(error.message(), bad.message);
      EXPECT_NE(error.hint(), "");
    }
  }
}

TEST(TuringMachines, WhatAMachineCannotDo) {
  const auto message = [](const std::string& text, const std::string& word) {
    try {
      run_machine(parse_machine(text, "m.txt"), word, 100);
    } catch (const Error& error) {
      EXPECT_NE(error.hint(), "");
      return error.message();
    }
    return std::string();
  };
  EXPECT_EQ(message("start A\nhalt H\ninput a\nA # -> B # R\nB b -> H # R\n", "a"),
            "m.txt: no transition of state B and symbol a, which it meets at step 1");
  EXPECT_EQ(message("start A\nhalt H\ninput a\nA # -> B # L\nB # -> H # R\n", "a"),
            "m.txt: at step 1 it has not read its word");
  EXPECT_EQ(message("start A\nhalt H\ninput a\nA # -> H # R\n", "aa"),
            "m.txt: at step 1 it has not read its word");
  EXPECT_EQ(message("start A\nhalt H\ninput a\nA # -> H # R\n", "b"), "'b' is not a letter of m.txt");
}

TEST(TuringMachines, TooManyWordsAreRefused) {
  EXPECT_EQ(all_words(shipped("palindrome"), 10).size(), 2046u);
  EXPECT_EQ(all_words(shipped("busy-beaver-2"), 10), std::vector<std::string>{""});
  EXPECT_THROW(all_words(shipped("palindrome"), 14), Error);
}

TEST(TuringPictures, EveryNodeAndItsEdges) {
  const TuringMachine machine = shipped("palindrome");
  const MachineRun plain = run_machine(machine, "aba", 100);
  const auto times = static_cast<std::int64_t>(plain.configurations.size());
  const DecoderRun run = decode_machine(machine, "aba", times);
  const std::string svg = turing_svg("palindrome aba", run);
  EXPECT_EQ(svg.find("<svg"), 0u);
  std::size_t circles = 0;
  for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++circles;
  EXPECT_EQ(circles, run.nodes.size());
  EXPECT_NE(svg.find("<title>node 10: reads 10 and 9, takes "), std::string::npos);
  const std::string page = turing_page(machine, "aba", plain, run, {"bigbird 0: theory turing"});
  EXPECT_NE(page.find("palindrome on aba by a decoder with sparse attention"), std::string::npos);
  EXPECT_NE(page.find("next symbol from"), std::string::npos);
  EXPECT_NE(page.find("<p>bigbird 0: theory turing</p>"), std::string::npos);
}

TEST(TuringPictures, LongRunsAreCut) {
  const TuringMachine machine = parse_machine("start A\nhalt H\nA # -> A 1 R\n", "m.txt");
  const DecoderRun run = decode_machine(machine, "", 40);
  EXPECT_NE(turing_svg("m", run).find("Times 0 to 23 of 39."), std::string::npos);
}

}  // namespace
}  // namespace bigbird
