// See contextual_mapping.h.
#include "lib/theory/contextual_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/core/error.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr Natural most_natural = Natural{1} << 120;

Natural checked(Natural number) {
  if (number < most_natural) return number;
  throw_usage("the ids of this size have more than 120 bits", "give fewer tokens, a smaller width or grid");
}

Natural product_of(Natural a, Natural b) {
  return b == 0 || a < most_natural / b ? a * b : checked(most_natural);
}

Natural power_of(std::int64_t base, std::int64_t exponent) {
  Natural result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) result = product_of(result, static_cast<Natural>(base));
  return result;
}

std::size_t place(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

bool selects(const SelectiveShift& shift, Natural f) {
  return shift.low <= 2 * f && 2 * f <= shift.high;
}

// The range of column k's inputs, of the centre or of all tokens as they are now.
void take_range(const std::vector<std::vector<Natural>>& states, std::size_t first, std::size_t end,
                SelectiveShift& shift) {
  Natural least = states[0][first], most = least;
  for (const std::vector<Natural>& state : states) {
    for (std::size_t node = first; node < end; ++node) {
      least = std::min(least, state[node]);
      most = std::max(most, state[node]);
    }
  }
  shift.low = least == 0 ? 0 : 2 * least - 1;
  shift.high = 2 * most + 1;
}

// All nodes at once; the number of nodes that moved and were not meant.
std::int64_t apply_shift(const SelectiveShift& shift, const GraphRows& graph, std::vector<Natural>& state) {
  std::vector<Natural> moved = state;
  std::int64_t strays = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!selects(shift, state[i])) continue;
    Natural least = most_natural, most = 0;
    for (const std::int32_t j : graph[i]) {
      least = std::min(least, state[static_cast<std::size_t>(j)]);
      most = std::max(most, state[static_cast<std::size_t>(j)]);
    }
    if (shift.column >= 0 && place(shift.column) != i) ++strays;
    if (most > least) moved[i] = checked(state[i] + product_of(shift.factor, most - least));
  }
  state = std::move(moved);
  return strays;
}

// Attention with softmax of t (f_i - b) f_j, less the greatest score.
double attended(const std::vector<double>& state, const std::vector<std::int32_t>& keys, double query) {
  double greatest = -INFINITY, sum = 0, weighted = 0;
  for (const std::int32_t j : keys) greatest = std::max(greatest, query * state[static_cast<std::size_t>(j)]);
  for (const std::int32_t j : keys) {
    const double value = state[static_cast<std::size_t>(j)];
    const double weight = std::exp(query * value - greatest);
    sum += weight;
    weighted += weight * value;
  }
  return weighted / sum;
}

}  // namespace

std::string natural_text(Natural number) {
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
    number /= 10;
  } while (number > 0);
  return text;
}

std::string steps_text(Natural steps, std::int64_t grid) {
  const auto parts = static_cast<Natural>(grid);
  const std::string whole = natural_text(steps / parts), rest = natural_text(steps % parts);
  if (steps % parts == 0) return whole;
  return grid == 2 ? whole + ".5" : fmt::format("{} {}/{}", whole, rest, grid);
}

int bits_of(Natural number) {
  int bits = 0;
  for (; number > 0; number >>= 1) ++bits;
  return bits;
}

GraphRows star_graph(std::int64_t tokens) {
  GraphRows graph(place(tokens + 1));
  for (std::int32_t i = 1; i <= tokens; ++i) {
    graph[0].push_back(i);
    graph[place(i)] = {0, i};
  }
  return graph;
}

GraphRows graph_without_centre(std::int64_t tokens) {
  GraphRows graph;
  for (std::int32_t i = 0; i <= tokens; ++i) graph.push_back({i});
  return graph;
}

GraphRows with_random_edges(GraphRows graph, double probability, std::uint64_t seed, std::uint64_t draw) {
  CounterRng random(seed, Purpose::theory_edges, draw);
  for (std::size_t i = 1; i < graph.size(); ++i) {
    for (std::size_t j = 1; j < graph.size(); ++j) {
      const auto key = static_cast<std::int32_t>(j);
      if (std::find(graph[i].begin(), graph[i].end(), key) != graph[i].end()) continue;
      if (random.uniform() < probability) graph[i].push_back(key);
    }
  }
  return graph;
}

bool contains_star(const GraphRows& graph) {
  const auto sees = [&](std::size_t i, std::size_t j) {
    return std::find(graph[i].begin(), graph[i].end(), static_cast<std::int32_t>(j)) != graph[i].end();
  };
  for (std::size_t i = 1; i < graph.size(); ++i) {
    if (!sees(0, i) || !sees(i, 0) || !sees(i, i)) return false;
  }
  return true;
}

std::int64_t MappingSize::inputs() const {
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < tokens && count <= most_mapping_inputs; ++i) {
    for (std::int64_t k = 0; k < width && count <= most_mapping_inputs; ++k)
      count = grid > most_mapping_inputs ? grid : count * grid;
  }
  if (count <= most_mapping_inputs) return count;
  throw_usage(fmt::format("{} tokens of width {} over {} values are more than {} inputs", tokens, width, grid,
                          most_mapping_inputs),
              "every input is tried: give fewer tokens, a smaller width or grid");
}

std::int64_t ContextualMapping::collisions() const {
  std::vector<Natural> all;
  for (const std::vector<Natural>& of_input : columns)
    all.insert(all.end(), of_input.begin(), of_input.end());
  std::sort(all.begin(), all.end());
  return ids() - static_cast<std::int64_t>(std::unique(all.begin(), all.end()) - all.begin());
}

Natural ContextualMapping::greatest() const {
  Natural most = 0;
  for (const std::vector<Natural>& of_input : columns)
    most = std::max(most, *std::max_element(of_input.begin(), of_input.end()));
  return most;
}

std::vector<std::vector<std::int64_t>> mapping_digits(const MappingSize& size, std::int64_t number) {
  std::vector<std::vector<std::int64_t>> digits(place(size.tokens),
                                                std::vector<std::int64_t>(place(size.width), 0));
  for (std::int64_t i = size.tokens; i-- > 0;) {
    for (std::int64_t k = size.width; k-- > 0; number /= size.grid)
      digits[place(i)][place(k)] = number % size.grid;
  }
  return digits;
}

std::vector<Natural> mapping_input(const MappingSize& size, std::int64_t number) {
  // u is 1, grid, grid^2 .. and, at the centre's own coordinate, grid^(n d).
  std::vector<Natural> state{power_of(size.grid, size.tokens * size.width + 1)};
  const std::vector<std::vector<std::int64_t>> digits = mapping_digits(size, number);
  for (std::int64_t i = 1; i <= size.tokens; ++i) {
    // Positions: each column's values lie above those of the one before.
    const Natural position = i == 1 ? 0 : power_of(size.grid, (i - 1) * size.width + 1);
    Natural f = 0;
    for (std::int64_t k = 0; k < size.width; ++k) {
      const auto digit = static_cast<Natural>(digits[place(i - 1)][place(k)]);
      f += product_of(digit + position, power_of(size.grid, k));
    }
    state.push_back(f);
  }
  return state;
}

ContextualMapping contextual_mapping(const MappingSize& size, const GraphRows& graph, bool last_layer) {
  ContextualMapping mapping{size, graph, {}, {}, {}, 0};
  for (std::int64_t number = 0; number < size.inputs(); ++number)
    mapping.inputs.push_back(mapping_input(size, number));
  std::vector<std::vector<Natural>> states = mapping.inputs;
  const auto run = [&](SelectiveShift shift) {
    if (shift.column <= 0) {
      const bool centre = shift.column == 0;
      take_range(states, centre ? 0 : 1, centre ? 1 : states[0].size(), shift);
    }
    mapping.layers.push_back(shift);
    for (std::vector<Natural>& state : states) mapping.strays += apply_shift(shift, graph, state);
  };
  const std::int64_t n = size.tokens, d = size.width;
  for (std::int64_t k = 1; k <= n; ++k) {
    const Natural first = k == 1 ? 0 : power_of(size.grid, (k - 1) * d + 1);
    const Natural end = power_of(size.grid, k * d + 1);
    // Half a step below the first value; below 0 there is nothing.
    run({k == 1 ? 0 : 2 * first - 1, 2 * end - 1, power_of(size.grid, d), k});
    run({0, 0, power_of(size.grid, n * d), 0});
  }
  if (last_layer) run({0, 0, power_of(size.grid, n * n * d), -1});
  for (const std::vector<Natural>& state : states)
    mapping.columns.emplace_back(state.begin() + 1, state.end());
  return mapping;
}

TableCheck check_tables(const ContextualMapping& mapping) {
  std::vector<Natural> ids;
  for (const std::vector<Natural>& of_input : mapping.columns)
    ids.insert(ids.end(), of_input.begin(), of_input.end());
  TableCheck check;
  check.tables = std::int64_t{1} << ids.size();
  for (std::int64_t table = 0; table < check.tables; ++table) {
    bool right = true;
    for (std::size_t at = 0; at < ids.size(); ++at) {
      Natural value = ids[at];
      // A layer for each id: what lies within half a step of it becomes the output, 0 or 1.
      for (std::size_t layer = 0; layer < ids.size(); ++layer) {
        if (2 * value + 1 > 2 * ids[layer] && 2 * value < 2 * ids[layer] + 1)
          value = static_cast<Natural>(table >> layer & 1);
      }
      right = right && value == static_cast<Natural>(table >> at & 1);
    }
    check.right += right ? 1 : 0;
  }
  return check;
}

double softmax_error(const ContextualMapping& mapping, double t) {
  double largest = 0;
  for (std::size_t input = 0; input < mapping.inputs.size(); ++input) {
    std::vector<double> state;
    for (const Natural f : mapping.inputs[input]) state.push_back(static_cast<double>(f));
    for (const SelectiveShift& shift : mapping.layers) {
      std::vector<double> moved = state;
      for (std::size_t i = 0; i < state.size(); ++i) {
        const auto head = [&](double half_steps) {
          return attended(state, mapping.graph[i], t * (state[i] - half_steps / 2));
        };
        const double low = shift.low == 0 ? -1 : static_cast<double>(shift.low);
        moved[i] += static_cast<double>(shift.factor) * (head(low) - head(static_cast<double>(shift.high)));
      }
      state = std::move(moved);
    }
    for (std::size_t i = 1; i < state.size(); ++i) {
      const double id = static_cast<double>(mapping.columns[input][i - 1]);
      largest = std::max(largest, std::abs(state[i] - id) / id);
    }
  }
  return largest;
}

}  // namespace bigbird
