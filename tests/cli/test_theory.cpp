// bigbird theory: what its verbs print, and how they end.
#include <gtest/gtest.h>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(TheoryStarGraph, U1AllInputsOfThreeTokensOfTwoCoordinates) {
  const RunResult run = run_bigbird({"theory", "star-graph", "--tokens", "3", "--width", "2", "--grid", "2"});
  ASSERT_EQ(run.status, 0) << run.err;
  expect_has(run.out, "built\t7 layers of two heads, over 4 nodes with a star\n");
  expect_has(run.out, "check\t192 ids of 64 inputs are distinct: 0 collide\tok\n");
  EXPECT_EQ(run.out.find("failed"), std::string::npos);
  // Beyond what doubles hold, and with a fine step.
  const RunResult seven = run_bigbird({"theory", "star-graph", "--tokens", "7"});
  EXPECT_EQ(seven.status, 0) << seven.err;
  expect_has(seven.out, "; it holds 53 bits\n");
  EXPECT_EQ(run_bigbird({"theory", "star-graph", "--tokens", "2", "--grid", "40"}).status, 0);
}

TEST(TheoryStarGraph, TheExampleIsPrinted) {
  const RunResult run = run_bigbird({"theory", "star-graph", "--tokens", "2", "--lists"});
  ASSERT_EQ(run.status, 0) << run.err;
  expect_has(run.out,
             "0/2 0/2\t3272 2582\n0/2 1/2\t2952 2329.5\n1/2 0/2\t3023.5 2386\n1/2 1/2\t2703.5 2133.5\n");
  expect_has(run.out, "256 of 256 tables");
  expect_has(run.out, "attention in fp32 gives 8 of 8 ids, of up to 13 bits\tok\n");
}

TEST(TheoryStarGraph, U2OtherGraphs) {
  expect_has(run_bigbird({"theory", "star-graph", "--without-centre"}).out, "18 of 24 ids collide");
  expect_has(run_bigbird({"theory", "star-graph", "--attention", "window"}).out, "6 of 24 ids collide");
  const RunResult bigbird =
      run_bigbird({"theory", "star-graph", "--attention", "bigbird", "--random-edges", "0.5", "--seed", "3"});
  EXPECT_EQ(bigbird.status, 0) << bigbird.err;
  expect_has(bigbird.out, "24 ids of 8 inputs are distinct: 0 collide\tok\n");
  expect_has(bigbird.out, "with random edges, 20 graphs: 0 of 480 ids collide\tok\n");
}

TEST(TheoryStarGraph, WhatItRefuses) {
  const auto refused = [](const std::vector<std::string>& options, const std::string& what) {
    std::vector<std::string> words{"theory", "star-graph"};
    words.insert(words.end(), options.begin(), options.end());
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, 2) << run.out;
    expect_has(run.err, what);
    expect_has(run.err, "hint: ");
  };
  refused({"--tokens", "1"}, "--tokens and --grid must be at least 2");
  refused({"--tokens", "20"}, "more than 65536 inputs");
  refused({"--tokens", "1000000000000000", "--width", "900000000000"}, "more than 65536 inputs");
  refused({"--grid", "9000000000000000000"}, "more than 65536 inputs");
  refused({"--tokens", "9"}, "more than 120 bits");
  refused({"--random-edges", "2"}, "from 0 to 1");
  refused({"--draws", "3"}, "--draws without random edges");
  refused({"--attention", "ring"}, "'ring' is not an attention");
  refused({"--without-centre", "--attention", "star"}, "--without-centre with --attention");
}

TEST(TheoryGraphs, MeasuresRingsRandomGraphsAndPlans) {
  const std::vector<std::string> words{"theory",  "graphs", "--nodes",  "64",  "--degree",     "6",
                                       "--draws", "3",      "--length", "256", "--block-size", "16"};
  const RunResult run = run_bigbird(words);
  ASSERT_EQ(run.status, 0) << run.err;
  for (const char* name : {"\nring\tnode\t64\t6.00\t", "\nwatts-strogatz 0.1\tnode\t",
                           "\nerdos-renyi\tnode\t", "\nbigbird\ttoken\t256\t", "\nbigbird\tblock\t16\t",
                           "\nstar\ttoken\t", "\nlongformer\ttoken\t", "\netc\ttoken\t"})
    expect_has(run.out, name);
  expect_has(run.out, "the same within 1e-09\tok\n");
  EXPECT_EQ(run.out, run_bigbird(words).out);
  EXPECT_NE(run.out, run_bigbird({"theory", "graphs", "--nodes", "64", "--degree", "6", "--draws", "3",
                                  "--length", "256", "--block-size", "16", "--seed", "2"})
                         .out);
  EXPECT_EQ(run_bigbird({"theory", "graphs", "--degree", "5"}).status, 2);
  EXPECT_EQ(run_bigbird({"theory", "graphs", "--length", "9k"}).status, 2);
}

TEST(TheoryFurthestVector, CountsLayersAndDrawsThem) {
  const TemporaryFolder folder;
  const std::string svg = (folder / "furthest.svg").string();
  const RunResult run = run_bigbird({"theory", "furthest-vector", "--tokens", "32", "--instances", "5",
                                     "--seed", "4", "--windows", "1,3", "--attention", "star", "--svg", svg});
  ASSERT_EQ(run.status, 0) << run.err;
  expect_has(run.out, "\n32\t1\t31\t");
  expect_has(run.out, "\n32\t3\t11\t");
  expect_has(run.out, "ceil((n - 1) / w) sparse layers are exact: 30 of 30 instances\tok\n");
  expect_has(run.out, "plan\tstar, 32 tokens in blocks of one: all can have met after layer 2\n");
  expect_has(read_text(svg), "window 3: 11 layers");
  EXPECT_EQ(run_bigbird({"theory", "furthest-vector", "--tokens", "4"}).status, 2);
  EXPECT_EQ(run_bigbird({"theory", "furthest-vector", "--windows", "0"}).status, 2);
}

TEST(TheoryTuring, M1TraceOfTheIncrement) {
  const RunResult run =
      run_bigbird({"theory", "turing", "--machine", "increment", "--input", "1011", "--trace"});
  ASSERT_EQ(run.status, 0) << run.err;
  expect_has(run.out, "built\ta decoder of 55 steps for 9 machine steps, amended edges\n");
  expect_has(run.out, "products\t110 inner products");
  expect_has(run.out, "\n8\tC\t0\t2\t#1000\tsame\n9\tH\t0\t3\t#1100\tsame\n");
}

TEST(TheoryTuring, M3ThePrintedEdgeEndsWithStatus1) {
  const RunResult run =
      run_bigbird({"theory", "turing", "--machine", "increment", "--input", "1011", "--edges", "printed"});
  EXPECT_EQ(run.status, 1);
  expect_has(
      run.out,
      "the first wrong one, at time 6: state C and # on cell 4, not state C and 1 on cell 4\tfailed\n");
  expect_has(run.err, "checks failed: ");
}

TEST(TheoryTuring, AllWordsAndPages) {
  const TemporaryFolder folder;
  const RunResult words = run_bigbird({"theory", "turing", "--machine", "palindrome", "--all-words", "5"});
  EXPECT_EQ(words.status, 0) << words.err;
  expect_has(words.out, "62 of 62 words are as the plain simulator has them");
  const std::string html = (folder / "run.html").string(), svg = (folder / "run.svg").string();
  const RunResult run = run_bigbird(
      {"theory", "turing", "--machine", "palindrome", "--input", "abba", "--html", html, "--svg", svg});
  EXPECT_EQ(run.status, 0) << run.err;
  expect_has(run.out, "halts in state Yes");
  expect_has(read_text(html), "<td class=\"n\">21</td>");
  EXPECT_EQ(read_text(svg).find("<svg"), 0u);
}

TEST(TheoryTuring, MachinesFromFiles) {
  const TemporaryFolder folder;
  const std::string file = (folder / "machine.txt").string();
  const RunResult shown = run_bigbird({"theory", "turing", "--machine", "busy-beaver-3", "--show"});
  write_text(file, shown.out);
  const RunResult run = run_bigbird({"theory", "turing", "--machine", file});
  EXPECT_EQ(run.status, 0) << run.err;
  expect_has(run.out, "for 14 machine steps");
  write_text(file, shown.out + "A # -> B 1 R\n");
  const RunResult bad = run_bigbird({"theory", "turing", "--machine", file});
  EXPECT_EQ(bad.status, 1);
  expect_has(bad.err, "machine.txt: line 10: a second transition of state A and symbol #\n");
  expect_has(bad.err, "hint: ");
  EXPECT_EQ(run_bigbird({"theory", "turing", "--machine", (folder / "none").string()}).status, 1);
  const RunResult cut = run_bigbird({"theory", "turing", "--machine", "busy-beaver-3", "--most-steps", "9"});
  EXPECT_EQ(cut.status, 0) << cut.err;
  expect_has(cut.out, "ends\tstill runs in state ");
  EXPECT_EQ(run_bigbird({"theory", "turing", "--input", "12"}).status, 2);
  EXPECT_EQ(run_bigbird({"theory", "turing", "--edges", "others"}).status, 2);
  EXPECT_EQ(run_bigbird({"theory", "turing", "--all-words", "3", "--trace"}).status, 2);
}

}  // namespace
}  // namespace bigbird::testing
