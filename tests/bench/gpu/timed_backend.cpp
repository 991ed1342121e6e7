// See timed_backend.h.
#include "tests/bench/gpu/timed_backend.h"

#include <utility>

namespace bigbird::kernels::bench {

namespace {

// "linear_forward 4096 x 2304 x 768": rows, outputs and inputs.
std::string of_layer(const char* name, const Linear& layer, Index rows) {
  return name + (" " + std::to_string(rows)) + " x " + std::to_string(layer.out) + " x " +
         std::to_string(layer.in);
}

}  // namespace

double Profile::milliseconds() const {
  double sum = 0;
  for (const auto& [name, operation] : operations) sum += operation.milliseconds;
  return sum;
}

Profile TimedBackend::end_profile() {
  profiling_ = false;
  const std::vector<double> times = marks_->take_milliseconds();
  Profile profile;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i % 2 == 1) {
      profile.between += times[i];
      continue;
    }
    Profile::Operation& operation = profile.operations[names_[i / 2]];
    ++operation.count;
    operation.milliseconds += times[i];
  }
  names_.clear();
  return profile;
}

template <class Work>
void TimedBackend::timed(std::string name, const Work& work) {
  if (!profiling_) return work();
  names_.push_back(std::move(name));
  marks_->add();
  work();
  marks_->add();
}

void TimedBackend::replay(std::uint64_t key, const std::function<void()>& work) {
  if (profiling_) return work();
  backend_.replay(key, work);
}

void TimedBackend::upload(void* device, const void* host, std::size_t bytes) {
  timed("upload", [&] { backend_.upload(device, host, bytes); });
}

void TimedBackend::bring_uploads() {
  timed("uploads together", [&] { backend_.bring_uploads(); });
}

void TimedBackend::download(void* host, const void* device, std::size_t bytes) {
  timed("download", [&] { backend_.download(host, device, bytes); });
}

void TimedBackend::copy(void* to, const void* from, std::size_t bytes) {
  timed("copy", [&] { backend_.copy(to, from, bytes); });
}

void TimedBackend::zero(void* device, std::size_t bytes) {
  timed("zero", [&] { backend_.zero(device, bytes); });
}

void TimedBackend::clear(void* device, std::size_t bytes) {
  timed("clear", [&] { backend_.clear(device, bytes); });
}

void TimedBackend::refresh_weights(const float* parameters) {
  timed("refresh_weights", [&] { backend_.refresh_weights(parameters); });
}

void TimedBackend::linear_forward(ConstValues x, const Linear& layer, Values y, Index rows) {
  timed(of_layer("linear_forward", layer, rows), [&] { backend_.linear_forward(x, layer, y, rows); });
}

void TimedBackend::linear_activation_forward(ConstValues x, const Linear& layer, Activation activation,
                                             Values pre, Values y, Index rows) {
  timed(of_layer("linear_activation_forward", layer, rows),
        [&] { backend_.linear_activation_forward(x, layer, activation, pre, y, rows); });
}

void TimedBackend::linear_backward_input(ConstValues dy, const Linear& layer, Values dx, Index rows,
                                         bool accumulate) {
  timed(of_layer("linear_backward_input", layer, rows),
        [&] { backend_.linear_backward_input(dy, layer, dx, rows, accumulate); });
}

void TimedBackend::linear_backward_input_activation(ConstValues dy, const Linear& layer,
                                                    Activation activation, ConstValues pre, Values dx,
                                                    Index rows) {
  timed(of_layer("linear_backward_input_activation", layer, rows),
        [&] { backend_.linear_backward_input_activation(dy, layer, activation, pre, dx, rows); });
}

void TimedBackend::linear_backward_weight(ConstValues dy, ConstValues x, const Linear& layer,
                                          const LinearGradients& gradients, Index rows) {
  timed(of_layer("linear_backward_weight", layer, rows),
        [&] { backend_.linear_backward_weight(dy, x, layer, gradients, rows); });
}

void TimedBackend::embedding_forward(const EmbeddingIndices& indices, const EmbeddingTables& tables,
                                     Values y) {
  timed("embedding_forward", [&] { backend_.embedding_forward(indices, tables, y); });
}

void TimedBackend::embedding_backward(ConstValues dy, const EmbeddingIndices& indices,
                                      const EmbeddingTables& tables, const EmbeddingGradients& gradients) {
  timed("embedding_backward", [&] { backend_.embedding_backward(dy, indices, tables, gradients); });
}

void TimedBackend::neighbours_forward(const NeighbourRows& rows, const NeighbourTables& tables, Values y) {
  timed("neighbours_forward", [&] { backend_.neighbours_forward(rows, tables, y); });
}

void TimedBackend::neighbours_backward(ConstValues dy, const NeighbourRows& rows,
                                       const NeighbourTables& tables, const NeighbourGradients& gradients) {
  timed("neighbours_backward", [&] { backend_.neighbours_backward(dy, rows, tables, gradients); });
}

void TimedBackend::layernorm_forward(ConstValues x, const Norm& norm, Values y, const NormState& state,
                                     Index rows) {
  timed("layernorm_forward", [&] { backend_.layernorm_forward(x, norm, y, state, rows); });
}

void TimedBackend::layernorm_backward(const NormBackward& pass, const Norm& norm,
                                      const NormGradients& gradients, bool accumulate) {
  timed("layernorm_backward", [&] { backend_.layernorm_backward(pass, norm, gradients, accumulate); });
}

void TimedBackend::dropout_add_layernorm_forward(const ResidualSum& join, const Norm& norm, Values y,
                                                 const NormState& state, Index rows) {
  timed("dropout_add_layernorm_forward",
        [&] { backend_.dropout_add_layernorm_forward(join, norm, y, state, rows); });
}

void TimedBackend::layernorm_backward_dropout(const NormBackward& pass, const Norm& norm,
                                              const NormGradients& gradients, const Dropout& dropout,
                                              Values branch) {
  timed("layernorm_backward_dropout",
        [&] { backend_.layernorm_backward_dropout(pass, norm, gradients, dropout, branch); });
}

void TimedBackend::activation_forward(ConstValues pre, Values y, Index count, Activation activation) {
  timed("activation_forward", [&] { backend_.activation_forward(pre, y, count, activation); });
}

void TimedBackend::activation_backward(ConstValues pre, ConstValues dy, Values dx, Index count,
                                       Activation activation) {
  timed("activation_backward", [&] { backend_.activation_backward(pre, dy, dx, count, activation); });
}

void TimedBackend::gated_activation_forward(ConstValues pre, Values y, Index rows, Index width,
                                            Activation activation) {
  timed("gated_activation_forward",
        [&] { backend_.gated_activation_forward(pre, y, rows, width, activation); });
}

void TimedBackend::gated_activation_backward(ConstValues pre, ConstValues dy, Values dpre, Index rows,
                                             Index width, Activation activation) {
  timed("gated_activation_backward",
        [&] { backend_.gated_activation_backward(pre, dy, dpre, rows, width, activation); });
}

void TimedBackend::tanh_forward(ConstValues x, Values y, Index count) {
  timed("tanh_forward", [&] { backend_.tanh_forward(x, y, count); });
}

void TimedBackend::tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count) {
  timed("tanh_backward", [&] { backend_.tanh_backward(y, dy, dx, count); });
}

void TimedBackend::dropout(ConstValues x, Values y, Index count, const Dropout& dropout) {
  timed("dropout", [&] { backend_.dropout(x, y, count, dropout); });
}

void TimedBackend::dropout_add(ConstValues x, ConstValues residual, Values y, Index count,
                               const Dropout& dropout) {
  timed("dropout_add", [&] { backend_.dropout_add(x, residual, y, count, dropout); });
}

void TimedBackend::add(ConstValues x, Values y, Index count) {
  timed("add", [&] { backend_.add(x, y, count); });
}

void TimedBackend::subtract(ConstValues x, Values y, Index count) {
  timed("subtract", [&] { backend_.subtract(x, y, count); });
}

void TimedBackend::rotate(Rows x, const Rotary& rotary, Index rows, bool back) {
  timed("rotate", [&] { backend_.rotate(x, rotary, rows, back); });
}

void TimedBackend::gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) {
  timed("gather_rows", [&] { backend_.gather_rows(x, rows, y, count, width); });
}

void TimedBackend::add_rows(ConstRows x, Rows y, Index rows, Index width) {
  timed("add_rows", [&] { backend_.add_rows(x, y, rows, width); });
}

void TimedBackend::max_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width) {
  timed("max_rows_forward", [&] { backend_.max_rows_forward(x, spans, y, width); });
}

void TimedBackend::mean_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width) {
  timed("mean_rows_forward", [&] { backend_.mean_rows_forward(x, spans, y, width); });
}

void TimedBackend::mean_rows_backward(ConstValues dy, const RowSpans& spans, Values dx, Index width) {
  timed("mean_rows_backward", [&] { backend_.mean_rows_backward(dy, spans, dx, width); });
}

void TimedBackend::scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                                    Index width) {
  timed("scatter_add_rows", [&] { backend_.scatter_add_rows(dy, rows, dx, count, width); });
}

void TimedBackend::prepare_attention(const AttentionBatch& batch) {
  timed("prepare_attention", [&] { backend_.prepare_attention(batch); });
}

void TimedBackend::attention_forward(const AttentionBatch& batch, const QueryKeyValue& inputs, Rows out,
                                     float* log_sum_exp) {
  timed("attention_forward", [&] { backend_.attention_forward(batch, inputs, out, log_sum_exp); });
}

void TimedBackend::attention_backward(const AttentionBatch& batch, const QueryKeyValue& inputs, ConstRows out,
                                      const float* log_sum_exp, ConstRows dout,
                                      const QueryKeyValueGradients& gradients) {
  timed("attention_backward",
        [&] { backend_.attention_backward(batch, inputs, out, log_sum_exp, dout, gradients); });
}

void TimedBackend::merge_attention(const AttentionPart& first, const AttentionPart& second, Rows out,
                                   float* log_sum_exp, Index rows, Index heads, Index head_size) {
  timed("merge_attention",
        [&] { backend_.merge_attention(first, second, out, log_sum_exp, rows, heads, head_size); });
}

void TimedBackend::attend_rows(const RowAttention& batch, const QueryKeyValue& inputs, Rows out,
                               float* log_sum_exp) {
  timed("attend_rows", [&] { backend_.attend_rows(batch, inputs, out, log_sum_exp); });
}

void TimedBackend::sort_by_hash(const ClusterBatch& batch, const TokenHash& hash, ConstRows queries,
                                std::int32_t* order) {
  timed("sort_by_hash", [&] { backend_.sort_by_hash(batch, hash, queries, order); });
}

void TimedBackend::cluster_attention_forward(const ClusterBatch& batch, const std::int32_t* order,
                                             ConstRows queries, ConstRows values, Rows out,
                                             float* log_sum_exp) {
  timed("cluster_attention_forward",
        [&] { backend_.cluster_attention_forward(batch, order, queries, values, out, log_sum_exp); });
}

void TimedBackend::cluster_attention_backward(const ClusterBatch& batch, const std::int32_t* order,
                                              ConstRows queries, ConstRows values, ConstRows out,
                                              const float* log_sum_exp, ConstRows dout, Rows dqueries,
                                              Rows dvalues) {
  timed("cluster_attention_backward", [&] {
    backend_.cluster_attention_backward(batch, order, queries, values, out, log_sum_exp, dout, dqueries,
                                        dvalues);
  });
}

void TimedBackend::make_centroids(Index heads, Index clusters, Index head_size, const float* sums,
                                  const float* counts, float* centroids) {
  timed("make_centroids",
        [&] { backend_.make_centroids(heads, clusters, head_size, sums, counts, centroids); });
}

void TimedBackend::route_tokens(const RoutingBatch& batch, const float* centroids, ConstRows rows,
                                const RoutedTokens& to) {
  timed("route_tokens", [&] { backend_.route_tokens(batch, centroids, rows, to); });
}

void TimedBackend::route_tokens_backward(const RoutingBatch& batch, const float* centroids,
                                         const std::int32_t* nearest, ConstRows rows, const float* weight,
                                         Rows gradient, float* sums, float* counts) {
  timed("route_tokens_backward", [&] {
    backend_.route_tokens_backward(batch, centroids, nearest, rows, weight, gradient, sums, counts);
  });
}

void TimedBackend::routed_attention_forward(const RoutingBatch& batch, const RoutedPair& order,
                                            const QueryKeyValue& inputs, Rows out, float* log_sum_exp) {
  timed("routed_attention_forward",
        [&] { backend_.routed_attention_forward(batch, order, inputs, out, log_sum_exp); });
}

void TimedBackend::routed_attention_backward(const RoutingBatch& batch, const RoutedPair& order,
                                             const QueryKeyValue& inputs, const float* log_sum_exp,
                                             ConstRows dout, const QueryKeyValueGradients& gradients) {
  timed("routed_attention_backward",
        [&] { backend_.routed_attention_backward(batch, order, inputs, log_sum_exp, dout, gradients); });
}

void TimedBackend::feature_attention_forward(const FeatureBatch& batch, const QueryKeyValue& inputs,
                                             Rows out) {
  timed("feature_attention_forward", [&] { backend_.feature_attention_forward(batch, inputs, out); });
}

void TimedBackend::feature_attention_backward(const FeatureBatch& batch, const QueryKeyValue& inputs,
                                              ConstRows out, ConstRows dout,
                                              const QueryKeyValueGradients& gradients) {
  timed("feature_attention_backward",
        [&] { backend_.feature_attention_backward(batch, inputs, out, dout, gradients); });
}

void TimedBackend::attend_rows_backward(const RowAttention& batch, const RowsByKey& by_key,
                                        const QueryKeyValue& inputs, ConstRows out, const float* log_sum_exp,
                                        ConstRows dout, const RowAttentionGradients& gradients) {
  timed("attend_rows_backward",
        [&] { backend_.attend_rows_backward(batch, by_key, inputs, out, log_sum_exp, dout, gradients); });
}

void TimedBackend::cross_entropy(const ConstMatrix& logits, const ClassLabels& labels, float* losses,
                                 std::int32_t* predictions, const LossGradient& gradient) {
  timed("cross_entropy", [&] { backend_.cross_entropy(logits, labels, losses, predictions, gradient); });
}

void TimedBackend::binary_cross_entropy(const ConstMatrix& logits, const float* targets,
                                        float positive_weight, float* losses, const LossGradient& gradient) {
  timed("binary_cross_entropy",
        [&] { backend_.binary_cross_entropy(logits, targets, positive_weight, losses, gradient); });
}

void TimedBackend::squared_error(const ConstMatrix& x, const float* targets, float* losses,
                                 const LossGradient& gradient) {
  timed("squared_error", [&] { backend_.squared_error(x, targets, losses, gradient); });
}

void TimedBackend::token_losses(const float* logits, const TokenGroups& groups, bool softmax, float* losses,
                                const LossGradient& gradient) {
  timed("token_losses", [&] { backend_.token_losses(logits, groups, softmax, losses, gradient); });
}

void TimedBackend::top_log_softmax(const ConstMatrix& logits, const TopColumns& top) {
  timed("top_log_softmax", [&] { backend_.top_log_softmax(logits, top); });
}

void TimedBackend::zero_ranges(float* values, std::span<const FloatRange> ranges) {
  timed("zero_ranges", [&] { backend_.zero_ranges(values, ranges); });
}

void TimedBackend::sums_of_squares(const float* x, Index count, Index part, double* sums) {
  timed("sums_of_squares", [&] { backend_.sums_of_squares(x, count, part, sums); });
}

void TimedBackend::adamw(const AdamWArrays& arrays, std::span<const ParameterRun> runs,
                         const AdamWStep& step) {
  timed("adamw", [&] { backend_.adamw(arrays, runs, step); });
}

void TimedBackend::lamb_moments(const LambArrays& arrays, std::span<const LambPiece> pieces,
                                const LambStep& step, LambSquares* squares) {
  timed("lamb_moments", [&] { backend_.lamb_moments(arrays, pieces, step, squares); });
}

void TimedBackend::lamb_move(const LambArrays& arrays, std::span<const LambPiece> pieces,
                             const LambStep& step, const float* rates) {
  timed("lamb_move", [&] { backend_.lamb_move(arrays, pieces, step, rates); });
}

void TimedBackend::adafactor(const AdafactorArrays& arrays, std::span<const AdafactorTensor> tensors,
                             const AdafactorStep& step) {
  timed("adafactor", [&] { backend_.adafactor(arrays, tensors, step); });
}

void TimedBackend::move_towards(float* average, const float* values, Index count, float share) {
  timed("move_towards", [&] { backend_.move_towards(average, values, count, share); });
}

}  // namespace bigbird::kernels::bench
