// `bigbird theory turing`: a Turing machine run by a decoder with sparse attention, compared with a plain
// simulator.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/theory/checks.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/report/theory_pictures.h"
#include "lib/theory/turing_decoder.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<DecoderEdges, const char*>, 2> edge_names{
    {{DecoderEdges::amended, "amended"}, {DecoderEdges::printed, "printed"}}};

struct TuringRequest {
  std::string machine = "increment", word, edges = "amended", svg, html;
  std::int64_t all_words = 0, steps = 400;
  bool trace = false, show = false;
};

constexpr std::int64_t most_machine_steps = 1000, longest_words = 10;

void check(const Verb& verb, const TuringRequest& request) {
  if (request.steps < 1 || request.steps > most_machine_steps)
    throw_usage(fmt::format("--most-steps must be from 1 to {}", most_machine_steps));
  if (request.all_words < 0 || request.all_words > longest_words)
    throw_usage(fmt::format("--all-words must be from 1 to {}", longest_words));
  if (request.all_words > 0 && (verb.given("--input") || request.trace))
    throw_usage("--all-words with --input or --trace, which are of one word", "leave one of them out");
  if (request.all_words > 0 && !(request.svg + request.html).empty())
    throw_usage("--all-words with --svg or --html, which show one run", "give one word with --input");
}

void print_trace(const MachineRun& plain, const DecoderRun& run, const std::string& word) {
  fmt::print("\n#step\tstate\tsymbol\tcell\ttape\tplain\n");
  const std::vector<Tape> tapes = decoder_tapes(run, word);
  for (std::size_t time = 0; time < tapes.size(); ++time) {
    const Configuration& at = run.configurations[time];
    const bool agrees = at == plain.configurations[time] && tapes[time] == plain.tapes[time];
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\n", time, at.state, at.symbol, at.cell, tape_text(tapes[time]),
               agrees ? "same" : "differs");
  }
  fmt::print("\n");
}

std::string configuration_of(const Configuration& at) {
  return fmt::format("state {} and {} on cell {}", at.state, at.symbol, at.cell);
}

// The configuration that is another one, or, of equal ones, the tape.
std::string first_wrong(const MachineRun& plain, const DecoderRun& run, std::size_t time) {
  const std::string text = fmt::format("; the first wrong one, at time {}: ", time);
  if (time >= run.configurations.size()) return text + "the decoder has no transition before it";
  const Configuration &is = run.configurations[time], &should = plain.configurations[time];
  if (is == should) return text + "another tape";
  return text + configuration_of(is) + ", not " + configuration_of(should);
}

void run_one(const Verb& verb, const TuringRequest& request, const TuringMachine& machine, Checks& checks) {
  const DecoderEdges edges = parse_name(edge_names, request.edges, "kind of edges");
  const MachineRun plain = run_machine(machine, request.word, request.steps);
  const auto times = static_cast<std::int64_t>(plain.configurations.size());
  const DecoderRun run = decode_machine(machine, request.word, times, edges);
  OutputSet outputs({{"--svg", request.svg}, {"--html", request.html}});
  if (!request.svg.empty())
    write_text_atomic(request.svg, turing_svg(fmt::format("{} {}", machine.where, request.word), run));
  if (!request.html.empty()) {
    std::vector<std::string> made;
    if (verb.provenance()) made.push_back("bigbird " + bigbird_version() + ": " + verb.command());
    write_text_atomic(request.html, turing_page(machine, request.word, plain, run, made));
  }
  outputs.commit();
  const Configuration& end = plain.configurations.back();
  print_fact("built", fmt::format("a decoder of {} steps for {} machine steps, {} edges", run.nodes.size(),
                                  times - 1, request.edges));
  print_fact("products", fmt::format("{} inner products, two a decoder step", run.products));
  print_fact("ends", fmt::format("{} {}, tape {}", plain.halts ? "halts in state" : "still runs in state",
                                 end.state, tape_text(plain.tapes.back())));
  if (request.trace) print_trace(plain, run, request.word);
  const auto nodes = static_cast<std::int64_t>(run.nodes.size());
  const auto ran = static_cast<std::int64_t>(run.configurations.size());
  checks.add(nodes == ran * (ran + 1) / 2 && run.products == 2 * nodes,
             "(t + 1)(t + 2) / 2 decoder steps for t machine steps, two products each");
  const std::int64_t at = first_difference(plain, run, request.word);
  checks.add(at < 0, fmt::format("state, symbol, cell and tape are the plain simulator's at all {} times{}",
                                 times, at < 0 ? "" : first_wrong(plain, run, static_cast<std::size_t>(at))));
}

void run_words(const TuringRequest& request, const TuringMachine& machine, Checks& checks) {
  const DecoderEdges edges = parse_name(edge_names, request.edges, "kind of edges");
  const std::vector<std::string> words = all_words(machine, request.all_words);
  std::int64_t times = 0, nodes = 0, right = 0;
  std::string wrong;
  for (const std::string& word : words) {
    const MachineRun plain = run_machine(machine, word, request.steps);
    const auto here = static_cast<std::int64_t>(plain.configurations.size());
    const DecoderRun run = decode_machine(machine, word, here, edges);
    times += here;
    nodes += static_cast<std::int64_t>(run.nodes.size());
    const std::int64_t at = first_difference(plain, run, word);
    right += at < 0 ? 1 : 0;
    if (at >= 0 && wrong.empty()) wrong = fmt::format("; the first that is not: {} at time {}", word, at);
  }
  print_fact("built",
             fmt::format("decoders of {} steps for {} words, {} edges", nodes, words.size(), request.edges));
  checks.add(right == static_cast<std::int64_t>(words.size()),
             fmt::format("{} of {} words are as the plain simulator has them, at {} times{}", right,
                         words.size(), times, wrong));
}

}  // namespace

int cmd_theory_turing(int argc, char** argv) {
  Verb verb("theory turing", "Run a Turing machine by sparse attention.",
            {"bigbird theory turing --machine increment --input 1011 --trace",
             "bigbird theory turing --machine palindrome --all-words 5",
             "bigbird theory turing --machine palindrome --input abba --html palindrome.html",
             "bigbird theory turing --machine busy-beaver-3 --show"});
  TuringRequest request;
  verb.add_option(
      "--machine NAME|FILE", request.machine,
      fmt::format("Machine that comes with the program ({}), or a file; of its lines one is `start "
                  "STATE`, one `halt STATE ...`, one `input LETTER ...` for the letters of words, and "
                  "the others transitions, `state symbol -> state symbol move`, with a move of L, R or "
                  "N; # is the blank, and a comment begins with ;",
                  fmt::join(machine_names(), ", ")));
  verb.add_option("--input WORD", request.word,
                  "Inputs of the machine, a word from cell 1 on; the head begins on cell 0");
  verb.add_option("--all-words N", request.all_words, "Longest of the words that are all tried");
  verb.add_option("--most-steps N", request.steps, "Steps of the machine at most");
  verb.add_option("--edges " + choices(edge_names), request.edges,
                  "Edges of compute nodes: to the node before, or to themselves, as the paper prints them");
  verb.add_flag("--trace", request.trace, "Print every step");
  verb.add_flag("--show", request.show, "Print the machine as a file, and stop");
  verb.add_option("--svg FILE", request.svg, "Picture of which node reads which");
  verb.add_option("--html FILE", request.html, "Page with that picture and every step");
  if (!verb.parse(argc, argv)) return 0;
  check(verb, request);

  const std::string shipped = machine_text(request.machine);
  const std::string text = shipped.empty() ? read_file(request.machine) : shipped;
  const TuringMachine machine = parse_machine(text, request.machine);
  if (request.show) {
    fmt::print("{}", text);
    return 0;
  }
  Checks checks;
  if (request.all_words > 0) {
    run_words(request, machine, checks);
  } else {
    run_one(verb, request, machine, checks);
  }
  checks.finish();
  return 0;
}

}  // namespace bigbird::apps
