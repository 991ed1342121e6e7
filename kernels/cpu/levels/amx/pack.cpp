// Floats to packed bf16 operands of AMX; see amx.h. A group is, for every step of depth and every
// part, two tiles of 16 lines of 64 bytes. A line of a holds 32 depths of one row; a line of b holds two
// depths of 16 columns, pair by pair.
#include <immintrin.h>

#include "kernels/cpu/levels/amx/kernels.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

namespace {

constexpr Index tile_lines = 16;
constexpr Index tile_bytes = 1024;
constexpr Index part_bytes = 2 * tile_bytes;  // the two tiles of one part
constexpr Index most_parts = 3;

BIGBIRD_INLINE __mmask16 mask_of(Index count) {
  return count >= 16 ? __mmask16{0xFFFF} : static_cast<__mmask16>(count <= 0 ? 0 : (1u << count) - 1u);
}

// bf16 numbers next to 32 floats, and what they leave over. Both are exact.
BIGBIRD_INLINE __m512i take_part(__m512& low, __m512& high) {
  const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(high, low);
  const __m512i low_words = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(both));
  const __m512i high_words = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(both, 1));
  low = _mm512_sub_ps(low, _mm512_castsi512_ps(_mm512_slli_epi32(low_words, 16)));
  high = _mm512_sub_ps(high, _mm512_castsi512_ps(_mm512_slli_epi32(high_words, 16)));
  return both;
}

BIGBIRD_INLINE void store_line(unsigned char* tile, Index line, __m512i value) {
  _mm512_store_si512(tile + 64 * line, value);
}

// Line i of every part's tile = 32 depths of outer index i; depth is contiguous.
template <Index Parts>
BIGBIRD_INLINE void lines_along_depth(const float* from, Index outer_step, Index outer, Index depth,
                                      unsigned char* tile) {
  const __mmask16 low_mask = mask_of(depth), high_mask = mask_of(depth - 16);
  for (Index i = 0; i < tile_lines; ++i) {
    __m512 low = _mm512_setzero_ps(), high = _mm512_setzero_ps();
    if (i < outer) {
      low = _mm512_maskz_loadu_ps(low_mask, from + i * outer_step);
      high = _mm512_maskz_loadu_ps(high_mask, from + i * outer_step + 16);
    }
    for (Index part = 0; part < Parts; ++part) {
      store_line(tile + part * part_bytes, i, take_part(low, high));
    }
  }
}

// Line i of every part's tile = depths 2i and 2i + 1 of 16 outer indices, pair by pair; outer is contiguous.
template <Index Parts>
BIGBIRD_INLINE void lines_along_outer(const float* from, Index depth_step, Index outer, Index depth,
                                      unsigned char* tile) {
  const __mmask16 mask = mask_of(outer);
  const __m512i zip = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                       22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  for (Index i = 0; i < tile_lines; ++i) {
    __m512 low = _mm512_setzero_ps(), high = _mm512_setzero_ps();
    if (2 * i < depth) low = _mm512_maskz_loadu_ps(mask, from + 2 * i * depth_step);
    if (2 * i + 1 < depth) high = _mm512_maskz_loadu_ps(mask, from + (2 * i + 1) * depth_step);
    for (Index part = 0; part < Parts; ++part) {
      store_line(tile + part * part_bytes, i, _mm512_permutexvar_epi16(zip, take_part(low, high)));
    }
  }
}

// The same of bf16 numbers.
BIGBIRD_INLINE __mmask32 mask_of_halves(Index count) {
  return static_cast<__mmask32>(mask_of(count)) | static_cast<__mmask32>(mask_of(count - 16)) << 16;
}
template <Index Parts>
BIGBIRD_INLINE void lines_along_depth(const bf16* from, Index outer_step, Index outer, Index depth,
                                      unsigned char* tile) {
  const __mmask32 mask = mask_of_halves(depth);
  for (Index i = 0; i < tile_lines; ++i) {
    store_line(tile, i,
               i < outer ? _mm512_maskz_loadu_epi16(mask, from + i * outer_step) : _mm512_setzero_si512());
  }
}
template <Index Parts>
BIGBIRD_INLINE void lines_along_outer(const bf16* from, Index depth_step, Index outer, Index depth,
                                      unsigned char* tile) {
  const __mmask16 mask = mask_of(outer);
  const auto widened = [&](Index row) {
    if (row >= depth) return _mm512_setzero_si512();
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + row * depth_step));
  };
  for (Index i = 0; i < tile_lines; ++i) {
    store_line(tile, i, _mm512_or_si512(widened(2 * i), _mm512_slli_epi32(widened(2 * i + 1), 16)));
  }
}

// Turns the 16 x 16 pairs of a tile.
BIGBIRD_INLINE void transpose(unsigned char* tile) {
  __m512i x[tile_lines];
  __m512i y[tile_lines];
  for (int i = 0; i < 16; ++i) x[i] = _mm512_load_si512(tile + 64 * i);
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_i32x4(x[i], x[4 + i], 0x88);
    y[4 + i] = _mm512_shuffle_i32x4(x[i], x[4 + i], 0xDD);
    y[8 + i] = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0x88);
    y[12 + i] = _mm512_shuffle_i32x4(x[8 + i], x[12 + i], 0xDD);
  }
  for (int i = 0; i < 4; ++i) {
    store_line(tile, i, _mm512_shuffle_i32x4(y[i], y[8 + i], 0x88));
    store_line(tile, 8 + i, _mm512_shuffle_i32x4(y[i], y[8 + i], 0xDD));
    store_line(tile, 4 + i, _mm512_shuffle_i32x4(y[4 + i], y[12 + i], 0x88));
    store_line(tile, 12 + i, _mm512_shuffle_i32x4(y[4 + i], y[12 + i], 0xDD));
  }
}

// The low parts of tiny numbers are below the normal range, where arithmetic takes a hundred times as long;
// AMX takes them for zero anyway.
class FlushToZero {
 public:
  BIGBIRD_INLINE_MEMBER FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  BIGBIRD_INLINE_MEMBER ~FlushToZero() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

template <bool LinesAreOuter, Index Parts, typename Element>
void pack_parts(const Element* data, const AmxOperand& from, void* to) {
  const FlushToZero flush;
  auto* at = static_cast<unsigned char*>(to);
  const bool along_depth = from.depth_step == 1;
  for (Index outer = 0; outer < from.outer; outer += amx_group) {
    for (Index depth = 0; depth < from.depth; depth += amx_group) {
      for (Index half = 0; half < 2; ++half) {
        const Index first = outer + half * tile_lines;
        const Element* const source = data + first * from.outer_step + depth * from.depth_step;
        unsigned char* const tile = at + half * tile_bytes;
        if (along_depth) {
          lines_along_depth<Parts>(source, from.outer_step, from.outer - first, from.depth - depth, tile);
        } else {
          lines_along_outer<Parts>(source, from.depth_step, from.outer - first, from.depth - depth, tile);
        }
        if (along_depth != LinesAreOuter) {
          for (Index part = 0; part < Parts; ++part) transpose(tile + part * part_bytes);
        }
      }
      at += Parts * part_bytes;
    }
  }
}

}  // namespace

template <bool LinesAreOuter>
static void pack(const AmxOperand& from, Index parts, void* to) {
  if (from.narrow != nullptr) return pack_parts<LinesAreOuter, 1>(from.narrow, from, to);
  if (parts == 1) return pack_parts<LinesAreOuter, 1>(from.data, from, to);
  pack_parts<LinesAreOuter, most_parts>(from.data, from, to);
}

void pack_a(const AmxOperand& from, Index parts, void* to) {
  pack<true>(from, parts, to);
}

void pack_b(const AmxOperand& from, Index parts, void* to) {
  pack<false>(from, parts, to);
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
