// What the fuzzer of attention plans does with its bytes; the suite's short run does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/model/plans/plan_table.h"
#include "tests/fuzz/fuzz_file.h"

namespace bigbird::fuzz {

// Reads the bytes as a plan; what is read is written and read again, and is the same. An Error, in one line,
// is a right answer. Returns whether the bytes were read.
inline bool plan(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  with_file(".json", data, size, [&](const std::string& path) {
    try {
      const PlanTable table = PlanTable::read(path);
      const std::string text = table.json();
      for (std::int64_t layer = 0; layer < table.layers(); ++layer) {
        const PlanTable::Heads heads = table.rows(layer, table.blocks());
        if (static_cast<std::int64_t>(heads.size()) != table.heads()) std::abort();
      }
      write_bytes(path, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
      if (PlanTable::read(path).json() != text) std::abort();
      whole = true;
      table.rows(0, (table.blocks() + 1) / 2);  // may leave a row without a block
    } catch (const Error& error) {
      if (error.message().find('\n') != std::string::npos) std::abort();
    }
  });
  return whole;
}

}  // namespace bigbird::fuzz
