// The device of the CUDA backend: memory, copies, recordings, working copies of the weights.
#include "kernels/cuda/cuda_backend.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/attention/padding.h"
#include "kernels/cuda/launchers.h"
#include "kernels/cuda/time_marks.h"

namespace bigbird::kernels::cuda {

namespace {

std::size_t bias_sum_bytes(Index sums) {
  return static_cast<std::size_t>(sums) * sizeof(float);
}

CudaOptions with_count(CudaOptions options) {
  if (options.refused == nullptr) options.refused = std::make_shared<RefusedProducts>();
  return options;
}

DeviceInfo device_of(int index) {
  std::string why;
  for (const DeviceInfo& info : find_devices(why)) {
    if (info.index == index) return info;
  }
  throw CudaError(why.empty() ? "there is no device cuda:" + std::to_string(index) : why);
}

// Loads the kernels; what that takes. The context of the device, which is made before anyone can ask what is
// free, is no part of it, and of no plan: the limit is what it leaves.
std::size_t loaded_bytes() {
  const std::size_t before = free_device_memory();
  load_kernels();
  const std::size_t after = free_device_memory();
  return before > after ? before - after : 0;
}

void require_attention(const AttentionLimits& limits) {
  if (limits.features > 0) throw DeviceError(feature_refusal);
  if (limits.cluster > 0) throw DeviceError(cluster_refusal);
  if (limits.clusters > 0) throw DeviceError(routing_refusal);
  if (limits.documents) throw DeviceError(document_refusal);
  if (limits.tokens == 0) return;
  if (const std::string why =
          attention_refusal(limits.head_size, limits.block_size, limits.labels > 0, limits.labels);
      !why.empty()) {
    throw DeviceError(why);
  }
}

PreparedSize prepared_size(const AttentionLimits& limits) {
  if (limits.tokens == 0) return {};
  return PreparedSize::of(AttentionPadding(limits.head_size, limits.block_size).limits(limits));
}

// What the workspace has to hold: attention, or one of the reductions over the model's width.
std::size_t workspace_bytes(const AttentionLimits& limits, bool deterministic, ElementType type,
                            int multiprocessors) {
  if (limits.tokens == 0) return 0;
  const AttentionPadding padding(limits.head_size, limits.block_size);
  std::size_t bytes = attention_workspace_bytes(padding.limits(limits), deterministic) +
                      attention_padding_bytes(limits, type);
  if (limits.training) {
    const Index width = limits.heads * limits.head_size;
    bytes = std::max({bytes, rows_by_key_workspace(limits.tokens, width, limits.tokens),
                      layernorm_backward_workspace(limits.tokens, width, multiprocessors),
                      column_sums_workspace(limits.tokens, 4 * width)});
  }
  return bytes;
}

}  // namespace

CudaBackend::OwnedStream::OwnedStream(int device) {
  use_device(device);
  stream = make_stream();
}
CudaBackend::OwnedStream::~OwnedStream() {
  destroy(stream);
}

CudaBackend::CudaBackend(const CudaOptions& options)
    : options_(with_count(options)),
      stream_owner_(options.index),
      stream_(stream_owner_.stream),
      device_(device_of(options.index)),
      kernel_bytes_(loaded_bytes()),
      gemm_(make_gemm_library(options.remark, options_.refused)),
      transfers_(stream_),
      workspace_(gemm_->workspace_bytes()),
      recordings_(stream_, driver_allowance().graphs, options_.remark) {
  gemm_->use_workspace(workspace_.data());
  warpgroups_ = choose_warpgroups();
  if (!options_.product_table) return;
  ProductTable table = options_.product_table(device_.name, gemm_->description());
  product_table_ = table.digest();
  most_bias_sums_ = most_bias_gradients(table);
  if (most_bias_sums_ > 0) bias_sums_ = DevicePiece(bias_sum_bytes(most_bias_sums_));
  gemm_->use_table(std::move(table));
}

CudaBackend::~CudaBackend() {
  try {
    cuda::synchronize(stream_);
  } catch (const CudaError&) {  // was met, or would have been, by an operation
  }
}

std::unique_ptr<TimeMarks> CudaBackend::make_time_marks() {
  return std::make_unique<StreamTimeMarks>(stream_);
}

void CudaBackend::enter_thread() {
  use_device(options_.index);
}

std::string CudaBackend::name() const {
  return "cuda:" + std::to_string(options_.index) + " " + device_.name;
}

std::string CudaBackend::details() const {
  return std::string(name_of(options_.precision)) + ", " + gemm_->description() +
         (warpgroups_ ? ", attention by wgmma" : "") +
         (product_table_.empty() ? "" : ", table of products " + product_table_);
}

// How many multiprocessors share out the rows decides how LayerNorm's gradients are summed.
std::string CudaBackend::arithmetic() const {
  return device_.name + ", " + std::to_string(device_.multiprocessors) + " multiprocessors, " + details();
}

std::size_t CudaBackend::free_memory() const {
  return free_device_memory();
}

DriverMemory CudaBackend::driver_memory() const {
  const DriverAllowance allowance = driver_allowance();
  return {kernel_bytes_, allowance.graphs + allowance.others};
}

void CudaBackend::reserve(std::size_t bytes) {
  memory_.reserve(bytes);
}

std::size_t CudaBackend::scratch_bytes(const AttentionLimits& limits) const {
  require_attention(limits);
  return Transfers::device_bytes + bias_sum_bytes(most_bias_sums_) +
         std::max(gemm_->workspace_bytes(),
                  workspace_bytes(limits, options_.deterministic, element_type(), device_.multiprocessors)) +
         static_cast<std::size_t>(limits.slots) * prepared_size(limits).bytes();
}

Index CudaBackend::reserve_scratch(const AttentionLimits& limits) {
  require_attention(limits);
  workspace(workspace_bytes(limits, options_.deterministic, element_type(), device_.multiprocessors));
  return own_slots(limits.slots, prepared_size(limits));
}

void* CudaBackend::workspace(std::size_t bytes) {
  if (bytes > workspace_.bytes()) {
    if (recordings_.recording()) throw std::logic_error("scratch grows while work is recorded");
    synchronize();  // a recording may still run
    recordings_.clear();
    const std::size_t before = workspace_.bytes();
    workspace_ = DevicePiece();  // first, to make room
    try {
      workspace_ = DevicePiece(bytes);
    } catch (const OutOfMemory&) {
      workspace_ = DevicePiece(before);
      gemm_->use_workspace(workspace_.data());
      throw;
    }
    gemm_->use_workspace(workspace_.data());
  }
  return workspace_.data();
}

void* CudaBackend::allocate(std::size_t bytes) {
  return memory_.allocate(bytes);
}
void CudaBackend::release(void* memory) noexcept {
  memory_.release(memory);
}

void CudaBackend::upload(void* device, const void* host, std::size_t bytes) {
  transfers_.upload(device, host, bytes);
}
void CudaBackend::download(void* host, const void* device, std::size_t bytes) {
  transfers_.download(host, device, bytes);
}
void CudaBackend::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) copy_on_device(to, from, bytes, stream_);
}
void CudaBackend::zero(void* device, std::size_t bytes) {
  if (bytes > 0) fill_zero(device, bytes, stream_);
}
void CudaBackend::synchronize() {
  cuda::synchronize(stream_);
}

void CudaBackend::replay(std::uint64_t key, const std::function<void()>& work) {
  // The products in a recording that is played are counted as when it was made.
  std::size_t& calls = options_.refused->calls;
  const std::size_t before = calls;
  bool worked = false;
  recordings_.replay(key, [&] {
    worked = true;
    calls = before;  // work may be asked for twice, once for a recording that becomes nothing
    work();
  });
  if (!worked) {
    const auto found = refused_calls_.find(key);
    if (found != refused_calls_.end()) calls += found->second;
  } else if (calls > before) {
    refused_calls_[key] = calls - before;
  }
}

std::size_t CudaBackend::weight_copy_bytes(Index count) const {
  return element_type() == ElementType::bf16 ? static_cast<std::size_t>(count) * sizeof(bf16) : 0;
}
void CudaBackend::bind_weights(const float* parameters, Index count, void* copy) {
  if (element_type() == ElementType::bf16) working_weights_.bind(parameters, count, static_cast<bf16*>(copy));
}
void CudaBackend::unbind_weights(const float* parameters) noexcept {
  working_weights_.unbind(parameters);
}
void CudaBackend::refresh_weights(const float* parameters) {
  const WorkingWeights::Binding* binding = working_weights_.find(parameters);
  if (binding != nullptr) convert(binding->parameters, binding->copy, binding->count, stream_);
}

ConstValues CudaBackend::weights(const float* w, ElementType type) const {
  if (type == ElementType::fp32) return w;
  return working_weights_.copy_of(w);
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  return std::make_unique<CudaBackend>(options);
}

}  // namespace bigbird::kernels::cuda
