// SHA-256; see sha256.h. FIPS 180-4, section 6.2.
#include "lib/io/files/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace bigbird {
namespace {

constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

void compress_block(Sha256State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = static_cast<std::uint32_t>(block[4 * i]) << 24 |
           static_cast<std::uint32_t>(block[4 * i + 1]) << 16 |
           static_cast<std::uint32_t>(block[4 * i + 2]) << 8 | static_cast<std::uint32_t>(block[4 * i + 3]);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const Sha256State change{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += change[i];
}

#if defined(__x86_64__)
// sha256rnds2 does two rounds on the state as two vectors, the words a, b, e, f and c, d, g, h from the
// highest down; sha256msg1 and sha256msg2 are the two halves of the message schedule for four words (Intel
// SDM, volume 2).
__attribute__((target("sha,sse4.1"))) void compress_x86(Sha256State& state, const std::uint8_t* blocks,
                                                        std::size_t count) {
  const auto words = [](const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); };
  const __m128i big_endian =
      _mm_set_epi64x(std::int64_t{0x0c0d0e0f08090a0b}, std::int64_t{0x0405060700010203});
  const __m128i cdab = _mm_shuffle_epi32(words(state.data()), 0xb1);      // from the highest word
  const __m128i efgh = _mm_shuffle_epi32(words(state.data() + 4), 0x1b);  // reversed
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; --count, blocks += sha256_block_bytes) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w0 = _mm_shuffle_epi8(words(blocks), big_endian);
    __m128i w1 = _mm_shuffle_epi8(words(blocks + 16), big_endian);
    __m128i w2 = _mm_shuffle_epi8(words(blocks + 32), big_endian);
    __m128i w3 = _mm_shuffle_epi8(words(blocks + 48), big_endian);
    for (std::size_t round = 0; round < 64; round += 4) {
      const __m128i input = _mm_add_epi32(w0, words(round_constants.data() + round));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, input);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(input, 0x0e));
      const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
      w0 = w1;
      w1 = w2;
      w2 = w3;
      w3 = _mm_sha256msg2_epu32(sum, w3);  // those of the last rounds are used by none
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool has_sha_extensions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & 1u << 19) == 0) return false;  // SSE4.1
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & 1u << 29) != 0;
}
#endif

}  // namespace

void sha256_compress_plain(Sha256State& state, const std::uint8_t* blocks, std::size_t count) {
  for (; count > 0; --count, blocks += sha256_block_bytes) compress_block(state, blocks);
}

Sha256Compress sha256_compress_x86() {
#if defined(__x86_64__)
  static const bool found = has_sha_extensions();
  return found ? compress_x86 : nullptr;
#else
  return nullptr;
#endif
}

void Sha256::update(const void* data, std::size_t size) {
  if (size == 0) return;  // an empty vector's data() may be null, which memcpy does not take
  static const Sha256Compress compress =
      sha256_compress_x86() != nullptr ? sha256_compress_x86() : sha256_compress_plain;
  const auto* next = static_cast<const std::uint8_t*>(data);
  total_ += size;
  if (pending_size_ > 0) {
    const std::size_t taken = std::min(size, pending_.size() - pending_size_);
    std::memcpy(pending_.data() + pending_size_, next, taken);
    pending_size_ += taken;
    next += taken;
    size -= taken;
    if (pending_size_ < pending_.size()) return;
    compress(state_, pending_.data(), 1);
    pending_size_ = 0;
  }
  const std::size_t whole = size / pending_.size();
  compress(state_, next, whole);
  next += whole * pending_.size();
  size -= whole * pending_.size();
  if (size > 0) std::memcpy(pending_.data(), next, size);
  pending_size_ = size;
}

std::string Sha256::finish() {
  const std::uint64_t bits = total_ * 8;
  std::array<std::uint8_t, 72> padding{};
  padding[0] = 0x80;
  const std::size_t zeros_end = (pending_size_ < 56 ? 56 : 120) - pending_size_;
  for (std::size_t i = 0; i < 8; ++i)
    padding[zeros_end + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  update(padding.data(), zeros_end + 8);
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[(word >> shift) & 15u];
  }
  return text;
}

std::string sha256_bytes(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.finish();
}

std::string sha256_file(const std::string& path) {
  Sha256 hash;
  read_pieces(path, [&](std::string_view piece) {
    hash.update(piece.data(), piece.size());
    throw_if_cancelled_anywhere();
  });
  return hash.finish();
}

FileDigest digest_of_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? FileDigest{} : FileDigest{bytes, sha256_file(path)};
}

bool file_has_digest(const std::string& path, const FileDigest& digest) {
  std::error_code error;
  if (digest.sha256.empty() || !std::filesystem::is_regular_file(path, error)) return false;
  return std::filesystem::file_size(path, error) == digest.bytes && !error &&
         sha256_file(path) == digest.sha256;
}

std::string sampled_digest(const std::string& path) {
  constexpr std::size_t stretches = 512, stretch_bytes = 4096;
  const MappedFile file(path);
  Sha256 digest;
  const std::string size = std::to_string(file.size());
  digest.update(size.data(), size.size());
  const std::size_t bytes = std::min(stretch_bytes, file.size());
  const std::size_t room = file.size() - bytes;  // for the first byte of a stretch
  for (std::size_t i = 0; i < stretches; ++i) {
    // Of quotient and remainder, so that the product stays in range.
    constexpr std::size_t steps = stretches - 1;
    digest.update(file.data() + room / steps * i + room % steps * i / steps, bytes);
  }
  return digest.finish();
}

}  // namespace bigbird
