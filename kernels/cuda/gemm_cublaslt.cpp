// gemm.h through cuBLASLt, loaded at run time so that the program starts without it. One plan (descriptors,
// layouts and algorithm) per kind of product is kept. The algorithm is always the heuristic's first: choosing
// by measurement could give another order of sums in another run.
#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/plain_gemm.h"

namespace bigbird::kernels::cuda {

namespace {

// What NVIDIA recommends for Hopper; older devices use less of it.
constexpr std::size_t workspace_size = std::size_t{32} << 20;
// What the widest accesses of any algorithm ask for.
constexpr std::uint32_t useful_alignment = 16;

struct Symbols {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtGetVersion) version = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&::cublasLtMatmulDescCreate) operation_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) operation_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) operation_set = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw CudaError(std::string("cuBLASLt lacks ") + name);
}

// By its soname, and where the toolkit puts it. Stays loaded until the program ends.
const Symbols& symbols() {
  static const Symbols loaded = [] {
    const std::string major = std::to_string(CUBLAS_VER_MAJOR);
    const std::string name = "libcublasLt.so." + major;
    std::string why;
    void* library = nullptr;
    for (const std::string& path :
         {name, "/usr/local/cuda/lib64/" + name, "/usr/local/cuda-" + major + "/lib64/" + name}) {
      library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
      if (const char* text = dlerror(); why.empty() && text != nullptr) why = text;
    }
    if (library == nullptr)
      throw CudaError("cuBLASLt " + major + " cannot be loaded: " + why +
                      " (LD_LIBRARY_PATH may name its folder)");
    Symbols table;
    find(library, "cublasLtCreate", table.create);
    find(library, "cublasLtDestroy", table.destroy);
    find(library, "cublasLtGetVersion", table.version);
    find(library, "cublasLtMatmul", table.matmul);
    find(library, "cublasLtMatmulAlgoGetHeuristic", table.heuristic);
    find(library, "cublasLtMatmulDescCreate", table.operation_create);
    find(library, "cublasLtMatmulDescDestroy", table.operation_destroy);
    find(library, "cublasLtMatmulDescSetAttribute", table.operation_set);
    find(library, "cublasLtMatrixLayoutCreate", table.layout_create);
    find(library, "cublasLtMatrixLayoutDestroy", table.layout_destroy);
    find(library, "cublasLtMatmulPreferenceCreate", table.preference_create);
    find(library, "cublasLtMatmulPreferenceDestroy", table.preference_destroy);
    find(library, "cublasLtMatmulPreferenceSetAttribute", table.preference_set);
    return table;
  }();
  return loaded;
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError(std::string("cuBLASLt: ") + what + " failed with status " + std::to_string(status));
}

// An object of the library that is destroyed with its owner.
template <class Pointer>
class Owned {
 public:
  Owned(Pointer pointer, cublasStatus_t (*destroy)(Pointer)) : pointer_(pointer), destroy_(destroy) {}
  Owned(Owned&& other) noexcept : pointer_(other.pointer_), destroy_(other.destroy_) {
    other.pointer_ = nullptr;
  }
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (pointer_ != nullptr) destroy_(pointer_);
  }
  Pointer get() const { return pointer_; }

 private:
  Pointer pointer_;
  cublasStatus_t (*destroy_)(Pointer);
};

cudaDataType_t data_type(ElementType type) {
  return type == ElementType::fp32 ? CUDA_R_32F : CUDA_R_16BF;
}

// The library thinks in columns: a row-major matrix is its transpose there, with the rows' distance as
// leading dimension.
Owned<cublasLtMatrixLayout_t> layout(ElementType type, Index rows, Index columns, Index stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(symbols().layout_create(&made, data_type(type), static_cast<std::uint64_t>(columns),
                                static_cast<std::uint64_t>(rows), std::max<Index>(stride, columns)),
        "describing a matrix");
  return {made, symbols().layout_destroy};
}

std::uint32_t alignment(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  std::uint32_t bytes = useful_alignment;
  while (address % bytes != 0) bytes /= 2;
  return bytes;
}

bool has_bias(const Gemm& gemm) {
  return gemm.epilogue == Epilogue::bias || gemm.epilogue == Epilogue::gelu_bias;
}
bool has_aux(const Gemm& gemm) {
  return (gemm.epilogue == Epilogue::gelu_bias || gemm.epilogue == Epilogue::dgelu) && !(gemm.aux == nullptr);
}

cublasLtEpilogue_t epilogue_of(const Gemm& gemm) {
  switch (gemm.epilogue) {
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::gelu_bias:
      return gemm.aux == nullptr ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::dgelu:
      return CUBLASLT_EPILOGUE_DGELU;
    case Epilogue::none:
      break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

// Everything that decides an algorithm.
using Key = std::tuple<Index, Index, Index,                          // m, n, k
                       Index, Index, Index,                          // strides
                       std::uint32_t, std::uint32_t, std::uint32_t,  // alignments of a, b and d
                       std::uint32_t, std::uint32_t,                 // of bias and aux
                       int, int, bool, bool, bool, bool,
                       int>;  // types, transposes, accumulate, tf32, epilogue

Key key_of(const Gemm& gemm) {
  return {gemm.m,
          gemm.n,
          gemm.k,
          gemm.a.stride,
          gemm.b.stride,
          gemm.d.stride,
          alignment(gemm.a.data.data()),
          alignment(gemm.b.data.data()),
          alignment(gemm.d.data.data()),
          alignment(gemm.bias.data()),
          alignment(gemm.aux.data()),
          static_cast<int>(gemm.a.data.type()),
          static_cast<int>(gemm.d.data.type()),
          gemm.transpose_a,
          gemm.transpose_b,
          gemm.accumulate,
          gemm.tf32,
          static_cast<int>(epilogue_of(gemm))};
}

struct Plan {
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> a;
  Owned<cublasLtMatrixLayout_t> b;
  Owned<cublasLtMatrixLayout_t> d;
  cublasLtMatmulAlgo_t algorithm{};
  bool found = false;  // the library has an algorithm for it
};

template <class Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(symbols().operation_set(operation, attribute, &value, sizeof value), "describing a product");
}
template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const Value& value) {
  check(symbols().preference_set(preference, attribute, &value, sizeof value), "stating a preference");
}

void set_pointers(const Plan& plan, const Gemm& gemm) {
  if (has_bias(gemm)) set(plan.operation.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias.data());
  if (has_aux(gemm)) set(plan.operation.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gemm.aux.data());
}

class CublasLt final : public GemmLibrary {
 public:
  explicit CublasLt(Remark remark) : remark_(std::move(remark)) {
    check(symbols().create(&handle_), "starting");
  }
  ~CublasLt() override {
    plans_.clear();
    symbols().destroy(handle_);
  }
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  std::string description() const override {
    const std::size_t version = symbols().version();
    return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }
  std::size_t workspace_bytes() const override { return workspace_size; }
  void use_workspace(void* device) override { workspace_ = device; }

  bool can_run(const Gemm& gemm) override {
    return gemm.epilogue == Epilogue::none || (gemm.m > 0 && gemm.n > 0 && gemm.k > 0 && plan(gemm).found);
  }

  void run(const Gemm& gemm, Stream stream) override {
    if (gemm.m == 0 || gemm.n == 0) return;
    if (gemm.k == 0 || !plan(gemm).found) return plain_gemm(gemm, stream);
    const Plan& chosen = plan(gemm);
    set_pointers(chosen, gemm);
    const float alpha = 1.0f;
    const float beta = gemm.accumulate ? 1.0f : 0.0f;
    // Exchanged, because d^T = op(b)^T op(a)^T.
    check(symbols().matmul(handle_, chosen.operation.get(), &alpha, gemm.b.data.data(), chosen.b.get(),
                           gemm.a.data.data(), chosen.a.get(), &beta, gemm.d.data.data(), chosen.d.get(),
                           gemm.d.data.data(), chosen.d.get(), &chosen.algorithm, workspace_, workspace_size,
                           static_cast<cudaStream_t>(stream.handle)),
          "a product");
  }

 private:
  const Plan& plan(const Gemm& gemm) {
    const Key key = key_of(gemm);
    const auto known = plans_.find(key);
    return known != plans_.end() ? known->second : plans_.emplace(key, make_plan(gemm)).first->second;
  }

  Plan make_plan(const Gemm& gemm) {
    const bool narrow = gemm.a.data.type() == ElementType::bf16;
    const cublasComputeType_t compute =
        !narrow && gemm.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasLtMatmulDesc_t operation = nullptr;
    check(symbols().operation_create(&operation, compute, CUDA_R_32F), "describing a product");
    Plan made{{operation, symbols().operation_destroy},
              gemm.transpose_a ? layout(gemm.a.data.type(), gemm.k, gemm.m, gemm.a.stride)
                               : layout(gemm.a.data.type(), gemm.m, gemm.k, gemm.a.stride),
              gemm.transpose_b ? layout(gemm.b.data.type(), gemm.n, gemm.k, gemm.b.stride)
                               : layout(gemm.b.data.type(), gemm.k, gemm.n, gemm.b.stride),
              layout(gemm.d.data.type(), gemm.m, gemm.n, gemm.d.stride)};
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(operation, CUBLASLT_MATMUL_DESC_TRANSB, gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(gemm));
    // bias and aux have the type of d, which is the default.
    if (has_aux(gemm)) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{gemm.n});
    set_pointers(made, gemm);  // the heuristic looks at their alignment

    cublasLtMatmulPreference_t preference = nullptr;
    check(symbols().preference_create(&preference), "stating a preference");
    const Owned<cublasLtMatmulPreference_t> owner(preference, symbols().preference_destroy);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_size);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(gemm.b.data.data()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(gemm.a.data.data()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(gemm.d.data.data()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(gemm.d.data.data()));
    cublasLtMatmulHeuristicResult_t result{};
    int count = 0;
    const cublasStatus_t status =
        symbols().heuristic(handle_, operation, made.b.get(), made.a.get(), made.d.get(), made.d.get(),
                            preference, 1, &result, &count);
    // A product that it does not offer is no failure: plain_gemm() or other kernels take it.
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE)
      check(status, "a heuristic");
    made.found = status == CUBLAS_STATUS_SUCCESS && count == 1 && result.state == CUBLAS_STATUS_SUCCESS;
    if (made.found) made.algorithm = result.algo;
    // What an epilogue is refused for, the product alone may be offered for: that is asked for next.
    if (!made.found && gemm.epilogue == Epilogue::none && remark_) {
      remark_("cuBLASLt offers no product of " + std::to_string(gemm.m) + " x " + std::to_string(gemm.n) +
              " x " + std::to_string(gemm.k) +
              (narrow      ? " (bf16)"
               : gemm.tf32 ? " (tf32)"
                           : " (fp32)") +
              ": a kernel of the program's own computes it, more slowly");
    }
    return made;
  }

  Remark remark_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<Key, Plan> plans_;
};

}  // namespace

std::unique_ptr<GemmLibrary> make_gemm_library(Remark remark) {
  return std::make_unique<CublasLt>(std::move(remark));
}

}  // namespace bigbird::kernels::cuda
