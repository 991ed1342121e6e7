// What the fuzzer of variant files does with its bytes; the suite's short run does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/vcf.h"
#include "tests/fuzz/fuzz_file.h"

namespace bigbird::fuzz {

// Reads all records and writes them as text with a field added. With `again`, what was written is read, and
// has as many records at the same places (a file that is synced: slow). An Error, in one line, is a right
// answer. Returns whether all was read.
inline bool vcf(const std::uint8_t* data, std::size_t size, bool again, const char* suffix = ".vcf") {
  bool read = false;
  with_file(suffix, data, size, [&](const std::string& path) {
    const std::string copy = again ? path + ".copy" : "/dev/null";
    std::uint64_t places = 0;
    const auto count = [](std::uint64_t sum, const VcfRecord& record) {
      if (record.chrom.empty() || record.ref.empty() || record.position < -1) std::abort();
      for (const std::string& alt : record.alts) {
        if (alt.empty()) std::abort();
      }
      return sum * 31 + static_cast<std::uint64_t>(record.position) + record.alts.size();
    };
    try {
      VcfReader reader(path);
      VcfWriter writer(copy, VcfType::text, reader, {{"1", 1000}}, {{"AC", "1", "Integer", "put in"}}, {});
      VcfRecord record;
      while (reader.next(record)) {
        places = count(places, record);
        writer.write(record, {std::vector<std::int32_t>{1}});
      }
      writer.close();
    } catch (const Error& error) {
      if (error.message().find('\n') != std::string::npos) std::abort();
      throw;
    }
    read = true;
    if (!again) return;
    VcfRecord record;
    std::uint64_t places_again = 0;
    try {
      VcfReader reader(copy);
      while (reader.next(record)) places_again = count(places_again, record);
    } catch (const Error&) {
      std::abort();
    }
    if (places != places_again) std::abort();
    std::filesystem::remove(copy);
  });
  return read;
}

// The same for BCF as it is before compression, whose checksums would keep nearly all changes away.
inline bool bcf(const std::uint8_t* data, std::size_t size) {
  return vcf(data, size, false, ".bcf");
}

}  // namespace bigbird::fuzz
