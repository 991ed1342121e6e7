// Speed of the CPU backend's operations at the shapes of the base-size model (4096 tokens, 12 heads of 64,
// F = 3072, blocks of 64, 8 key blocks for a middle row), products beside oneDNN's plain GEMM.
//
//   bench_kernels [threads]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/cpu_options.h"
#include "kernels/parallel.h"
#if defined(BIGBIRD_HAVE_ONEDNN)
#include <dnnl.h>
#endif

namespace {

using bigbird::kernels::Index;

constexpr Index tokens = 4096;
constexpr Index width = 768;
constexpr Index inner = 3072;
constexpr Index heads = 12;
constexpr Index head_size = 64;
constexpr Index block = 64;
constexpr Index blocks = tokens / block;
constexpr Index vocabulary = 32000;
constexpr Index masked = 614;  // 15 % of the tokens

// Seconds of the fastest of five runs, after one that warms up.
template <typename Body>
double fastest(const Body& body) {
  body();
  double best = 1e30;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Memory of the backend, as the model uses it.
class Buffer {
 public:
  Buffer(bigbird::kernels::Backend& backend, Index count, float scale = 1.0f)
      : backend_(backend),
        data_(static_cast<float*>(backend.allocate(static_cast<std::size_t>(count) * sizeof(float)))) {
    std::mt19937 generator(7);
    for (Index i = 0; i < count; ++i)
      data_[i] = (static_cast<float>(generator() % 2001u) / 1000.0f - 1.0f) * scale;
  }
  ~Buffer() { backend_.release(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* data() const { return data_; }

 private:
  bigbird::kernels::Backend& backend_;
  float* data_;
};

void print(const std::string& name, double seconds, double flops, double bytes = 0.0) {
  std::printf("  %-34s %9.2f ms", name.c_str(), seconds * 1e3);
  if (flops > 0.0) std::printf("  %7.1f GFLOP/s", flops / seconds * 1e-9);
  if (bytes > 0.0) std::printf("  %7.1f GB/s", bytes / seconds * 1e-9);
  std::printf("\n");
}

// BigBird-ITC with three random blocks in every middle row.
struct Plan {
  std::vector<std::int32_t> row_offsets{0};
  std::vector<std::int32_t> key_blocks;
  bigbird::kernels::BlockPlanView view;

  Plan() {
    std::mt19937 generator(3);
    for (Index head = 0; head < heads; ++head) {
      for (Index row = 0; row < blocks; ++row) {
        if (row == 0 || row == blocks - 1) {
          for (Index key = 0; key < blocks; ++key) key_blocks.push_back(static_cast<std::int32_t>(key));
        } else {
          std::vector<Index> keys{0, blocks - 1, row};
          if (row > 1) keys.push_back(row - 1);
          if (row < blocks - 2) keys.push_back(row + 1);
          for (int random = 0; random < 3; ++random)
            keys.push_back(1 + static_cast<Index>(generator() % 15u));
          for (const Index key : keys) key_blocks.push_back(static_cast<std::int32_t>(key));
        }
        row_offsets.push_back(static_cast<std::int32_t>(key_blocks.size()));
      }
    }
    view.heads = heads;
    view.blocks = blocks;
    view.key_count = blocks;
    view.row_offsets = row_offsets.data();
    view.key_blocks = key_blocks.data();
  }
};

// A layer's forward pass with its weight packed once, as models run: in the form's own precision.
void bench_packed(bigbird::kernels::Backend& backend, bigbird::kernels::WeightForm form, const char* name,
                  Index n, Index k) {
  const Buffer x(backend, tokens * k), w(backend, n * k), bias(backend, n), y(backend, tokens * n);
  const bigbird::kernels::Linear layer{w.data(), bias.data(), k, n};
  const std::size_t bytes = backend.packed_weight_bytes(layer, form);
  if (bytes == 0) return;
  void* const packed = backend.allocate(bytes);
  backend.pack_weight(layer, form, packed);
  backend.bind_packed_weight(layer, form, packed);
  print(std::string("linear_forward ") + name + " " + std::to_string(n) + " x " + std::to_string(k),
        fastest([&] { backend.linear_forward(x.data(), layer, y.data(), tokens); }),
        2.0 * static_cast<double>(tokens) * static_cast<double>(n) * static_cast<double>(k));
  backend.unbind_packed_weight(layer.weight);
  backend.release(packed);
}

void bench_linear(bigbird::kernels::Backend& backend, Index n, Index k) {
  const Buffer x(backend, tokens * k), w(backend, n * k), bias(backend, n);
  const Buffer y(backend, tokens * n), dw(backend, n * k), dx(backend, tokens * k), dbias(backend, n);
  const double flops = 2.0 * static_cast<double>(tokens) * static_cast<double>(n) * static_cast<double>(k);
  const std::string shape = " " + std::to_string(n) + " x " + std::to_string(k);
  const bigbird::kernels::Linear layer{w.data(), bias.data(), k, n};
  print("linear_forward" + shape, fastest([&] { backend.linear_forward(x.data(), layer, y.data(), tokens); }),
        flops);
  print("linear_backward_input" + shape,
        fastest([&] { backend.linear_backward_input(y.data(), layer, dx.data(), tokens, false); }), flops);
  print("linear_backward_weight" + shape, fastest([&] {
          backend.linear_backward_weight(y.data(), x.data(), layer, {dw.data(), dbias.data()}, tokens);
        }),
        flops);
#if defined(BIGBIRD_HAVE_ONEDNN)
  print("  oneDNN's product alone" + shape, fastest([&] {
          dnnl_sgemm('N', 'T', tokens, n, k, 1.0f, x.data(), k, w.data(), k, 0.0f, y.data(), n);
        }),
        flops);
#endif
}

void bench_attention(bigbird::kernels::Backend& backend) {
  const Plan plan;
  const bigbird::kernels::BlockPlanView* const views[] = {&plan.view};
  const Index offsets[] = {0, tokens};
  const Index lengths[] = {tokens};
  bigbird::kernels::AttentionBatch batch;
  batch.sequences = 1;
  batch.heads = heads;
  batch.head_size = head_size;
  batch.block_size = block;
  batch.token_offsets = offsets;
  batch.lengths = lengths;
  batch.plans = views;
  batch.scale = 0.125f;
  const Buffer qkv(backend, tokens * 3 * width), dout(backend, tokens * width), out(backend, tokens * width);
  const Buffer gradients(backend, tokens * 3 * width), log_sum_exp(backend, heads * tokens);
  const Index stride = 3 * width;
  const bigbird::kernels::QueryKeyValue inputs{
      {qkv.data(), stride}, {qkv.data() + width, stride}, {qkv.data() + 2 * width, stride}};
  const double product = 2.0 * static_cast<double>(plan.key_blocks.size()) * block * block * head_size;
  print("attention_forward", fastest([&] {
          backend.attention_forward(batch, inputs, {out.data(), width}, log_sum_exp.data());
        }),
        2.0 * product);
  print("attention_backward", fastest([&] {
          backend.attention_backward(batch, inputs, {out.data(), width}, log_sum_exp.data(),
                                     {dout.data(), width},
                                     {{gradients.data(), stride},
                                      {gradients.data() + width, stride},
                                      {gradients.data() + 2 * width, stride}});
        }),
        5.0 * product);
}

// Every query block lists the key blocks within `reach` of its own, or, over keys of other rows, all of them.
struct GroupPlan {
  std::vector<std::int32_t> row_offsets{0}, key_blocks, column_offsets{0}, query_blocks;
  bigbird::kernels::BlockPlanView view;

  GroupPlan(std::uint64_t identity, Index queries, Index keys, Index reach, bool other_rows) {
    const auto listed = [&](Index query, Index key) {
      return other_rows || (key >= query - reach && key <= query + reach);
    };
    const auto list = [&](Index own, Index others, auto& offsets, auto& numbers, const auto& names) {
      for (Index head = 0; head < heads; ++head) {
        for (Index i = 0; i < own; ++i) {
          for (Index j = 0; j < others; ++j) {
            if (names(i, j)) numbers.push_back(static_cast<std::int32_t>(j));
          }
          offsets.push_back(static_cast<std::int32_t>(numbers.size()));
        }
      }
    };
    list(queries, keys, row_offsets, key_blocks, listed);
    list(keys, queries, column_offsets, query_blocks,
         [&](Index key, Index query) { return listed(query, key); });
    view = {identity,
            heads,
            queries,
            row_offsets.data(),
            key_blocks.data(),
            column_offsets.data(),
            query_blocks.data(),
            other_rows ? keys : 0};
  }
};

// Attention of ETC (Ainslie et al. 2020) at 4,096 tokens and 230 global ones, radius 84, 12 distances told
// apart: its four groups of keys with their labels, merged two by two, beside ITC's above.
void bench_etc_attention(bigbird::kernels::Backend& backend) {
  constexpr Index globals = 230, global_rows = 256, labels = 32, most = 12;
  const GroupPlan window(101, blocks, blocks, 2, false), over_globals(102, blocks, 4, 0, true),
      globals_alone(103, 4, 4, 4, false), over_tokens(104, 4, blocks, 0, true);
  const Index long_offsets[] = {0, tokens}, global_offsets[] = {0, global_rows};
  const Index long_length[] = {tokens}, global_length[] = {globals};
  std::vector<std::int32_t> sentences(static_cast<std::size_t>(tokens)),
      numbers(static_cast<std::size_t>(global_rows));
  for (Index i = 0; i < tokens; ++i)
    sentences[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i / 18);
  for (Index i = 0; i < global_rows; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
  const Buffer table(backend, labels * width), bias(backend, labels * heads);
  const Buffer dtable(backend, labels * width), dbias(backend, labels * heads);
  using namespace bigbird::kernels;
  const RelativeTerm by_distance{.weight = table.data(), .bias = bias.data(), .labels = labels, .most = most};
  RelativeTerm by_links = by_distance;
  by_links.by_links = true;
  PairRule near, of_tokens, of_globals;
  near.before = near.after = 84;
  of_tokens.link_columns = of_globals.link_columns = 1;
  of_tokens.query_links = of_globals.key_links = sentences.data();
  of_tokens.key_links = of_globals.query_links = numbers.data();
  struct Group {
    AttentionBatch batch;
    const BlockPlanView* plan;
  };
  const auto group = [&](const GroupPlan& plan, const Index* queries, const Index* asking, const Index* keys,
                         const Index* seen, const PairRule* rule, const RelativeTerm* term) {
    Group made{{}, &plan.view};
    made.batch.sequences = 1;
    made.batch.heads = heads;
    made.batch.head_size = head_size;
    made.batch.block_size = block;
    made.batch.token_offsets = queries;
    made.batch.query_lengths = asking;
    made.batch.lengths = seen;
    made.batch.key_offsets = keys == queries ? nullptr : keys;
    made.batch.scale = 0.125f;
    made.batch.rule = rule;
    made.batch.relative = term;
    return made;
  };
  Group groups[4] = {
      group(window, long_offsets, long_length, long_offsets, long_length, &near, &by_distance),
      group(over_globals, long_offsets, long_length, global_offsets, global_length, &of_tokens, &by_links),
      group(globals_alone, global_offsets, global_length, global_offsets, global_length, nullptr,
            &by_distance),
      group(over_tokens, global_offsets, global_length, long_offsets, long_length, &of_globals, &by_links)};
  for (Group& each : groups) each.batch.plans = &each.plan;
  const Buffer of_long(backend, tokens * width), other_long(backend, tokens * width),
      of_globals_out(backend, global_rows * width), other_globals(backend, global_rows * width);
  const Buffer x(backend, tokens * 5 * width), y(backend, global_rows * 5 * width),
      dout(backend, tokens * width);
  const Buffer long_sums(backend, heads * tokens), other_long_sums(backend, heads * tokens),
      global_sums(backend, heads * global_rows), other_global_sums(backend, heads * global_rows);
  const Buffer dx(backend, tokens * 5 * width), dy(backend, global_rows * 5 * width);
  const Index stride = 5 * width;
  const auto at = [&](const Buffer& rows, Index number) {
    return Rows{rows.data() + number * width, stride};
  };
  // Query, then keys and values for the own side and for the other.
  const QueryKeyValue inputs[4] = {{at(x, 0), at(x, 1), at(x, 2)},
                                   {at(x, 0), at(y, 3), at(y, 4)},
                                   {at(y, 0), at(y, 1), at(y, 2)},
                                   {at(y, 0), at(x, 3), at(x, 4)}};
  const Buffer* const outs[4] = {&of_long, &other_long, &of_globals_out, &other_globals};
  const Buffer* const sums[4] = {&long_sums, &other_long_sums, &global_sums, &other_global_sums};
  double product = 0;
  for (const GroupPlan* plan : {&window, &over_globals, &globals_alone, &over_tokens})
    product += 2.0 * static_cast<double>(plan->key_blocks.size()) * block * block * head_size;
  print("ETC attention_forward", fastest([&] {
          for (int i = 0; i < 4; ++i)
            backend.attention_forward(groups[i].batch, inputs[i], {outs[i]->data(), width}, sums[i]->data());
          for (int i = 0; i < 4; i += 2) {
            const Rows first{outs[i]->data(), width}, second{outs[i + 1]->data(), width};
            backend.merge_attention({first, sums[i]->data()}, {second, sums[i + 1]->data()}, first,
                                    sums[i]->data(), i == 0 ? tokens : global_rows, heads, head_size);
          }
        }),
        2.0 * product);
  print("ETC attention_backward", fastest([&] {
          const RelativeGradients of_labels{dtable.data(), dbias.data()};
          const QueryKeyValueGradients to[4] = {{at(dx, 0), at(dx, 1), at(dx, 2), of_labels},
                                                {at(dx, 0), at(dy, 3), at(dy, 4), of_labels},
                                                {at(dy, 0), at(dy, 1), at(dy, 2), of_labels},
                                                {at(dy, 0), at(dx, 3), at(dx, 4), of_labels}};
          for (int i = 0; i < 4; ++i)
            backend.attention_backward(groups[i].batch, inputs[i], Rows{outs[i / 2 * 2]->data(), width},
                                       sums[i / 2 * 2]->data(), {dout.data(), width}, to[i]);
        }),
        5.0 * product);
}

void bench_rows(bigbird::kernels::Backend& backend) {
  const Buffer x(backend, tokens * inner), y(backend, tokens * inner), z(backend, tokens * inner);
  const Buffer gamma(backend, width), beta(backend, width), dgamma(backend, width), dbeta(backend, width);
  const Buffer mean(backend, tokens), rstd(backend, tokens);
  const double narrow = 4.0 * static_cast<double>(tokens) * static_cast<double>(width);
  const double wide = 4.0 * static_cast<double>(tokens) * static_cast<double>(inner);
  const bigbird::kernels::Norm norm{gamma.data(), beta.data(), 1e-12f, width};
  const bigbird::kernels::NormState state{mean.data(), rstd.data()};
  print("layernorm_forward",
        fastest([&] { backend.layernorm_forward(x.data(), norm, y.data(), state, tokens); }), 0.0,
        2.0 * narrow);
  print("layernorm_backward", fastest([&] {
          backend.layernorm_backward({x.data(), y.data(), state, z.data(), tokens}, norm,
                                     {dgamma.data(), dbeta.data()}, false);
        }),
        0.0, 3.0 * narrow);
  print("activation_backward", fastest([&] {
          backend.activation_backward(x.data(), y.data(), y.data(), tokens * inner,
                                      bigbird::kernels::Activation::gelu_tanh);
        }),
        0.0, 3.0 * wide);
  const std::uint64_t seed = 11;
  print("dropout_add", fastest([&] {
          backend.dropout_add(x.data(), y.data(), z.data(), tokens * width, {0.1f, &seed, 12});
        }),
        0.0, 3.0 * narrow);
  print("add", fastest([&] { backend.add(x.data(), y.data(), tokens * width); }), 0.0, 3.0 * narrow);

  const Buffer logits(backend, masked * vocabulary);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(masked), 5), predictions(labels);
  const float scale = 1.0f;
  print("cross_entropy of 614 rows, in place", fastest([&] {
          backend.cross_entropy({logits.data(), masked, vocabulary}, {labels.data()}, mean.data(),
                                predictions.data(), {logits.data(), &scale});
        }),
        0.0, 2.0 * 4.0 * static_cast<double>(masked * vocabulary));

  const Index parameters = vocabulary * width;
  const Buffer p(backend, parameters), g(backend, parameters), m(backend, parameters),
      v(backend, parameters, 0.0f);
  const bigbird::kernels::ParameterRun all{0, parameters, true};
  print("adamw of the word table", fastest([&] {
          backend.adamw({p.data(), g.data(), m.data(), v.data()}, {&all, 1},
                        {1e-4f, 0.9f, 0.999f, 1e-6f, 0.01f});
        }),
        0.0, 7.0 * 4.0 * static_cast<double>(parameters));
  const bigbird::kernels::LambPiece piece{0, parameters, true};
  const std::span<const bigbird::kernels::LambPiece> pieces(&piece, 1);
  const Buffer lamb_scratch(backend,
                            static_cast<Index>(backend.lamb_scratch_bytes(pieces) / sizeof(float)) + 1);
  print("LAMB of the word table", fastest([&] {
          const bigbird::kernels::LambArrays arrays{p.data(), g.data(), m.data(), v.data(),
                                                    lamb_scratch.data()};
          const float rate = 1e-4f;
          bigbird::kernels::LambSquares squares;
          backend.lamb_moments(arrays, pieces, {}, &squares);
          backend.lamb_move(arrays, pieces, {}, &rate);
        }),
        0.0, 10.0 * 4.0 * static_cast<double>(parameters));
  const bigbird::kernels::AdafactorTensor table{
      .rows = vocabulary, .columns = width, .row_means = 0, .column_means = vocabulary};
  const std::span<const bigbird::kernels::AdafactorTensor> one(&table, 1);
  const Buffer factored(backend, vocabulary + width, 0.0f),
      scratch(backend, static_cast<Index>(backend.adafactor_scratch_bytes(one) / sizeof(float)) + 1);
  print("adafactor of the word table", fastest([&] {
          backend.adafactor({p.data(), g.data(), factored.data(), scratch.data()}, one, {1e-4, 0.999, 1.0f});
        }),
        0.0, 6.0 * 4.0 * static_cast<double>(parameters));
  double squares = 0;
  print("sums_of_squares of the word table",
        fastest([&] { backend.sums_of_squares(p.data(), parameters, parameters, &squares); }), 0.0,
        4.0 * static_cast<double>(parameters));

  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens)), types(ids), positions(ids);
  for (Index t = 0; t < tokens; ++t) {
    ids[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(t * 7919 % vocabulary);
    positions[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(t);
  }
  const Buffer dtype(backend, 2 * width), dposition(backend, tokens * width);
  const bigbird::kernels::EmbeddingIndices indices{ids.data(), types.data(), positions.data(), tokens};
  const bigbird::kernels::EmbeddingTables tables{
      p.data(), dtype.data(), dposition.data(), 1.0f, width, vocabulary, 2, tokens};
  print("embedding_forward", fastest([&] { backend.embedding_forward(indices, tables, y.data()); }), 0.0,
        3.0 * narrow);
  print("embedding_backward", fastest([&] {
          backend.embedding_backward(x.data(), indices, tables, {m.data(), dtype.data(), dposition.data()});
        }),
        0.0, 3.0 * narrow);
}

}  // namespace

int main(int argc, char** argv) {
  bigbird::kernels::set_thread_count(argc > 1 ? std::atoi(argv[1]) : 0);
  {
    const auto backend = bigbird::kernels::make_cpu_backend(bigbird::kernels::CpuOptions{});
    std::printf("%s\n", backend->description().c_str());
    bench_linear(*backend, width, width);
    bench_linear(*backend, 3 * width, width);
    bench_linear(*backend, inner, width);
    bench_linear(*backend, width, inner);
    bench_attention(*backend);
    bench_etc_attention(*backend);
    bench_rows(*backend);
  }
  const auto backend = bigbird::kernels::make_cpu_backend(bigbird::kernels::Precision::bf16);
  std::printf("%s; weights packed once\n", backend->description().c_str());
  bench_attention(*backend);
  bench_etc_attention(*backend);
  for (const auto& [n, k] :
       {std::pair<Index, Index>{width, width}, {3 * width, width}, {inner, width}, {width, inner}}) {
    bench_packed(*backend, bigbird::kernels::WeightForm::bf16, "bf16", n, k);
    bench_packed(*backend, bigbird::kernels::WeightForm::int8, "int8", n, k);
  }
  return 0;
}
