// Which bf16 copy stands for which fp32 parameters: several models may be bound at once. Plain C++.
#pragma once

#include <iterator>
#include <map>
#include <stdexcept>

#include "kernels/types.h"

namespace bigbird::kernels::cuda {

class WorkingWeights {
 public:
  struct Binding {
    const float* parameters = nullptr;
    Index count = 0;
    bf16* copy = nullptr;
  };

  void bind(const float* parameters, Index count, bf16* copy) {
    bindings_[parameters] = {parameters, count, copy};
  }
  void unbind(const float* parameters) noexcept { bindings_.erase(parameters); }
  // The binding that holds this parameter, or null.
  const Binding* find(const float* parameter) const {
    const auto behind = bindings_.upper_bound(parameter);
    if (behind == bindings_.begin()) return nullptr;
    const Binding& binding = std::prev(behind)->second;
    return parameter - binding.parameters < binding.count ? &binding : nullptr;
  }
  // Where the copy of this parameter is. Throws std::logic_error when it is not bound.
  const bf16* copy_of(const float* parameter) const {
    const Binding* binding = find(parameter);
    if (binding == nullptr) throw std::logic_error("a parameter whose working copy is not bound");
    return binding->copy + (parameter - binding->parameters);
  }

 private:
  std::map<const float*, Binding> bindings_;  // by first parameter
};

}  // namespace bigbird::kernels::cuda
