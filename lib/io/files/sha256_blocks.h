// The inner loop of SHA-256 (FIPS 180-4, section 6.2.2): plain, and with the instructions that processors
// have for it, which are about eight times as fast. Every run of a model takes the digest of its weights. For
// sha256.cpp and its test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bigbird {

constexpr std::size_t sha256_block_bytes = 64;
using Sha256State = std::array<std::uint32_t, 8>;

// Takes `count` blocks of 64 bytes into the state.
using Sha256Compress = void (*)(Sha256State& state, const std::uint8_t* blocks, std::size_t count);

void sha256_compress_plain(Sha256State& state, const std::uint8_t* blocks, std::size_t count);
// Null where the processor lacks the SHA extensions of x86.
Sha256Compress sha256_compress_x86();

}  // namespace bigbird
