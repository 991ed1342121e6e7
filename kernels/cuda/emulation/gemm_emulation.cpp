// gemm.h by plain loops: operands as they are stored (or rounded to tf32), sums in double; or, with
// options().truncated_sums, as the tensor cores have them that a device computes products of bf16 and tf32
// with.
#include "kernels/cuda/gemm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/activations.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/emulation.h"
#include "kernels/cuda/emulation/memory_registry.h"
#include "kernels/cuda/emulation/tensor_core.h"

namespace bigbird::kernels::cuda {
namespace {

float value_at(ConstValues values, Index i) {
  return values.type() == ElementType::fp32 ? values.as<float>()[i] : to_float(values.as<bf16>()[i]);
}

void set(Values values, Index i, float value) {
  if (values.type() == ElementType::fp32) {
    values.as<float>()[i] = value;
  } else {
    values.as<bf16>()[i] = to_bf16(value);
  }
}

std::size_t extent(Index rows, Index columns, Index stride, ElementType type) {
  return static_cast<std::size_t>((rows - 1) * stride + columns) * size_of(type);
}

void check(bool good, const char* what) {
  if (!good) throw emulation::EmulationError(std::string("matrix product: ") + what);
}

// op(source) as rows x columns of double.
std::vector<double> dense(const ConstRows& source, Index rows, Index columns, bool transposed, bool tf32) {
  const Index stored_rows = transposed ? columns : rows;
  const Index stored_columns = transposed ? rows : columns;
  check(source.stride >= stored_columns, "an operand's stride is less than its columns");
  emulation::device_memory().require(source.data.data(),
                                     extent(stored_rows, stored_columns, source.stride, source.data.type()),
                                     "matrix product: an operand is outside of device memory");
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < columns; ++column) {
      float value =
          value_at(source.data, transposed ? column * source.stride + row : row * source.stride + column);
      if (tf32) value = float_of_bits(to_tf32(value));
      values[static_cast<std::size_t>(row * columns + column)] = static_cast<double>(value);
    }
  }
  return values;
}

// sums[column] += row `row` of the product over k from `begin` to `end`, in groups of k.
void sum_truncated(const Gemm& gemm, const std::vector<double>& left, const std::vector<double>& right,
                   Index row, Index first_k, Index end_k, bool tf32, std::vector<double>& sums) {
  const auto group = static_cast<Index>(tf32 ? emulation::tf32_group : emulation::bf16_group);
  const double* const factors = left.data() + row * gemm.k;
  for (Index begin = 0; begin < gemm.n; begin += 8) {
    const Index columns = std::min<Index>(8, gemm.n - begin);
    float c[8] = {};
    for (Index first = first_k; first < end_k; first += group) {
      const auto count = static_cast<std::size_t>(std::min(group, end_k - first));
      const double* const lines = right.data() + first * gemm.n + begin;
      if (columns == 8) {
        emulation::add_truncated(c, factors + first, lines, static_cast<std::size_t>(gemm.n), count);
        continue;
      }
      double b[8][8] = {};
      for (std::size_t k = 0; k < count; ++k) {
        std::copy_n(lines + static_cast<Index>(k) * gemm.n, columns, b[k]);
      }
      emulation::add_truncated(c, factors + first, b[0], 8, count);
    }
    for (Index column = 0; column < columns; ++column) {
      sums[static_cast<std::size_t>(begin + column)] += static_cast<double>(c[column]);
    }
  }
}

// splits: k in so many parts, each summed in double; the parts are then added in fp32, in their order.
void multiply(const Gemm& gemm, Index splits) {
  const bool tf32 = gemm.tf32 && gemm.a.data.type() == ElementType::fp32;
  std::vector<double> left;
  std::vector<double> right;
  if (gemm.k > 0) {
    left = dense(gemm.a, gemm.m, gemm.k, gemm.transpose_a, tf32);
    right = dense(gemm.b, gemm.k, gemm.n, gemm.transpose_b, tf32);
  }
  const bool on_tensor_cores = tf32 || gemm.a.data.type() == ElementType::bf16;
  const bool truncated = on_tensor_cores && emulation::options().truncated_sums;
  for (Index row = 0; gemm.epilogue == Epilogue::bias_gradient && row < gemm.m; ++row) {
    const double* const factors = left.data() + row * gemm.k;
    const Values bias(const_cast<void*>(gemm.bias.data()), gemm.bias.type());  // this epilogue writes it
    set(bias, row, static_cast<float>(std::accumulate(factors, factors + gemm.k, 0.0)));
  }
  const Index each = (gemm.k + splits - 1) / splits;
  std::vector<double> sums(static_cast<std::size_t>(gemm.n));
  std::vector<float> parts(sums.size());
  for (Index row = 0; row < gemm.m; ++row) {
    for (Index column = 0; column < gemm.n; ++column) {
      const Index at = row * gemm.d.stride + column;
      sums[static_cast<std::size_t>(column)] =
          gemm.accumulate ? static_cast<double>(value_at(gemm.d.data, at)) : 0.0;
    }
    for (Index part = 0; part < splits; ++part) {
      const Index first = std::min(part * each, gemm.k), end = std::min(first + each, gemm.k);
      if (truncated) sum_truncated(gemm, left, right, row, first, end, tf32, sums);
      for (Index k = first; k < (truncated ? first : end); ++k) {
        const double factor = left[static_cast<std::size_t>(row * gemm.k + k)];
        const double* line = right.data() + k * gemm.n;
        double* sum = sums.data();
        for (Index column = 0; column < gemm.n; ++column) sum[column] += factor * line[column];
      }
      for (std::size_t column = 0; splits > 1 && column < sums.size(); ++column) {
        const auto sum = static_cast<float>(sums[column]);
        parts[column] = part == 0 ? sum : parts[column] + sum;
        sums[column] = part + 1 == splits ? static_cast<double>(parts[column]) : 0.0;
      }
    }
    for (Index column = 0; column < gemm.n; ++column) {
      auto value = static_cast<float>(sums[static_cast<std::size_t>(column)]);
      if (gemm.epilogue == Epilogue::bias || gemm.epilogue == Epilogue::gelu_bias) {
        value += value_at(gemm.bias, column);
      }
      if (gemm.epilogue == Epilogue::gelu_bias) {
        if (gemm.aux != nullptr) set(gemm.aux, row * gemm.n + column, value);
        value = gelu(value);
      }
      if (gemm.epilogue == Epilogue::dgelu)
        value *= gelu_derivative(value_at(gemm.aux, row * gemm.n + column));
      set(gemm.d.data, row * gemm.d.stride + column, value);
    }
  }
}

void check_arguments(const Gemm& gemm) {
  const ElementType type = gemm.d.data.type();
  check(gemm.d.stride >= gemm.n, "the result's stride is less than its columns");
  check(gemm.a.data.type() == gemm.b.data.type(), "operands of two types");
  check(type == ElementType::fp32 || type == gemm.a.data.type(),
        "a result that is narrower than the operands");
  emulation::MemoryRegistry& memory = emulation::device_memory();
  memory.require(gemm.d.data.data(), extent(gemm.m, gemm.n, gemm.d.stride, type),
                 "matrix product: the result is outside of device memory");
  if (gemm.epilogue == Epilogue::bias || gemm.epilogue == Epilogue::gelu_bias) {
    check(gemm.bias.type() == type, "a bias of another type than the result");
    memory.require(gemm.bias.data(), extent(1, gemm.n, gemm.n, type),
                   "matrix product: the bias is outside of device memory");
  }
  if (gemm.epilogue == Epilogue::bias_gradient) {
    check(gemm.bias.type() == type, "the gradient of a bias of another type than the result");
    memory.require(gemm.bias.data(), extent(1, gemm.m, gemm.m, type),
                   "matrix product: the gradient of a bias is outside of device memory");
  }
  const bool needs_aux = gemm.epilogue == Epilogue::dgelu;
  if (needs_aux || (gemm.epilogue == Epilogue::gelu_bias && gemm.aux != nullptr)) {
    check(gemm.aux.type() == type, "an aux matrix of another type than the result");
    memory.require(gemm.aux.data(), extent(gemm.m, gemm.n, gemm.n, type),
                   "matrix product: the aux matrix is outside of device memory");
  }
}

class EmulatedGemmLibrary : public GemmLibrary {
 public:
  explicit EmulatedGemmLibrary(Refusals refusals) : refusals_(std::move(refusals)) {}
  std::string description() const override { return "plain loops"; }
  std::size_t workspace_bytes() const override { return 4096; }
  void use_workspace(void* device) override { workspace_ = device; }
  bool offers(const Gemm& gemm) override { return gemm.k != emulation::options().refused_depth; }
  std::vector<std::string> algorithms(const Gemm& gemm, int most) override {
    std::vector<std::string> texts;
    for (const Index splits : every_split) {
      if (offers(gemm) && splits <= gemm.k && static_cast<int>(texts.size()) < most)
        texts.push_back("splits=" + std::to_string(splits));
    }
    return texts;
  }
  bool choose(const Gemm& gemm, const std::string& algorithm) override {
    for (const Index splits : every_split) {
      if (algorithm != "splits=" + std::to_string(splits) || splits > gemm.k) continue;
      chosen_[product_key(gemm)] = splits;
      return true;
    }
    return false;
  }
  void run(const Gemm& gemm, Stream stream) override {
    if (gemm.m == 0 || gemm.n == 0) return;
    check(emulation::device_memory().holds(workspace_, workspace_bytes()), "no workspace in device memory");
    check_arguments(gemm);
    if (emulation::options().product_asked) emulation::options().product_asked(gemm);
    if (gemm.k > 0 && !offers(gemm)) {
      refusals_.add(gemm);
      return plain_gemm(gemm, stream);
    }
    const Index splits = splits_of(gemm);
    emulation::submit(stream, [gemm, splits] {
      multiply(gemm, splits);
      // An invented time: the parts of a sum run beside each other, and each costs something.
      emulation::spend(100.0 * static_cast<double>(gemm.k) / static_cast<double>(splits) +
                       2000.0 * static_cast<double>(splits));
      if (gemm.epilogue != Epilogue::none && gemm.epilogue != Epilogue::bias)
        emulation::spend(emulation::options().epilogue_microseconds);
    });
  }

 private:
  static constexpr Index every_split[] = {1, 2, 4};

  Index splits_of(const Gemm& gemm) {
    const std::string key = product_key(gemm);
    auto found = chosen_.find(key);
    if (found == chosen_.end()) {
      const ProductTable::Choice* const choice = table_choice(gemm);
      if (choice != nullptr && choose(gemm, choice->algorithm)) return chosen_.at(key);
      if (choice != nullptr) refusals_.tell_useless_row(gemm);
      found = chosen_.emplace(key, 1).first;
    }
    return found->second;
  }

  Refusals refusals_;
  std::map<std::string, Index> chosen_;  // by product_key()
  void* workspace_ = nullptr;
};

}  // namespace

std::unique_ptr<GemmLibrary> make_gemm_library(Remark remark, std::shared_ptr<RefusedProducts> refused) {
  return std::make_unique<EmulatedGemmLibrary>(Refusals(std::move(remark), std::move(refused)));
}

}  // namespace bigbird::kernels::cuda
