// Weights in int8, the plain product for processors without instructions for it, and which processor has
// them; see int8.h.
#include "kernels/cpu/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/cpu/amx.h"
#include "kernels/cpu/cpu_options.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {
namespace {

constexpr float least_largest = 0x1p-100f;

template <typename Element>
void quantize_plain(const Element* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts) {
  const Index row_bytes = int8_row_bytes(depth);
  for (Index row = 0; row < rows; ++row) {
    const Element* const x = from + row * row_step;
    auto* const bytes = static_cast<std::uint8_t*>(to) + row * row_bytes;
    float least = 0.0f, most = 0.0f;
    bool finite = true;
    for (Index i = 0; i < depth; ++i) {
      const float value = to_float(x[i]);
      finite = finite && std::isfinite(value);
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (!finite || std::max(most, -least) < least_largest) {
      facts[row] = {finite ? 0.0f : std::numeric_limits<float>::quiet_NaN(), 0};
      std::fill_n(bytes, row_bytes, std::uint8_t{0});
      continue;
    }
    const float most_part = most / 255.0f, least_part = least / 255.0f;
    const float scale = most_part - least_part, steps = 1.0f / scale;
    const int zero = static_cast<int>(std::nearbyint(-least * steps));
    facts[row] = {scale, zero};
    for (Index i = 0; i < depth; ++i) {
      const int value = static_cast<int>(std::nearbyint(to_float(x[i]) * steps)) + zero;
      bytes[i] = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
    }
    std::fill_n(bytes + depth, row_bytes - depth, static_cast<std::uint8_t>(zero));
  }
}

void multiply_plain(const Int8Product& x) {
  const Index quads = int8_quads(x.k), row_bytes = int8_row_bytes(x.k);
  const auto* const a = static_cast<const std::uint8_t*>(x.a);
  const auto* const b = static_cast<const std::int8_t*>(x.b);
  const auto* const scales = reinterpret_cast<const float*>(b + int8_scales_at(x.b_columns, x.k));
  for (Index column = 0; column < x.n; column += int8_panel) {
    const std::int8_t* const panel = b + (x.column + column) / int8_panel * int8_panel_bytes(x.k);
    const Index count = std::min(int8_panel, x.n - column);
    for (Index row = 0; row < x.m; ++row) {
      std::int32_t sums[int8_panel] = {};
      const Int8Row facts = x.a_rows[row];
      const std::uint8_t* const bytes = a + row * row_bytes;
      for (Index quad = 0; quad < quads; ++quad) {
        const std::int8_t* const weights = panel + quad * 4 * int8_panel;
        std::int32_t four[4];
        for (Index i = 0; i < 4; ++i) four[i] = std::int32_t{bytes[4 * quad + i]} - facts.zero;
        for (Index j = 0; j < int8_panel; ++j) {
          sums[j] += four[0] * weights[4 * j] + four[1] * weights[4 * j + 1] + four[2] * weights[4 * j + 2] +
                     four[3] * weights[4 * j + 3];
        }
      }
      float* const c = x.c + row * x.c_row + column;
      for (Index j = 0; j < count; ++j)
        c[j] = static_cast<float>(sums[j]) * (facts.scale * scales[x.column + column + j]);
    }
  }
}

}  // namespace

void pack_int8_weight(const float* weight, Index columns, Index depth, void* to) {
  auto* const bytes = static_cast<std::int8_t*>(to);
  auto* const scales = reinterpret_cast<float*>(bytes + int8_scales_at(columns, depth));
  auto* const sums = reinterpret_cast<std::int32_t*>(bytes + int8_sums_at(columns, depth));
  parallel_pieces(columns, int8_panel, [&](Index first, Index count) {
    std::int8_t* const panel = bytes + first / int8_panel * int8_panel_bytes(depth);
    std::fill_n(panel, int8_panel_bytes(depth), std::int8_t{0});
    std::fill_n(scales + first, int8_panel, 0.0f);
    std::fill_n(sums + first, int8_panel, std::int32_t{0});
    std::vector<std::int8_t> row(static_cast<std::size_t>(depth));
    for (Index column = 0; column < count; ++column) {
      scales[first + column] = quantize_int8_weights(weight + (first + column) * depth, depth, row.data());
      for (Index i = 0; i < depth; ++i) {
        const std::int8_t value = row[static_cast<std::size_t>(i)];
        panel[i / 4 * 4 * int8_panel + column * 4 + i % 4] = value;
        sums[first + column] += value;
      }
    }
  });
}

const Int8Kernels& plain_int8_kernels() {
  static const Int8Kernels kernels{"int8 without its instructions", quantize_plain<float>,
                                   quantize_plain<bf16>, multiply_plain, int8_tile_rows};
  return kernels;
}

#if defined(BIGBIRD_HAVE_VNNI)
namespace avx512_vnni {
extern const Int8Kernels kernels;
}
const Int8Kernels* vnni_int8_kernels() {
  static const bool usable = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & 1u << 11) != 0 &&
           std::string_view(available_levels().front()->name) == "x86-64-v4";
  }();
  return usable ? &avx512_vnni::kernels : nullptr;
}
#else
const Int8Kernels* vnni_int8_kernels() {
  return nullptr;
}
#endif

#if defined(BIGBIRD_HAVE_VNNI) && defined(BIGBIRD_HAVE_AMX)
namespace amx {
extern const Int8Kernels int8_kernels;
}
const Int8Kernels* amx_int8_kernels() {
  static const bool usable = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return amx_kernels() != nullptr && vnni_int8_kernels() != nullptr &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & 1u << 25) != 0;  // AMX-INT8
  }();
  return usable ? &amx::int8_kernels : nullptr;
}
#else
const Int8Kernels* amx_int8_kernels() {
  return nullptr;
}
#endif

const Int8Kernels& int8_kernels(const Level& level) {
  const Int8Kernels* const instructions =
      amx_int8_kernels() != nullptr ? amx_int8_kernels() : vnni_int8_kernels();
  const bool best = std::string_view(level.name) == available_levels().front()->name;
  return instructions != nullptr && best ? *instructions : plain_int8_kernels();
}

}  // namespace bigbird::kernels
