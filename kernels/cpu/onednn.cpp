// dnnl_sgemm on one thread: on two Sapphire Rapids cores it ran at 85-100 % of peak on panels of 512 rows of
// plain row-major operands, where the matmul primitive of 2.6.3 (its blocked kernels for plain layouts) ran
// at 35-75 %.
#include "kernels/cpu/onednn.h"

#include <string_view>

#include "kernels/cpu/cpu_options.h"
#include "kernels/cpu/level_choice.h"

namespace bigbird::kernels {

bool onednn_keeps_rows() {
  return std::string_view(available_levels().front()->name) == "x86-64-v4";
}

}  // namespace bigbird::kernels

#if defined(BIGBIRD_HAVE_ONEDNN)
#include <dnnl.h>
#include <omp.h>

#include <stdexcept>

namespace bigbird::kernels {

namespace {

// oneDNN takes one thread inside a parallel region, and all it can get outside of one.
class OneThread {
 public:
  OneThread() : before_(omp_in_parallel() ? 0 : omp_get_max_threads()) {
    if (before_ > 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ > 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

bool has_onednn() {
  return true;
}

void onednn_multiply(const Product& x) {
  const bool plain_a = x.a_column == 1 && x.a_row >= x.k;
  const bool plain_b = x.b_column == 1 && x.b_row >= x.n;
  const OneThread one_thread;
  const dnnl_status_t status = dnnl_sgemm(plain_a ? 'N' : 'T', plain_b ? 'N' : 'T', x.m, x.n, x.k, 1.0f, x.a,
                                          plain_a ? x.a_row : x.a_column, x.b, plain_b ? x.b_row : x.b_column,
                                          x.accumulate ? 1.0f : 0.0f, x.c, x.c_row);
  if (status != dnnl_success) {
    throw std::runtime_error("oneDNN refused a matrix product (status " + std::to_string(status) + ")");
  }
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace bigbird::kernels

#else

#include <stdexcept>

namespace bigbird::kernels {

bool has_onednn() {
  return false;
}
void onednn_multiply(const Product&) {
  throw std::logic_error("this build has no oneDNN");
}
std::string onednn_version() {
  return {};
}

}  // namespace bigbird::kernels
#endif
