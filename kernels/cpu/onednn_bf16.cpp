// See onednn_bf16.h.
#include "kernels/cpu/onednn_bf16.h"

#include <stdexcept>

#if defined(BIGBIRD_HAVE_ONEDNN)
#include <omp.h>

#include <dnnl.hpp>

namespace bigbird::kernels {

namespace {

using Descriptor = dnnl::memory::desc;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::stream& stream() {
  thread_local dnnl::stream own(engine());
  return own;
}

// A primitive is cut for the threads there are when it is made; these run on one.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

dnnl::primitive_attr scratchpad_by_caller() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::matmul::primitive_desc product_of(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine(), a, b, c, scratchpad_by_caller());
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), scratchpad_by_caller(), engine());
#endif
}

Index padded(std::size_t bytes) {
  return static_cast<Index>((bytes + 63) / 64 * 64);
}

// oneDNN takes what it only reads through the same pointers as what it writes.
template <typename T>
dnnl::memory view(const Descriptor& descriptor, const T* data) {
  return dnnl::memory(descriptor, engine(), const_cast<T*>(data));
}

}  // namespace

bool onednn_has_bf16() {
  const auto found = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (found & wanted) == wanted;
}

struct OnednnBf16Product::Impl {
  Impl(Index n, Index k, Index c_row)
      : a({rows, k}, dnnl::memory::data_type::bf16, dnnl::memory::format_tag::ab),
        plain_b({k, n}, dnnl::memory::data_type::bf16, dnnl::memory::format_tag::ba),
        c({rows, n}, dnnl::memory::data_type::f32, dnnl::memory::dims{c_row, 1}),
        product(product_of(
            a, Descriptor({k, n}, dnnl::memory::data_type::bf16, dnnl::memory::format_tag::any), c)),
        order(engine(), plain_b, engine(), product.weights_desc(), scratchpad_by_caller()),
        multiply(product),
        pack(order) {}

  Descriptor a, plain_b, c;
  dnnl::matmul::primitive_desc product;
  dnnl::reorder::primitive_desc order;
  dnnl::matmul multiply;
  dnnl::reorder pack;
};

OnednnBf16Product::OnednnBf16Product(Index n, Index k, Index c_row) {
  const OneThread one_thread;
  impl_ = std::make_unique<Impl>(n, k, c_row);
}
OnednnBf16Product::~OnednnBf16Product() = default;

Index OnednnBf16Product::packed_bytes() const {
  return padded(impl_->product.weights_desc().get_size());
}
Index OnednnBf16Product::pack_scratch_bytes() const {
  return padded(impl_->order.scratchpad_desc().get_size());
}
Index OnednnBf16Product::multiply_scratch_bytes() const {
  return padded(impl_->product.scratchpad_desc().get_size());
}

void OnednnBf16Product::pack(const std::uint16_t* b, void* packed, void* scratch) const {
  const dnnl::memory from = view(impl_->plain_b, b);
  const dnnl::memory to(impl_->product.weights_desc(), engine(), packed);
  const dnnl::memory work(impl_->order.scratchpad_desc(), engine(), scratch);
  impl_->pack.execute(stream(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, work}});
}

void OnednnBf16Product::multiply(const std::uint16_t* a, const void* packed, float* c, void* scratch) const {
  const dnnl::memory left = view(impl_->a, a);
  const dnnl::memory right = view(impl_->product.weights_desc(), static_cast<const char*>(packed));
  const dnnl::memory out(impl_->c, engine(), c);
  const dnnl::memory work(impl_->product.scratchpad_desc(), engine(), scratch);
  impl_->multiply.execute(
      stream(),
      {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, out}, {DNNL_ARG_SCRATCHPAD, work}});
}

}  // namespace bigbird::kernels

#else

namespace bigbird::kernels {

bool onednn_has_bf16() {
  return false;
}

struct OnednnBf16Product::Impl {};
OnednnBf16Product::OnednnBf16Product(Index, Index, Index) {
  throw std::logic_error("this build has no oneDNN");
}
OnednnBf16Product::~OnednnBf16Product() = default;
Index OnednnBf16Product::packed_bytes() const {
  return 0;
}
Index OnednnBf16Product::pack_scratch_bytes() const {
  return 0;
}
Index OnednnBf16Product::multiply_scratch_bytes() const {
  return 0;
}
void OnednnBf16Product::pack(const std::uint16_t*, void*, void*) const {}
void OnednnBf16Product::multiply(const std::uint16_t*, const void*, float*, void*) const {}

}  // namespace bigbird::kernels
#endif
