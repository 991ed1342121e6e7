// A libcublasLt that runs on the processor: what gemm_cublaslt.cpp calls, as NVIDIA documents it
// (column-major matrices, op(), epilogues over rows), by plain loops. It shows on any machine that the
// descriptions of products are right. Products over 13 are refused, to see what happens then; others have an
// algorithm that sums in one part or in two.
#include <cublasLt.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "kernels/activations.h"
#include "kernels/bf16.h"

namespace {

using bigbird::kernels::bf16;
using Attributes = std::map<int, std::vector<char>>;

struct Layout {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t distance;  // between columns
};

// The library's objects are opaque: these stand behind the pointers.
Attributes& attributes(void* object) {
  return *static_cast<Attributes*>(object);
}
const Layout& layout(const void* object) {
  return *static_cast<const Layout*>(object);
}
cublasStatus_t set(void* object, int attribute, const void* value, std::size_t bytes) {
  const auto* const first = static_cast<const char*>(value);
  attributes(object)[attribute].assign(first, first + bytes);
  return CUBLAS_STATUS_SUCCESS;
}
template <class Value>
Value get(void* object, int attribute, Value otherwise) {
  const auto found = attributes(object).find(attribute);
  if (found == attributes(object).end() || found->second.size() != sizeof(Value)) return otherwise;
  Value value;
  std::memcpy(&value, found->second.data(), sizeof value);
  return value;
}

float read(const void* data, cudaDataType type, std::int64_t i) {
  return type == CUDA_R_32F ? static_cast<const float*>(data)[i]
                            : to_float(static_cast<const bf16*>(data)[i]);
}
void write(void* data, cudaDataType type, std::int64_t i, float value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[i] = value;
  } else {
    static_cast<bf16*>(data)[i] = bigbird::kernels::to_bf16(value);
  }
}

// An algorithm: its number, its attributes as halves of words (from 1 on), and of the heuristic's the length
// that it is for.
constexpr std::uint64_t only_algorithm = 7;
std::uint32_t config_of(const cublasLtMatmulAlgo_t& algorithm, int attribute) {
  return static_cast<std::uint32_t>(algorithm.data[attribute / 2 + 1] >> (attribute % 2 * 32));
}
void set_config(cublasLtMatmulAlgo_t& algorithm, int attribute, std::uint32_t value) {
  std::uint64_t& word = algorithm.data[attribute / 2 + 1];
  const int shift = attribute % 2 * 32;
  word = (word & ~(std::uint64_t{0xffffffff} << shift)) | (std::uint64_t{value} << shift);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() {
  return 130207;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (scale != CUDA_R_32F || (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new Attributes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t object) {
  delete &attributes(object);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t object,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  return set(object, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t distance) {
  if (distance < static_cast<std::int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, distance});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(const cublasLtMatrixLayout_t object) {
  delete &layout(object);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new Attributes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t object) {
  delete &attributes(object);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t object,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return set(object, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  const bool a_turned = get(operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T;
  const bool b_turned = get(operation, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) == CUBLAS_OP_T;
  const std::uint64_t summed = a_turned ? layout(a).rows : layout(a).columns;
  const bool fits = summed == (b_turned ? layout(b).columns : layout(b).rows) &&
                    (a_turned ? layout(a).columns : layout(a).rows) == layout(d).rows &&
                    (b_turned ? layout(b).rows : layout(b).columns) == layout(d).columns;
  *count = 0;
  if (!fits) return CUBLAS_STATUS_INVALID_VALUE;
  if (summed == 13) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (*count = 0; *count < most && *count < (summed > 1 ? 2 : 1); ++*count) {
    cublasLtMatmulHeuristicResult_t& result = results[*count];
    result = {};
    result.state = CUBLAS_STATUS_SUCCESS;
    result.algo.data[0] = only_algorithm;
    set_config(result.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, static_cast<std::uint32_t>(*count) + 1);
    set_config(result.algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 5);
    result.algo.data[7] = summed;  // an algorithm is for one shape
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t, int id,
                                      cublasLtMatmulAlgo_t* algorithm) {
  if (id != static_cast<int>(only_algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  *algorithm = {};
  algorithm->data[0] = only_algorithm;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  const bool narrow =
      attribute == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
  if (attribute == CUBLASLT_ALGO_CONFIG_ID || bytes != (narrow ? 2u : 4u)) return CUBLAS_STATUS_INVALID_VALUE;
  std::uint32_t number = 0;
  std::memcpy(&number, value, bytes);
  set_config(*algorithm, attribute, number);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, size_t bytes, size_t* written) {
  const std::uint32_t number = attribute == CUBLASLT_ALGO_CONFIG_ID
                                   ? static_cast<std::uint32_t>(algorithm->data[0])
                                   : config_of(*algorithm, attribute);
  std::memcpy(value, &number, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const bool a_turned = get(operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T;
  const std::uint64_t summed = a_turned ? layout(a).rows : layout(a).columns;
  const std::uint32_t splits = config_of(*algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  *result = {};
  return splits == 0 || splits > 2 || splits > summed || summed == 13 ? CUBLAS_STATUS_NOT_SUPPORTED
                                                                      : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t, cudaStream_t) {
  const Layout& left = layout(a_layout);
  const Layout& right = layout(b_layout);
  const Layout& result = layout(d_layout);
  const bool a_turned = get(operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T;
  const bool b_turned = get(operation, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) == CUBLAS_OP_T;
  const auto summed = static_cast<std::int64_t>(a_turned ? left.rows : left.columns);
  if (workspace == nullptr || algorithm->data[0] != only_algorithm || c != d)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm->data[7] != 0 && algorithm->data[7] != static_cast<std::uint64_t>(summed))
    return CUBLAS_STATUS_INVALID_VALUE;
  const std::uint32_t splits = config_of(*algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  const std::int64_t part = splits == 2 ? (summed + 1) / 2 : summed;
  const auto epilogue = get(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                            static_cast<cublasLtEpilogue_t>(CUBLASLT_EPILOGUE_DEFAULT));
  const void* const bias = get<const void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  void* const aux = get<void*>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, nullptr);
  const auto aux_distance = get<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 0);
  for (std::int64_t column = 0; column < static_cast<std::int64_t>(result.columns); ++column) {
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(result.rows); ++row) {
      double sum = 0.0;
      float parts = 0.0f;
      for (std::int64_t i = 0; i < summed; ++i) {
        if (i == part) {
          parts = static_cast<float>(sum);
          sum = 0.0;
        }
        sum += static_cast<double>(
                   read(a, left.type, a_turned ? i + row * left.distance : row + i * left.distance)) *
               static_cast<double>(
                   read(b, right.type, b_turned ? column + i * right.distance : i + column * right.distance));
      }
      const std::int64_t at = row + column * result.distance;
      float value = (static_cast<float>(sum) + parts) * *static_cast<const float*>(alpha);
      const float share = *static_cast<const float*>(beta);
      if (share != 0.0f) value += share * read(d, result.type, at);
      const std::int64_t aux_at = row + column * aux_distance;
      switch (epilogue) {
        case CUBLASLT_EPILOGUE_DEFAULT:
          break;
        case CUBLASLT_EPILOGUE_BIAS:
          value += read(bias, result.type, row);
          break;
        case CUBLASLT_EPILOGUE_GELU_BIAS:
          value = bigbird::kernels::gelu(value + read(bias, result.type, row));
          break;
        case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
          value += read(bias, result.type, row);
          write(aux, result.type, aux_at, value);
          value = bigbird::kernels::gelu(value);
          break;
        case CUBLASLT_EPILOGUE_BGRADB:  // the sums of the columns of op(b), of the type of d
          if (row == 0) {
            double total = 0.0;
            for (std::int64_t i = 0; i < summed; ++i)
              total += static_cast<double>(
                  read(b, right.type, b_turned ? column + i * right.distance : i + column * right.distance));
            write(const_cast<void*>(bias), result.type, column, static_cast<float>(total));
          }
          break;
        case CUBLASLT_EPILOGUE_DGELU:
          value *= bigbird::kernels::gelu_derivative(read(aux, result.type, aux_at));
          break;
        default:
          return CUBLAS_STATUS_NOT_SUPPORTED;
      }
      write(d, result.type, at, value);
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
