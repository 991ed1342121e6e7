// gemm.h through cuBLASLt, loaded at run time so that the program starts without it. One plan (descriptors,
// layouts and algorithm) per kind of product is kept. The algorithm is the heuristic's first, or that of a
// table which was measured once (`bigbird devices --tune`): choosing by measurement in a run could give
// another order of sums in another run.
#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/cuda/gemm.h"

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
  decltype(&::cublasLtMatmulAlgoInit) algorithm_init = nullptr;
  decltype(&::cublasLtMatmulAlgoCheck) algorithm_check = nullptr;
  decltype(&::cublasLtMatmulAlgoConfigSetAttribute) algorithm_set = nullptr;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) algorithm_get = nullptr;
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
    find(library, "cublasLtMatmulAlgoInit", table.algorithm_init);
    find(library, "cublasLtMatmulAlgoCheck", table.algorithm_check);
    find(library, "cublasLtMatmulAlgoConfigSetAttribute", table.algorithm_set);
    find(library, "cublasLtMatmulAlgoConfigGetAttribute", table.algorithm_get);
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

cublasComputeType_t compute_type(const Gemm& gemm) {
  const bool narrow = gemm.a.data.type() == ElementType::bf16;
  return !narrow && gemm.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
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
  return gemm.epilogue == Epilogue::bias || gemm.epilogue == Epilogue::gelu_bias ||
         gemm.epilogue == Epilogue::bias_gradient;
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
    case Epilogue::bias_gradient:  // its B is our a
      return CUBLASLT_EPILOGUE_BGRADB;
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

// What makes an algorithm, beside its number. inner and cluster are 16 bits wide, the others 32.
struct ConfigName {
  const char* name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  std::size_t bytes;
};
constexpr ConfigName config_names[] = {{"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
                                       {"splits", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
                                       {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
                                       {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
                                       {"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
                                       {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
                                       {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
                                       {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2}};

// "id=66 tile=20 splits=1 ...". Values are little-endian, and none is negative.
std::string algorithm_text(const cublasLtMatmulAlgo_t& algorithm) {
  const auto value = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, std::size_t bytes) {
    std::uint32_t number = 0;
    std::size_t written = 0;
    check(symbols().algorithm_get(&algorithm, attribute, &number, bytes, &written), "reading an algorithm");
    return std::to_string(number);
  };
  std::string text = "id=" + value(CUBLASLT_ALGO_CONFIG_ID, sizeof(std::int32_t));
  for (const ConfigName& config : config_names)
    text += std::string(" ") + config.name + "=" + value(config.attribute, config.bytes);
  return text;
}

// The numbers of such a text in its order, the algorithm's own first; empty where it is none.
std::vector<std::uint32_t> algorithm_numbers(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::uint32_t> numbers;
  const auto read = [&](const std::string& name) {
    std::string word;
    if (!(words >> word) || word.rfind(name + "=", 0) != 0) return false;
    const char* const begin = word.data() + name.size() + 1;
    const char* const end = word.data() + word.size();
    numbers.push_back(0);
    const auto parsed = std::from_chars(begin, end, numbers.back());
    return parsed.ec == std::errc() && parsed.ptr == end;
  };
  bool good = read("id");
  for (const ConfigName& config : config_names) good = good && read(config.name);
  std::string rest;
  if (!good || words >> rest) numbers.clear();
  return numbers;
}

class CublasLt final : public GemmLibrary {
 public:
  explicit CublasLt(Refusals refusals) : refusals_(std::move(refusals)) {
    check(symbols().create(&handle_), "starting");
  }
  ~CublasLt() override {
    plans_.clear();
    symbols().destroy(handle_);
  }

  std::string description() const override {
    const std::size_t version = symbols().version();
    return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }
  std::size_t workspace_bytes() const override { return workspace_size; }
  void use_workspace(void* device) override { workspace_ = device; }

  bool offers(const Gemm& gemm) override { return plan(gemm).found; }

  std::vector<std::string> algorithms(const Gemm& gemm, int most) override {
    std::vector<std::string> texts;
    for (const cublasLtMatmulAlgo_t& algorithm : heuristic(describe(gemm), gemm, most))
      texts.push_back(algorithm_text(algorithm));
    return texts;
  }

  bool choose(const Gemm& gemm, const std::string& algorithm) override {
    Plan made = describe(gemm);
    if (!apply(made, gemm, algorithm)) return false;
    const Key key = key_of(gemm);
    plans_.erase(key);
    plans_.emplace(key, std::move(made));
    return true;
  }

  void run(const Gemm& gemm, Stream stream) override {
    if (gemm.m == 0 || gemm.n == 0) return;
    if (gemm.k > 0 && !plan(gemm).found) refusals_.add(gemm);
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
    Plan made = describe(gemm);
    if (const ProductTable::Choice* choice = table_choice(gemm)) {
      if (apply(made, gemm, choice->algorithm)) return made;
      refusals_.tell_useless_row(gemm);
    }
    const std::vector<cublasLtMatmulAlgo_t> offered = heuristic(made, gemm, 1);
    made.found = !offered.empty();
    if (made.found) made.algorithm = offered.front();
    return made;
  }

  // The plan without an algorithm.
  static Plan describe(const Gemm& gemm) {
    cublasLtMatmulDesc_t operation = nullptr;
    check(symbols().operation_create(&operation, compute_type(gemm), CUDA_R_32F), "describing a product");
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
    return made;
  }

  // Gives the plan this algorithm, if it can run so.
  bool apply(Plan& plan, const Gemm& gemm, const std::string& text) const {
    const std::vector<std::uint32_t> numbers = algorithm_numbers(text);
    if (numbers.empty()) return false;
    cublasLtMatmulAlgo_t algorithm{};
    const cudaDataType_t input = data_type(gemm.a.data.type()), output = data_type(gemm.d.data.type());
    bool good =
        symbols().algorithm_init(handle_, compute_type(gemm), CUDA_R_32F, input, input, output, output,
                                 static_cast<int>(numbers[0]), &algorithm) == CUBLAS_STATUS_SUCCESS;
    for (std::size_t i = 0; good && i < std::size(config_names); ++i) {
      good = symbols().algorithm_set(&algorithm, config_names[i].attribute, &numbers[i + 1],
                                     config_names[i].bytes) == CUBLAS_STATUS_SUCCESS;
    }
    cublasLtMatmulHeuristicResult_t result{};
    good = good &&
           symbols().algorithm_check(handle_, plan.operation.get(), plan.b.get(), plan.a.get(), plan.d.get(),
                                     plan.d.get(), &algorithm, &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= workspace_size;
    if (good) {
      plan.algorithm = algorithm;
      plan.found = true;
    }
    return good;
  }

  // What the library offers, its first choice first.
  std::vector<cublasLtMatmulAlgo_t> heuristic(const Plan& made, const Gemm& gemm, int most) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check(symbols().preference_create(&preference), "stating a preference");
    const Owned<cublasLtMatmulPreference_t> owner(preference, symbols().preference_destroy);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_size);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(gemm.b.data.data()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(gemm.a.data.data()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(gemm.d.data.data()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(gemm.d.data.data()));
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
    int count = 0;
    const cublasStatus_t status =
        symbols().heuristic(handle_, made.operation.get(), made.b.get(), made.a.get(), made.d.get(),
                            made.d.get(), preference, most, results.data(), &count);
    // A product that it does not offer is no failure: plain_gemm() or other kernels take it.
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE)
      check(status, "a heuristic");
    std::vector<cublasLtMatmulAlgo_t> offered;
    for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i) {
      const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
      if (result.state == CUBLAS_STATUS_SUCCESS) offered.push_back(result.algo);
    }
    return offered;
  }

  Refusals refusals_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<Key, Plan> plans_;
};

}  // namespace

std::unique_ptr<GemmLibrary> make_gemm_library(Remark remark, std::shared_ptr<RefusedProducts> refused) {
  return std::make_unique<CublasLt>(Refusals(std::move(remark), std::move(refused)));
}

}  // namespace bigbird::kernels::cuda
