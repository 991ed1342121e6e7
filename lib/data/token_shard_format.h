// The bytes that the reader and the writer of token shards must agree on; see token_shards.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bigbird {

inline constexpr char shard_magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', '\0', '\0'};
inline constexpr std::uint64_t shard_version = 1;
inline constexpr std::uint8_t shard_type_int32 = 4;
inline constexpr std::uint8_t shard_type_uint16 = 8;
// Magic, version, type, number of sentences, number of document entries.
inline constexpr std::size_t shard_header_size = sizeof shard_magic + 8 + 1 + 8 + 8;
// Megatron's rule for when ids fit in 16 bits.
inline constexpr std::size_t largest_uint16_vocabulary = 65500;

// "P" or "P.00007".
std::string shard_stem(const std::string& prefix, bool numbered, std::size_t number);

}  // namespace bigbird
