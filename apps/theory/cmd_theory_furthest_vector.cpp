// `bigbird theory furthest-vector`: the task that one full layer solves and sparse layers need many for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/theory/checks.h"
#include "lib/io/files/file.h"
#include "lib/report/theory_pictures.h"
#include "lib/theory/furthest_vector.h"
#include "lib/theory/small_worlds.h"

namespace bigbird::apps {
namespace {

struct FurthestRequest {
  std::int64_t tokens = 64, instances = 20;
  std::vector<std::int64_t> windows{1, 3, 8};
  std::string attention, svg;
  std::uint64_t seed = 1;
};

constexpr std::int64_t most_vectors = 512, most_instances = 1000;
constexpr std::array<double, 3> furthest_scales{10, 100, 1000};

void check(const FurthestRequest& request) {
  if (request.tokens < 8 || request.tokens > most_vectors)
    throw_usage(fmt::format("--tokens must be from 8 to {}", most_vectors));
  if (request.instances < 1 || request.instances > most_instances)
    throw_usage(fmt::format("--instances must be from 1 to {}", most_instances));
  for (const std::int64_t window : request.windows) {
    if (window < 1 || window >= request.tokens)
      throw_usage(
          fmt::format("--windows {}: a window has at least 1 token, and fewer than --tokens", window));
  }
}

// Instances are numbered over all sizes.
VectorSet instance(const FurthestRequest& request, std::int64_t tokens, std::int64_t number) {
  return unit_vectors(tokens, vector_width(tokens), request.seed,
                      static_cast<std::uint64_t>(tokens * most_instances + number));
}

void check_full(const FurthestRequest& request, Checks& checks) {
  double exact = 0;
  for (std::int64_t i = 0; i < request.instances; ++i)
    exact += full_layer(instance(request, request.tokens, i), 0).exact;
  checks.add(exact == static_cast<double>(request.instances),
             fmt::format("one full layer gives every token of {} instances of {} vectors its furthest one",
                         request.instances, request.tokens));
  for (const double beta : furthest_scales) {
    const FullLayer soft = full_layer(instance(request, request.tokens, 0), beta);
    print_fact("softmax",
               fmt::format("scores times {:.0f}: {:.1f} % are nearest to their furthest vector, rms {:.3f}",
                           beta, 100 * soft.nearest, soft.rms));
  }
  // Half of these sets have such a pair, about.
  std::int64_t right = 0, pairs = 0;
  for (std::int64_t i = 0; i < request.instances; ++i) {
    const VectorSet set = binary_vectors(16, 16, 0.5, request.seed, static_cast<std::uint64_t>(i));
    bool is = false;
    for (std::int64_t a = 0; a < set.count; ++a) {
      for (std::int64_t b = 0; b < set.count; ++b) is = is || set.product(a, b) == 0;
    }
    right += finds_orthogonal_pair(set) == is ? 1 : 0;
    pairs += is ? 1 : 0;
  }
  checks.add(
      right == request.instances,
      fmt::format("it finds an orthogonal pair of 0/1 vectors where there is one: {} of {} sets, {} with one",
                  right, request.instances, pairs));
}

std::vector<WindowLayers> check_sparse(const FurthestRequest& request, Checks& checks) {
  std::vector<WindowLayers> of_the_largest;
  std::int64_t exact = 0, exact_at_half = 0, all = 0;
  fmt::print("\n#tokens\twindow\tlayers_needed\tfirst_exact\tright_at_half\tproducts\n");
  for (std::int64_t tokens = 8;; tokens = std::min(2 * tokens, request.tokens)) {
    for (const std::int64_t window : request.windows) {
      if (window >= tokens) continue;
      const std::int64_t needed = layers_needed(tokens, window);
      std::int64_t latest = 0;
      double half = 0;
      WindowLayers first;
      for (std::int64_t i = 0; i < request.instances; ++i, ++all) {
        SparseLayers layers = sparse_layers(instance(request, tokens, i), window, needed);
        exact += layers.right.back() == 1.0 ? 1 : 0;
        const double right = needed < 2 ? 0 : layers.right[static_cast<std::size_t>(needed / 2 - 1)];
        exact_at_half += right == 1.0 ? 1 : 0;
        half += right / static_cast<double>(request.instances);
        latest = std::max(latest, layers.first_exact());
        if (i == 0) first = {window, std::move(layers)};
      }
      fmt::print("{}\t{}\t{}\t{}\t{:.3f}\t{}\n", tokens, window, needed, latest, half,
                 needed * first.layers.products_a_layer);
      if (tokens == request.tokens) of_the_largest.push_back(std::move(first));
    }
    if (tokens == request.tokens) break;
  }
  fmt::print("\n");
  checks.add(exact == all,
             fmt::format("ceil((n - 1) / w) sparse layers are exact: {} of {} instances", exact, all));
  checks.add(exact_at_half == 0, fmt::format("half as many are not: {} of {} are exact", exact_at_half, all));
  return of_the_largest;
}

void print_plan(const FurthestRequest& request) {
  const AttentionFacts facts = facts_of_plan(parse_attention_pattern(request.attention), request.tokens, 1);
  const std::string after = facts.layers == 0 ? "never" : fmt::format("after layer {}", facts.layers);
  print_fact("plan", fmt::format("{}, {} tokens in blocks of one: all can have met {}{}", request.attention,
                                 request.tokens, after,
                                 facts.full_reason.empty() ? "" : "; full for " + facts.full_reason));
}

}  // namespace

int cmd_theory_furthest_vector(int argc, char** argv) {
  Verb verb("theory furthest-vector", "Find furthest vectors by full and sparse attention.",
            {"bigbird theory furthest-vector", "bigbird theory furthest-vector --tokens 128 --windows 1,4,16",
             "bigbird theory furthest-vector --tokens 32 --attention star --svg furthest.svg"});
  FurthestRequest request;
  verb.add_count("--tokens N", request.tokens,
                 "Tokens of the largest instances, a vector each; others have 8, 16 ...");
  verb.add_option("--windows W,...", request.windows, "Tokens that a token sees in a sparse layer")
      ->delimiter(',');
  verb.add_count("--instances N", request.instances, "Sets of vectors of each size");
  verb.add_option("--attention NAME", request.attention,
                  "Attention of which to print the layers until all tokens can have met");
  verb.add_option("--svg FILE", request.svg, "Picture of the fraction that is right, by layers");
  verb.add_seed();
  if (!verb.parse(argc, argv)) return 0;
  check(request);
  request.seed = verb.seed();

  Checks checks;
  print_fact("built", fmt::format("{} sets of unit vectors of each size up to {}, the largest of width {}",
                                  request.instances, request.tokens, vector_width(request.tokens)));
  check_full(request, checks);
  const std::vector<WindowLayers> windows = check_sparse(request, checks);
  print_fact("note",
             "fewer layers by other means are not ruled out: that is a conjecture of the paper's proof");
  if (!request.attention.empty()) print_plan(request);
  if (!request.svg.empty()) write_text_atomic(request.svg, furthest_vector_svg(request.tokens, windows));
  checks.finish();
  return 0;
}

}  // namespace bigbird::apps
