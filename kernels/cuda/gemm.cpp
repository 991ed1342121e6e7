// What both libraries of gemm.h share: the count of products that are left to plain_gemm().
#include "kernels/cuda/gemm.h"

#include <cstdint>

namespace bigbird::kernels::cuda {

const char* operand_type(const Gemm& gemm) {
  if (gemm.a.data.type() == ElementType::bf16) return "bf16";
  return gemm.tf32 ? "tf32" : "fp32";
}

std::string product_key(const Gemm& gemm) {
  const char* const epilogues[] = {"none", "bias", "gelu_bias", "dgelu", "bias_gradient"};
  std::string key = std::string(operand_type(gemm)) + "\t" +
                    (gemm.d.data.type() == ElementType::bf16 ? "bf16" : "fp32") + "\t" +
                    (gemm.transpose_a ? "T" : "N") + (gemm.transpose_b ? "T" : "N") + "\t" +
                    (gemm.accumulate ? "1" : "0") + "\t" + epilogues[static_cast<int>(gemm.epilogue)];
  if (gemm.epilogue == Epilogue::gelu_bias && gemm.aux != nullptr) key += "_kept";
  for (const Index size : {gemm.m, gemm.n, gemm.k}) key += "\t" + std::to_string(size);
  return key;
}

const ProductTable::Choice* GemmLibrary::table_choice(const Gemm& gemm) const {
  if (table_.empty()) return nullptr;
  const auto whole = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; };
  if (!whole(gemm.a.data.data()) || !whole(gemm.b.data.data()) || !whole(gemm.d.data.data()) ||
      !whole(gemm.bias.data()) || !whole(gemm.aux.data()))
    return nullptr;
  const auto found = table_.choices.find(product_key(gemm));
  return found == table_.choices.end() ? nullptr : &found->second;
}

GemmLibrary::Form GemmLibrary::form(const Gemm& gemm) const {
  const ProductTable::Choice* const choice = table_choice(gemm);
  if (choice == nullptr) return Form::unsaid;
  return choice->algorithm == ProductTable::split ? Form::split : Form::fused;
}

void Refusals::tell_useless_row(const Gemm& gemm) {
  if (remark_)
    remark_("the table of products has an algorithm for " + std::to_string(gemm.m) + " x " +
            std::to_string(gemm.n) + " x " + std::to_string(gemm.k) +
            " that cuBLASLt does not take: its own choice computes it");
}

void Refusals::add(const Gemm& gemm) {
  const std::string shape = std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " +
                            std::to_string(gemm.k) + " (" + operand_type(gemm) + ")";
  const bool fresh = shapes_.insert(shape).second;
  if (count_ != nullptr) {
    count_->shapes += fresh ? 1 : 0;
    ++count_->calls;
  }
  if (fresh && remark_)
    remark_("cuBLASLt offers no product of " + shape +
            ": a kernel of the program's own computes it, more slowly");
}

}  // namespace bigbird::kernels::cuda
