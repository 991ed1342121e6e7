// Fuzzes the readers of JSON data sets. Seeds: seeds/json_records.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/fuzz/entry_text.h"

namespace {

bool json_library_accepts(const std::string& text, bool beyond_double) {
  try {
    return !nlohmann::json::parse(text).dump().empty();
  } catch (const nlohmann::json::out_of_range& error) {
    return beyond_double && error.id == 406;
  } catch (const nlohmann::json::parse_error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::json_records(data, size, json_library_accepts);
  return 0;
}
