// See machine_products.h.
#include "lib/bench/machine_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

// Numbers of a usual size: what is multiplied must be neither zero nor denormal.
std::vector<float> some_numbers(kernels::Index count, std::uint64_t index) {
  CounterRng rng(1, Purpose::test, index);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(rng.next_u32() % 2001u) / 1000.0f - 1.0f;
  return numbers;
}

}  // namespace

std::string LinearProduct::Shape::text() const {
  return fmt::format("{} x {} x {}", rows, out, in);
}

double LinearProduct::Shape::operations() const {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(out) * static_cast<double>(in);
}

std::size_t LinearProduct::Shape::bytes(const kernels::Backend& backend) const {
  const kernels::Index parameters = out * in + out;
  return static_cast<std::size_t>(parameters) * sizeof(float) + backend.weight_copy_bytes(parameters) +
         backend.packed_weight_bytes({nullptr, nullptr, in, out}, kernels::WeightForm::bf16) +
         static_cast<std::size_t>(rows * (in + out)) * kernels::size_of(backend.element_type());
}

LinearProduct::LinearProduct(kernels::Backend& backend, const Shape& shape)
    : backend_(backend), shape_(shape) {
  const kernels::Index parameters = shape.out * shape.in + shape.out;
  try {
    weight_ = static_cast<float*>(backend.allocate(static_cast<std::size_t>(parameters) * sizeof(float)));
    const std::size_t element = kernels::size_of(backend.element_type());
    x_ = backend.allocate(static_cast<std::size_t>(shape.rows * shape.in) * element);
    y_ = backend.allocate(static_cast<std::size_t>(shape.rows * shape.out) * element);
    if (const std::size_t bytes = backend.weight_copy_bytes(parameters); bytes > 0)
      copy_ = backend.allocate(bytes);
    if (const std::size_t bytes = backend.packed_weight_bytes(layer(), kernels::WeightForm::bf16); bytes > 0)
      packed_ = backend.allocate(bytes);
  } catch (...) {
    for (void* memory : {static_cast<void*>(weight_), x_, y_, copy_})
      if (memory != nullptr) backend.release(memory);
    throw;
  }
  const std::vector<float> numbers = some_numbers(parameters, 0);
  backend.upload(weight_, numbers.data(), numbers.size() * sizeof(float));
  const std::vector<float> rows = some_numbers(shape.rows * shape.in, 1);
  backend.upload_values({x_, backend.element_type()}, rows.data(), shape.rows * shape.in);
  backend.bind_weights(weight_, parameters, copy_);
  backend.refresh_weights(weight_);
  if (packed_ == nullptr) return;
  backend.pack_weight(layer(), kernels::WeightForm::bf16, packed_);
  backend.bind_packed_weight(layer(), kernels::WeightForm::bf16, packed_);
}

LinearProduct::~LinearProduct() {
  backend_.synchronize();
  backend_.unbind_weights(weight_);
  backend_.unbind_packed_weight(weight_);
  for (void* memory : {static_cast<void*>(weight_), x_, y_, copy_, packed_})
    if (memory != nullptr) backend_.release(memory);
}

kernels::Linear LinearProduct::layer() const {
  return {weight_, weight_ + shape_.out * shape_.in, shape_.in, shape_.out};
}

void LinearProduct::run() {
  const kernels::ElementType type = backend_.element_type();
  backend_.linear_forward({static_cast<const void*>(x_), type}, layer(), {y_, type}, shape_.rows);
  backend_.synchronize();
}

double best_rate(kernels::Backend& backend, const LinearProduct::Shape& shape) {
  LinearProduct product(backend, shape);
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 4; ++round) {
    const auto start = std::chrono::steady_clock::now();
    product.run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (round > 0) least = std::min(least, taken.count());
  }
  return shape.operations() / least;
}

}  // namespace bigbird
