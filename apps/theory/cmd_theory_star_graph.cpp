// `bigbird theory star-graph`: every input of a small size through the layers of the universality proof.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/theory/checks.h"
#include "kernels/backend.h"
#include "lib/theory/contextual_mapping.h"
#include "lib/theory/mapping_attention.h"
#include "lib/theory/small_worlds.h"

namespace bigbird::apps {
namespace {

struct StarRequest {
  MappingSize size;
  std::string attention;
  bool without_centre = false, lists = false;
  double random_edges = 0;
  std::int64_t draws = 20;
};

// Tables are checked up to so many ids: 2^8 of them.
constexpr std::int64_t most_table_ids = 8;
constexpr std::array<double, 4> softmax_scales{1, 10, 100, 1000};

void check(const Verb& verb, const StarRequest& request) {
  const MappingSize& size = request.size;
  if (size.tokens < 2 || size.width < 1 || size.grid < 2)
    throw_usage("--tokens and --grid must be at least 2, --width at least 1");
  if (request.without_centre && !request.attention.empty())
    throw_usage("--without-centre with --attention, which has a graph of its own", "leave one of them out");
  if (request.random_edges < 0 || request.random_edges > 1) throw_usage("--random-edges must be from 0 to 1");
  if (request.draws < 1) throw_usage("--draws must be at least 1");
  if (verb.given("--draws") && request.random_edges <= 0)
    throw_usage("--draws without random edges", "give them with --random-edges 0.5");
  size.inputs();  // which refuses what is too large
}

GraphRows graph_of(const StarRequest& request) {
  if (request.without_centre) return graph_without_centre(request.size.tokens);
  if (request.attention.empty()) return star_graph(request.size.tokens);
  const AttentionPattern pattern = parse_attention_pattern(request.attention);
  for (const PlanAsGraph& plan : all_plans(request.size.tokens + 1, 1)) {
    if (plan.name == name_of(pattern) &&
        plan.rows.size() == static_cast<std::size_t>(request.size.tokens + 1))
      return plan.rows;
  }
  throw_usage(
      fmt::format("--attention {} has no plan of {} nodes", request.attention, request.size.tokens + 1),
      "give another one, such as --attention bigbird");
}

void print_lists(const ContextualMapping& mapping) {
  fmt::print("\n#input\tids\n");
  for (std::size_t input = 0; input < mapping.columns.size(); ++input) {
    std::vector<std::string> tokens, ids;
    for (const auto& digits : mapping_digits(mapping.size, static_cast<std::int64_t>(input)))
      tokens.push_back(fmt::format("{}/{}", fmt::join(digits, ","), mapping.size.grid));
    for (const Natural id : mapping.columns[input]) ids.push_back(steps_text(id, mapping.size.grid));
    fmt::print("{}\t{}\n", fmt::join(tokens, " "), fmt::join(ids, " "));
  }
}

// The plan of ids in fp32, by the program's own attention.
void check_attention_ids(const ContextualMapping& mapping, Checks& checks) {
  const int bits = bits_of(mapping.greatest());
  const auto backend = kernels::make_cpu_backend();
  const std::int64_t right = ids_by_attention(mapping, *backend);
  const std::string what =
      fmt::format("attention in fp32 gives {} of {} ids, of up to {} bits", right, mapping.ids(), bits);
  if (bits <= fp32_bits) {
    checks.add(right == mapping.ids(), what);
  } else {
    print_fact("fp32", fmt::format("{}; it holds {}", what, fp32_bits));
  }
}

void check_mapping(const ContextualMapping& mapping, Checks& checks) {
  checks.add(mapping.collisions() == 0,
             fmt::format("{} ids of {} inputs are distinct: {} collide", mapping.ids(), mapping.size.inputs(),
                         mapping.collisions()));
  checks.add(mapping.strays == 0,
             fmt::format("each layer moves the column that it is for: {} others moved", mapping.strays));
  if (mapping.ids() <= most_table_ids) {
    const TableCheck tables = check_tables(mapping);
    checks.add(tables.right == tables.tables,
               fmt::format("{} feed-forward layers compute {} of {} tables of 0 and 1", mapping.ids(),
                           tables.right, tables.tables));
  }
  double error = 0;
  std::string errors;
  for (const double t : softmax_scales) {
    error = softmax_error(mapping, t);
    errors += fmt::format("{}{:.2g} at {:.0f}", errors.empty() ? "" : ", ", error, t);
  }
  const std::string soft = "softmax of scores times t in place of hardmax, largest error of an id: " + errors;
  if (bits_of(mapping.greatest()) <= double_bits) {
    checks.add(error < 1e-6, soft);
  } else {
    print_fact("fp64", fmt::format("{}; it holds {} bits", soft, double_bits));
  }
  check_attention_ids(mapping, checks);
}

void check_random_edges(const StarRequest& request, const GraphRows& graph, std::uint64_t seed,
                        Checks& checks) {
  std::int64_t collisions = 0, ids = 0;
  for (std::int64_t draw = 0; draw < request.draws; ++draw) {
    const ContextualMapping mapping = contextual_mapping(
        request.size, with_random_edges(graph, request.random_edges, seed, static_cast<std::uint64_t>(draw)));
    collisions += mapping.collisions();
    ids += mapping.ids();
  }
  const std::string what =
      fmt::format("with random edges, {} graphs: {} of {} ids collide", request.draws, collisions, ids);
  if (contains_star(graph)) {
    checks.add(collisions == 0, what);
  } else {
    print_fact("found", what);
  }
}

}  // namespace

int cmd_theory_star_graph(int argc, char** argv) {
  Verb verb("theory star-graph", "Distinguish small inputs by star attention.",
            {"bigbird theory star-graph --tokens 3 --width 2", "bigbird theory star-graph --tokens 2 --lists",
             "bigbird theory star-graph --without-centre",
             "bigbird theory star-graph --attention bigbird --random-edges 0.5"});
  StarRequest request;
  verb.add_option("--tokens N", request.size.tokens, "Tokens of an input, without the centre");
  verb.add_option("--width N", request.size.width, "Width of a token, in coordinates");
  verb.add_option("--grid N", request.size.grid, "Values that a coordinate can have");
  verb.add_option("--attention NAME", request.attention,
                  "Attention whose first head is the graph, in blocks of one token with the centre first "
                  "(default: the star)");
  verb.add_flag("--without-centre", request.without_centre, "Take the centre away: tokens see themselves");
  verb.add_option("--random-edges P", request.random_edges,
                  "Probability of an edge between two tokens that do not meet, in further graphs");
  verb.add_option("--draws N", request.draws, "Graphs with random edges");
  verb.add_flag("--lists", request.lists, "Print the ids of every input");
  verb.add_seed();
  if (!verb.parse(argc, argv)) return 0;
  check(verb, request);

  const GraphRows graph = graph_of(request);
  const bool star = contains_star(graph);
  const ContextualMapping mapping = contextual_mapping(request.size, graph);
  Checks checks;
  print_fact("built", fmt::format("{} layers of two heads, over {} nodes {}", mapping.layers.size(),
                                  graph.size(), star ? "with a star" : "without a star"));
  print_fact("inputs",
             fmt::format("{}: {} tokens of width {} over {} values, all that there are",
                         mapping.size.inputs(), mapping.size.tokens, mapping.size.width, mapping.size.grid));
  print_fact("ids", fmt::format("{}, the greatest {}", mapping.ids(),
                                steps_text(mapping.greatest(), mapping.size.grid)));
  if (star) {
    check_mapping(mapping, checks);
  } else {
    print_fact("found", fmt::format("{} of {} ids collide; the proof needs a star", mapping.collisions(),
                                    mapping.ids()));
  }
  if (request.random_edges > 0) check_random_edges(request, graph, verb.seed(), checks);
  if (request.lists) print_lists(mapping);
  checks.finish();
  return 0;
}

}  // namespace bigbird::apps
