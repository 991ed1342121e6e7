// SHA-256 (FIPS 180-4), for provenance and checksums of inputs, not for secrets; and what a file held when it
// was written, to tell later whether it is still that file: whole, not cut, not another one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bigbird {

// The inner loop of SHA-256 (FIPS 180-4, section 6.2.2): plain, and with the instructions that processors
// have for it, which are about eight times as fast. Every run of a model takes the digest of its weights. For
// sha256.cpp and its test.
constexpr std::size_t sha256_block_bytes = 64;
using Sha256State = std::array<std::uint32_t, 8>;

// Takes `count` blocks of 64 bytes into the state.
using Sha256Compress = void (*)(Sha256State& state, const std::uint8_t* blocks, std::size_t count);

void sha256_compress_plain(Sha256State& state, const std::uint8_t* blocks, std::size_t count);
// Null where the processor lacks the SHA extensions of x86.
Sha256Compress sha256_compress_x86();

class Sha256 {
 public:
  void update(const void* data, std::size_t size);
  // The digest as 64 lower-case hexadecimal digits. Call once.
  std::string finish();

 private:
  Sha256State state_{0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                     0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<std::uint8_t, sha256_block_bytes> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};

std::string sha256_bytes(std::string_view bytes);
// Of the bytes as stored (a .gz is not decompressed).
std::string sha256_file(const std::string& path);

struct FileDigest {
  std::uint64_t bytes = 0;
  std::string sha256;  // empty: not known
};

// Of a regular file as stored; without a sha256 for anything else (a folder, a pipe, "-", nothing at all).
FileDigest digest_of_file(const std::string& path);

// Whether `path` holds these bytes; looks at the size first. False where the digest is not known.
bool file_has_digest(const std::string& path, const FileDigest& digest);

// What tells a large file from another one in a fraction of a second: sha256 over its size and 512 stretches
// of 4 KiB, evenly spaced, the first and the last bytes included. A file that differs in single bytes
// elsewhere is not told apart. Errors as MappedFile.
std::string sampled_digest(const std::string& path);

}  // namespace bigbird
