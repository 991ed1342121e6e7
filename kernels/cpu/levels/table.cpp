// The level's entry in the list of cpu_options.cpp.
#include "kernels/cpu/levels/simd.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {
void gemm(const Product& product, float* scratch);
Index gemm_scratch(Index n);
void gemm_pack(const Product& product, Index first, Index depth, float* packed);
void gemm_rows(const Product& product, const float* packed_b, Index packed_columns, Index column,
               float* scratch);
Index gemm_rows_scratch();
Index gemm_panel();
void attention_forward_block(const AttentionHead& head, Index query_block, float* out, Index out_stride,
                             float* log_sum_exp, float* scratch);
Index attention_forward_scratch(Index block_size, Index head_size);
void attention_backward_head(const AttentionHead& head, const AttentionHeadGradients& gradients,
                             float* scratch);
Index attention_backward_scratch(Index block_size, Index head_size);
Index label_room(Index block_size, Index head_size, Index labels);
float merge_row(const float* first, float first_sum, const float* second, float second_sum, float* out,
                Index head_size);
float attend_rows(const RowsOfHead& head, const float* q, const std::int32_t* rows,
                  const std::int32_t* labels, Index count, float* out, float* scratch);
void attend_rows_backward_query(const RowsOfHead& head, const QueryOfHead& query, const std::int32_t* rows,
                                const std::int32_t* labels, Index count, float* dq, float* dlabels,
                                float* scratch);
void attend_rows_backward_key(const RowsOfHead& head, Index key, const QueriesOfHead& queries,
                              const std::int32_t* which, const std::int32_t* labels, Index count, float* dk,
                              float* dv, float* scratch);
void layernorm_row(const float* x, const float* gamma, const float* beta, float epsilon, float* y,
                   float* mean, float* rstd, Index width);
void layernorm_backward_row(const float* dy, const float* x, const float* gamma, float mean, float rstd,
                            float* dx, bool accumulate, float* dgamma, float* dbeta, Index width);
void sum_of_three(const float* a, float scale, const float* b, const float* c, float* y, Index count);
void add_scaled(const float* x, float scale, float* y, Index count);
void add_column_sums(const float* x, Index rows, Index stride, float* sums, Index width);
void narrow(const float* x, const float* bias, bf16* y, Index count);
void widen(const bf16* x, float* y, Index count);
void add_bias_activation(const float* x, const float* bias, float* pre, float* y, Index count,
                         Activation activation);
void add_bias_activation_narrow(const float* x, const float* bias, float* pre, bf16* y, Index count,
                                Activation activation);
void activation_backward(const float* pre, const float* dy, float* dx, Index count, Activation activation);
void multiply(const float* a, const float* b, float* y, Index count);
void tanh_forward(const float* x, float* y, Index count);
void tanh_backward(const float* y, const float* dy, float* dx, Index count);
void rotate_row(float* x, const float* rotations, Index heads, Index head_size, Index half, bool back);
void dropout(const float* x, const float* residual, float* y, Index count, std::uint64_t first,
             float probability, std::uint64_t seed, std::uint64_t site);
void softmax_statistics(const float* x, Index count, float* largest, Index* index, float* sum);
void exp_scaled(const float* x, float shift, float scale, float* y, Index count);
double sum(const float* x, Index count);
double sum_of_squares(const float* x, Index count);
void adamw(float* p, const float* g, float* m, float* v, Index count, const AdamWConstants& constants);
LambSquares lamb_moments(const float* p, const float* g, float* m, float* v, Index count,
                         const AdamWConstants& constants);
void lamb_move(float* p, const float* m, const float* v, Index count, const AdamWConstants& constants,
               float rate);
double add_squares(const float* g, float scale, double* sums, Index count);
double factored_squares(const float* g, float row, const float* columns, Index count);
void factored_update(float* p, const float* g, float row, const float* columns, float step, Index count);

extern const Level level;
const Level level = {BIGBIRD_LEVEL_NAME,
                     gemm,
                     gemm_scratch,
                     gemm_panel,
                     gemm_pack,
                     gemm_rows,
                     gemm_rows_scratch,
                     attention_forward_block,
                     attention_forward_scratch,
                     attention_backward_head,
                     attention_backward_scratch,
                     label_room,
                     merge_row,
                     attend_rows,
                     attend_rows_backward_query,
                     attend_rows_backward_key,
                     layernorm_row,
                     layernorm_backward_row,
                     sum_of_three,
                     add_scaled,
                     add_column_sums,
                     narrow,
                     widen,
                     add_bias_activation,
                     add_bias_activation_narrow,
                     activation_backward,
                     multiply,
                     tanh_forward,
                     tanh_backward,
                     rotate_row,
                     dropout,
                     softmax_statistics,
                     exp_scaled,
                     sum,
                     sum_of_squares,
                     adamw,
                     lamb_moments,
                     lamb_move,
                     add_squares,
                     factored_squares,
                     factored_update};

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
