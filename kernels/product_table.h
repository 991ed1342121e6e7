// How the products of a device are computed, as they were measured there: a table of cuBLASLt's algorithms,
// which a run takes in place of the library's own first choice, and of epilogues that are better left to
// kernels of this program, or taken along. Text in, text out; no CUDA.
#pragma once

#include <map>
#include <string>

namespace bigbird::kernels {

struct ProductTable {
  struct Choice {
    std::string algorithm;          // as the library's text has it: "id=66 tile=20 ..."; or `split`
    double microseconds = 0;        // as measured, for people
    double first_microseconds = 0;  // of the library's first choice
  };
  std::string device;   // "NVIDIA H200"
  std::string library;  // "cuBLASLt 13.0.2"; another version may mean another thing by an algorithm
  std::map<std::string, Choice> choices;  // by cuda::product_key()

  // In place of an algorithm: what the product's epilogue would do is faster by kernels behind the product
  // alone.
  static constexpr const char* split = "split";

  bool empty() const { return choices.empty(); }
  // Lines with tabs, in the order of the keys. Of version 2 where it has rows that version 1 had not: `split`
  // and the epilogue bias_gradient, which products take along only where there is an algorithm for it.
  std::string text() const;
  // 16 hexadecimal digits of what decides the numbers of a run: not of the times. Empty for an empty table.
  std::string digest() const;
};

// The columns of a key, separated by tabs, with their names.
inline constexpr const char* product_key_columns = "operands\tresult\ttransposed\tadds\tepilogue\tm\tn\tk";

// Of ProductTable::text(). Throws std::invalid_argument, "line 4: ...".
ProductTable parse_product_table(const std::string& text);

}  // namespace bigbird::kernels
