// Tables of sorted keys, the form of LevelDB's files that TensorFlow's checkpoints have their index in
// (LevelDB, doc/table_format.md): blocks of keys that share their beginnings, a checksum behind each block, a
// block of where the blocks lie, and a footer.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace bigbird {

// Calls take(key, value) for every entry, in ascending order of keys, which views end with the call.
// `path` names the file for messages. Error{bad_input} naming the byte: no such table, one that is cut short
// or damaged (checksums), keys out of order or over 4,096 bytes, and compressed blocks, which are not read.
// The time and the memory are bounded by the file's size, but for keys, whose bytes may add up to 64 MB.
void read_sorted_table(std::span<const std::byte> bytes, const std::string& path,
                       const std::function<void(std::string_view key, std::string_view value)>& take);

}  // namespace bigbird
