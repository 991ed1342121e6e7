// Routed attention against KmeansAttention of the package routing-transformer 1.6.1
// (tests/peers/make_routing.py), whose centroids are handed over: the reference in double, and the kernels
// that models compute with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/weights/safetensors.h"
#include "reference/routed_attention.h"
#include "tests/golden/package_numbers.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

struct RoutingCase {
  std::size_t tokens = 0, clusters = 0, window = 0;
  std::vector<float> q, k, v, centroids, weights;
};

class RoutingGolden : public ::testing::Test {
 protected:
  int cases() const { return std::stoi(golden_.metadata().at("cases")); }
  std::size_t heads() const { return std::stoul(golden_.metadata().at("heads")); }
  std::vector<float> floats(int number, const char* name) const {
    return golden_.floats(std::to_string(number) + "." + name);
  }
  RoutingCase at(int number) const {
    RoutingCase of;
    std::istringstream(golden_.metadata().at(std::to_string(number) + ".case")) >> of.tokens >> of.clusters >>
        of.window;
    of.q = floats(number, "q");
    of.k = floats(number, "k");
    of.v = floats(number, "v");
    of.centroids = floats(number, "centroids");
    of.weights = floats(number, "weights");
    return of;
  }

  const SafetensorsFile golden_{(source_dir() / "tests/golden/neighbours/routing.safetensors").string()};
};

TEST_F(RoutingGolden, T1TheReferenceIsKmeansAttention) {
  for (int number = 0; number < cases(); ++number) {
    const RoutingCase of = at(number);
    SCOPED_TRACE(number);
    const std::size_t width = of.q.size() / of.tokens, size = width / heads();
    reference::Matrix out(of.tokens, width), dq(of.tokens, width), dk(of.tokens, width), dv(of.tokens, width);
    for (std::size_t head = 0; head < heads(); ++head) {
      const auto part = [&](const std::vector<float>& values) {
        return rows_of(reference::Matrix(of.tokens, width, {values.begin(), values.end()}), 0, of.tokens,
                       head * size, size);
      };
      const auto begin = of.centroids.begin() + static_cast<std::ptrdiff_t>(head * of.clusters * size);
      const reference::Matrix centroids(
          of.clusters, size,
          reference::Vector(begin, begin + static_cast<std::ptrdiff_t>(of.clusters * size)));
      const reference::Matrix q = part(of.q), k = part(of.k), v = part(of.v);
      const reference::RoutedAttention attention{cluster_members(routed_rows(q), centroids, of.window),
                                                 cluster_members(routed_rows(k), centroids, of.window),
                                                 false};
      add_rows(out, routed_attention_forward(attention, q, k, v), 0, head * size);
      const auto gradients = routed_attention_backward(attention, q, k, v, part(of.weights));
      add_rows(dq, gradients.query, 0, head * size);
      add_rows(dk, gradients.key, 0, head * size);
      add_rows(dv, gradients.value, 0, head * size);
    }
    expect_output(out.values, floats(number, "out"));
    expect_gradient(dq.values, floats(number, "dq"), "q");
    expect_gradient(dk.values, floats(number, "dk"), "k");
    expect_gradient(dv.values, floats(number, "dv"), "v");
  }
}

TEST_F(RoutingGolden, T1TheKernelsAreKmeansAttention) {
  using kernels::Index;
  const auto backend = kernels::make_cpu_backend();
  for (int number = 0; number < cases(); ++number) {
    const RoutingCase of = at(number);
    SCOPED_TRACE(number);
    const auto tokens = static_cast<Index>(of.tokens), width = static_cast<Index>(of.q.size() / of.tokens);
    kernels::RoutingBatch batch;
    batch.sequences = 1;
    batch.heads = static_cast<Index>(heads());
    batch.head_size = width / batch.heads;
    batch.clusters = static_cast<Index>(of.clusters);
    batch.window = static_cast<Index>(of.window);
    const std::vector<Index> offsets = {0, tokens}, lengths = {tokens},
                             places = {0, batch.clusters * std::min(batch.window, tokens)};
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.place_offsets = places.data();
    const auto all = static_cast<std::size_t>(batch.heads * batch.places());
    std::vector<std::int32_t> queries(all), keys(all);
    const kernels::QueryKeyValue inputs{{of.q.data(), width}, {of.k.data(), width}, {of.v.data(), width}};
    backend->route_tokens(batch, of.centroids.data(), inputs.q, {queries.data(), nullptr, nullptr});
    backend->route_tokens(batch, of.centroids.data(), inputs.k, {keys.data(), nullptr, nullptr});
    std::vector<float> out(of.q.size()), sums(all), dq(of.q.size()), dk(of.q.size()), dv(of.q.size());
    const kernels::RoutedPair order{queries.data(), keys.data()};
    backend->routed_attention_forward(batch, order, inputs, {out.data(), width}, sums.data());
    backend->routed_attention_backward(batch, order, inputs, sums.data(), {of.weights.data(), width},
                                       {{dq.data(), width}, {dk.data(), width}, {dv.data(), width}});
    expect_output(out, floats(number, "out"));
    expect_gradient(dq, floats(number, "dq"), "q");
    expect_gradient(dk, floats(number, "dk"), "k");
    expect_gradient(dv, floats(number, "dv"), "v");
  }
}

}  // namespace
}  // namespace bigbird
