// The one interface between the model and a device: coarse operations on matrices, picked at run time. The
// device is below; the operations are listed in operations.inc.
//
// Rules, for every operation of every backend:
//  - Gradients of parameters are added to what is there (LinearGradients::fresh apart); gradients of
//    activations overwrite, unless the operation says otherwise.
//  - Reductions (means, softmax, losses, norms) run in at least fp32, and in an order fixed by the shapes
//    alone: a result never depends on the number of threads.
//  - Nothing is allocated: the caller owns every buffer. Scratch of the backend itself is counted by
//    scratch_bytes().
//  - Shapes are the caller's duty (asserted in debug builds); zero rows are allowed everywhere.
//  - Values are activations: of element_type() or stream_type() unless the operation allows fp32 beside it.
//    Where the two differ (bf16 on the CPU) linear_*, activation_*, attention_*, rotate, gather_rows and
//    scatter_add_rows take either, the other operations stream_type(). float* is always fp32.
//  - Operations are in order. A device may still be at work when one returns; download() waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cluster_batch.h"
#include "kernels/feature_batch.h"
#include "kernels/routing_batch.h"
#include "kernels/types.h"

namespace bigbird::kernels {

// How products are taken. fp32: as exact as floats allow. tf32: operands are rounded to 10 bits behind the
// point (CUDA only). bf16: both operands are rounded to bf16 (7 bits), products are summed in fp32. On the
// CPU activations and gradients that only products and attention read are bf16 where the processor multiplies
// bf16 numbers, pair by pair or on tiles (element_type()), the residual stream stays fp32 (stream_type()). On
// CUDA activations and the working copy of the weights are bf16. Parameters and their gradients are fp32
// everywhere.
enum class Precision { fp32, tf32, bf16 };
inline constexpr std::array<std::pair<Precision, const char*>, 3> precision_names{
    {{Precision::fp32, "fp32"}, {Precision::tf32, "tf32"}, {Precision::bf16, "bf16"}}};
constexpr const char* name_of(Precision precision) {
  return precision_names[static_cast<std::size_t>(precision)].second;  // it lists them in their order
}

// The largest attention that scratch is wanted for.
struct AttentionLimits {
  Index slots = 1;      // batches that are prepared at the same time (one per layer and run)
  Index sequences = 0;  // B, of one batch
  Index tokens = 0;     // T, of one batch
  Index longest = 0;    // tokens of the longest sequence, of queries or keys
  Index heads = 0;
  Index head_size = 0;
  Index block_size = 0;
  Index labels = 0;  // R, where scores have a relative term
  bool training = false;
  // Of attention by features (FeatureBatch): rows of W, and numbers of a token; 0: there is none.
  Index projected = 0;
  Index features = 0;
  // Of attention within clusters (ClusterBatch): places of one, columns and buckets of a hash; 0: there is
  // none.
  Index cluster = 0;
  Index hash_columns = 0;
  Index hash_buckets = 0;
  // Of attention within learned clusters (RoutingBatch): k and w; 0: there is none.
  Index clusters = 0;
  Index cluster_window = 0;
  bool documents = false;  // sentences have a second encoder over them (lib/model/network/hierarchy.h)
};

// What a device's driver takes of its memory beside what the backend and its callers allocate.
struct DriverMemory {
  std::size_t held = 0;  // already, for the kernels of this program
  std::size_t allowance =
      0;  // what it may take yet: recordings of work, kernels that are loaded when first run
};

// Marks between pieces of a device's work, in its queue: what each piece takes, for benchmarks.
class TimeMarks {
 public:
  virtual ~TimeMarks() = default;
  // Behind the work given so far; not while replay() runs its work.
  virtual void add() = 0;
  // From each mark to the next; waits for the last one. The marks are then gone.
  virtual std::vector<double> take_milliseconds() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // --- the device

  // "cpu", "cuda:0 NVIDIA H200": what records of a run name.
  virtual std::string name() const = 0;
  // "own matrix product, x86-64-v4, 2 threads": how it computes, for people.
  virtual std::string details() const = 0;
  // "own matrix product, x86-64-v4", "NVIDIA H200, 132 multiprocessors, bf16, cuBLASLt 13.1": what
  // two machines must have in common to give the same bytes.
  virtual std::string arithmetic() const = 0;
  // One line for people: "cpu: own matrix product, x86-64-v4, 2 threads".
  std::string description() const { return name() + ": " + details(); }
  // How it takes products.
  virtual Precision precision() const = 0;
  // The digest of the table that says how products are computed; empty: the libraries choose.
  virtual std::string product_table() const { return {}; }
  // What tells the device from every other one, on any machine; empty for the processor, which processes
  // share.
  virtual std::string device_identity() const { return {}; }
  // The queue of its work, for libraries that add to it (a cudaStream_t); null: there is none.
  virtual void* stream() const { return nullptr; }
  // How it keeps what products and attention read and nothing else does (queries, keys, values, contexts,
  // inner activations, gradients of these), and how all else: the residual stream, what joins it, heads.
  virtual ElementType element_type() const { return ElementType::fp32; }
  virtual ElementType stream_type() const { return element_type(); }
  // Whether the rows of every sequence must fill the blocks of its plan. Where they need not, a forward pass
  // can leave the padding out: it changes no other row.
  virtual bool wants_whole_blocks() const { return true; }
  // Whether embedding_backward() is faster with the orders of EmbeddingIndices.
  virtual bool wants_row_order() const { return false; }
  // Work goes on after an operation has returned, so that the caller may prepare the next batch meanwhile.
  virtual bool asynchronous() const { return false; }
  // Before its first call a thread other than the one that made the backend says that it comes. Calls are
  // made by one thread at a time.
  virtual void enter_thread() {}

  // By the clock of the processor, where a device has none. Not to be used longer than the backend.
  virtual std::unique_ptr<TimeMarks> make_time_marks();

  // --- its memory

  // Whether that is the memory of the program: what allocate() returns can be read and written.
  virtual bool in_host_memory() const { return false; }
  // Elements between the rows of a wide matrix (logits over a vocabulary) so that its products are fast; at
  // least its columns. See Linear::out_stride.
  virtual Index row_stride(Index columns) const { return columns; }
  // The layer with its outputs so far apart.
  Linear in_wide_rows(Linear layer) const {
    layer.out_stride = row_stride(layer.out);
    return layer;
  }
  // Bytes that are free on a device with memory of its own; 0: it works in the memory of the program.
  virtual std::size_t free_memory() const { return 0; }
  virtual DriverMemory driver_memory() const { return {}; }
  // Everything that allocate() will be asked for, in one piece; may be left out. Once, before the first
  // allocate().
  virtual void reserve(std::size_t) {}
  // Bytes the backend itself will hold for such attention, and for everything else.
  virtual std::size_t scratch_bytes(const AttentionLimits& limits) const = 0;
  // Takes them (in addition to what there is; a device without need of it does nothing). Returns the first of
  // limits.slots slots in a row, which are the caller's until it releases them.
  virtual Index reserve_scratch(const AttentionLimits&) { return 0; }
  virtual void release_slots(Index /*first*/, Index /*count*/) noexcept {}
  virtual void* allocate(std::size_t bytes) = 0;  // 64-byte aligned, not cleared; throws std::bad_alloc
  virtual void release(void* memory) noexcept = 0;
  virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
  // Uploads from here on may wait until bring_uploads(), to travel together; before that no operation may
  // read what they bring. forget_uploads(): those that wait are given up (an error in between).
  virtual void gather_uploads() {}
  virtual void bring_uploads() {}
  virtual void forget_uploads() noexcept {}
  virtual void download(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* device, std::size_t bytes) = 0;
  // Zeros where something is written only once, or never again: memory of the program takes no room until it
  // is written, and what it took is given back.
  virtual void clear(void* device, std::size_t bytes) { zero(device, bytes); }
  virtual void synchronize() = 0;
  // Activations as floats.
  void download_values(float* host, ConstValues from, Index count);
  void upload_values(Values to, const float* host, Index count);

  // --- work that comes again

  // Runs work, which only enqueues operations: no allocate, upload or download, and nothing that depends on
  // what the device holds. A device may record it when it meets a key for the second time and run the
  // recording from then on: work of one key makes the same calls with the same arguments, and what they point
  // to stays in place.
  virtual void replay(std::uint64_t, const std::function<void()>& work) { work(); }

  // --- working copies of weights

  // Bytes of the copy that the backend reads in place of `count` parameters; 0: it reads the parameters
  // themselves.
  virtual std::size_t weight_copy_bytes(Index) const { return 0; }
  // From now on operations given a pointer into parameters[0 .. count) read the copy
  // (weight_copy_bytes(count) bytes, not filled yet) where they need one. Until unbind_weights(parameters).
  virtual void bind_weights(const float*, Index, void*) {}
  virtual void unbind_weights(const float*) noexcept {}
  // The parameters were written by other means than adamw(), lamb_move() and adafactor(), which take care of
  // the copy.
  virtual void refresh_weights(const float*) {}

  // --- weights packed for good

  // For inference, of weights that no longer change: bytes of layer.weight in a form that products read
  // faster, a multiple of 64; 0: this backend has no such form.
  virtual std::size_t packed_weight_bytes(const Linear& /*layer*/, WeightForm) const { return 0; }
  // Two backends of one layout read each other's packed weights; a part of a file's name.
  virtual std::string packed_weight_layout(WeightForm) const { return {}; }
  // Packs layer.weight into `to`, 64-byte aligned.
  virtual void pack_weight(const Linear&, WeightForm, void* /*to*/) const {}
  // From now on linear_forward() and linear_activation_forward() of this weight, in these sizes, read what is
  // packed and no longer layer.weight; std::logic_error where they are given a part of it. Until
  // unbind_packed_weight().
  virtual void bind_packed_weight(const Linear&, WeightForm, const void* /*packed*/) {}
  virtual void unbind_packed_weight(const float*) noexcept {}

  // Bytes of LambArrays::scratch, whose contents last for one call.
  virtual std::size_t lamb_scratch_bytes(std::span<const LambPiece>) const { return 0; }
  // Bytes of AdafactorArrays::scratch, whose contents last for one call.
  virtual std::size_t adafactor_scratch_bytes(std::span<const AdafactorTensor> tensors) const = 0;

#define BIGBIRD_OPERATION(...) virtual __VA_ARGS__ = 0;
#include "kernels/operations.inc"
};

// Uploads that travel together, where the scope reaches bring().
class UploadsTogether {
 public:
  explicit UploadsTogether(Backend& backend) : backend_(backend) { backend_.gather_uploads(); }
  ~UploadsTogether() {
    if (!brought_) backend_.forget_uploads();
  }
  UploadsTogether(const UploadsTogether&) = delete;
  UploadsTogether& operator=(const UploadsTogether&) = delete;
  void bring() {
    brought_ = true;
    backend_.bring_uploads();
  }

 private:
  Backend& backend_;
  bool brought_ = false;
};

// The CPU backend; uses kernels::thread_count() threads at each call.
std::unique_ptr<Backend> make_cpu_backend(Precision precision = Precision::fp32);

}  // namespace bigbird::kernels
