// What an instruction does on this device, against what the PTX ISA (8.0: "Warp-level matrix instructions",
// "cvt", "cp.async", "ex2", "lg2") says of it, written out here: where the emulated device and a real one
// disagree, one of these fails, and names the instruction. The first thing to run on a new device: test_gpu
// --gtest_filter='Conformance.*'.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cuda/conformance.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

using Words = std::vector<std::uint32_t>;
using Matrix = std::vector<double>;  // row after row

class Conformance : public CudaTest {
 protected:
  template <class T>
  DeviceBuffer<T> up(const std::vector<T>& values) const {
    return DeviceBuffer<T>(values, stream());
  }
};

// Of m16n8k16 and m16n8k8 alike: groupID = lane >> 2, threadID_in_group = lane % 4; c_i is row groupID (i <
// 2) or groupID + 8, column threadID_in_group * 2 + (i & 1).
std::size_t c_place(std::size_t lane, std::size_t i) {
  return (lane / 4 + (i < 2 ? 0 : 8)) * 8 + lane % 4 * 2 + i % 2;
}
std::vector<float> c_registers(const Matrix& c) {
  std::vector<float> registers;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) registers.push_back(static_cast<float>(c[c_place(lane, i)]));
  }
  return registers;
}
Matrix c_matrix(const std::vector<float>& registers) {
  Matrix c(128, NAN);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) c[c_place(lane, i)] = static_cast<double>(registers[lane * 4 + i]);
  }
  return c;
}

// m16n8k16, .bf16: a_i is row groupID for i of 0, 1, 4, 5 and groupID + 8 for the others, column
// threadID_in_group * 2 + (i & 1) (+ 8 for i >= 4); b_i is row threadID_in_group * 2 + (i & 1) (+ 8 for i >=
// 2), column groupID. Two to a register, the first in its lower half.
std::uint32_t pair(double first, double second) {
  const auto upper = [](double x) { return bits_of(static_cast<float>(x)) >> 16; };
  return upper(first) | upper(second) << 16;
}
Words a_registers_bf16(const Matrix& a) {
  Words registers;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 8; i += 2) {
      const std::size_t row = lane / 4 + (i == 0 || i == 4 ? 0 : 8);
      const std::size_t column = lane % 4 * 2 + (i < 4 ? 0 : 8);
      registers.push_back(pair(a[row * 16 + column], a[row * 16 + column + 1]));
    }
  }
  return registers;
}
Words b_registers_bf16(const Matrix& b) {
  Words registers;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; i += 2) {
      const std::size_t row = lane % 4 * 2 + (i < 2 ? 0 : 8);
      registers.push_back(pair(b[row * 8 + lane / 4], b[(row + 1) * 8 + lane / 4]));
    }
  }
  return registers;
}

// m16n8k8, .tf32: a_i is row groupID for i of 0, 2 and groupID + 8 for 1, 3, column threadID_in_group (+ 4
// for i >= 2); b_i is row threadID_in_group (+ 4 for b_1), column groupID.
Words a_registers_tf32(const Matrix& a) {
  Words registers;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = lane / 4 + i % 2 * 8;
      const std::size_t column = lane % 4 + i / 2 * 4;
      registers.push_back(bits_of(static_cast<float>(a[row * 8 + column])));
    }
  }
  return registers;
}
Words b_registers_tf32(const Matrix& b) {
  Words registers;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 2; ++i) {
      registers.push_back(bits_of(static_cast<float>(b[(lane % 4 + i * 4) * 8 + lane / 4])));
    }
  }
  return registers;
}

// Numbers that bf16 has, all different: 1, 2, 3, ...
Matrix counted(std::size_t count) {
  Matrix values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i + 1));
  return values;
}
// Ones at (i, i + shift).
Matrix identity(std::size_t rows, std::size_t columns, std::size_t shift = 0) {
  Matrix values(rows * columns, 0.0);
  for (std::size_t i = 0; i < rows && i + shift < columns; ++i) values[i * columns + i + shift] = 1.0;
  return values;
}
// left [rows, depth] right [depth, columns].
Matrix product(const Matrix& left, const Matrix& right, std::size_t rows, std::size_t depth,
               std::size_t columns) {
  Matrix out(rows * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t j = 0; j < columns; ++j)
        out[i * columns + j] += left[i * depth + k] * right[k * columns + j];
    }
  }
  return out;
}
Matrix transpose(const Matrix& values, std::size_t rows, std::size_t columns) {
  Matrix out(values.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = values[i * columns + j];
  }
  return out;
}

TEST_F(Conformance, MmaM16n8k16OfBf16) {
  const auto multiply = [&](const Matrix& a, const Matrix& b, const Matrix& c) {
    const auto da = up(a_registers_bf16(a));
    const auto db = up(b_registers_bf16(b));
    const auto dc = up(c_registers(c));
    const DeviceBuffer<float> dd(128, stream());
    probe_mma_bf16(da.data(), db.data(), dc.data(), dd.data(), stream());
    return c_matrix(dd.download());
  };
  const Matrix none(128, 0.0);
  // The identity on the left gives b row by row; halves of it on the right give the columns of a.
  EXPECT_EQ(multiply(identity(16, 16), counted(128), none), counted(128));
  Matrix a = counted(256);
  for (double& value : a) value -= 1;  // up to 255
  for (const std::size_t half : {std::size_t{0}, std::size_t{1}}) {
    const Matrix b = transpose(identity(8, 16, 8 * half), 8, 16);
    EXPECT_EQ(multiply(a, b, none), product(a, b, 16, 16, 8)) << half;
  }
  // Sums are added to what is there.
  Matrix c = counted(128);
  for (double& value : c) value *= 1024;
  Matrix expected = product(identity(16, 16), counted(128), 16, 16, 8);
  for (std::size_t i = 0; i < 128; ++i) expected[i] += c[i];
  EXPECT_EQ(multiply(identity(16, 16), counted(128), c), expected);
  // Products of 8-bit numbers have 16 bits, and none is lost.
  const Matrix ones(256, 255.0);
  EXPECT_EQ(multiply(ones, Matrix(128, 253.0), none), Matrix(128, 16 * 255.0 * 253.0));
}

TEST_F(Conformance, MmaM16n8k8OfTf32) {
  const auto multiply = [&](const Matrix& a, const Matrix& b, const Matrix& c) {
    const auto da = up(a_registers_tf32(a));
    const auto db = up(b_registers_tf32(b));
    const auto dc = up(c_registers(c));
    const DeviceBuffer<float> dd(128, stream());
    probe_mma_tf32(da.data(), db.data(), dc.data(), dd.data(), stream());
    return c_matrix(dd.download());
  };
  const Matrix none(128, 0.0);
  EXPECT_EQ(multiply(counted(128), identity(8, 8), none), counted(128));
  const Matrix upper = identity(16, 8);
  EXPECT_EQ(multiply(upper, counted(64), none), product(upper, counted(64), 16, 8, 8));
  Matrix lower(128, 0.0);
  for (std::size_t i = 0; i < 8; ++i) lower[(i + 8) * 8 + i] = 1.0;
  EXPECT_EQ(multiply(lower, counted(64), none), product(lower, counted(64), 16, 8, 8));
  Matrix c = counted(128);
  for (double& value : c) value *= 1024;
  Matrix expected = counted(128);
  for (std::size_t i = 0; i < 128; ++i) expected[i] += c[i];
  EXPECT_EQ(multiply(counted(128), identity(8, 8), c), expected);
  // 11 bits of an operand count, and the 13 below them are not looked at.
  EXPECT_EQ(multiply(Matrix(128, 2047.0), Matrix(64, 1.0), none), Matrix(128, 8 * 2047.0));
  const double more = static_cast<double>(float_of_bits(bits_of(3.0f) | 0x1fffu));
  EXPECT_EQ(multiply(Matrix(128, more), identity(8, 8), none), Matrix(128, 3.0));
}

// ldmatrix: lane L gets of matrix j the elements 2 (L % 4), + 1 of row L / 4; of its columns where .trans.
TEST_F(Conformance, LoadMatrixX4) {
  std::vector<bf16> rows;
  for (std::uint16_t i = 0; i < 256; ++i) rows.push_back({i});
  const auto device_rows = up(rows);
  for (const bool transposed : {false, true}) {
    const DeviceBuffer<std::uint32_t> r(128, stream());
    probe_load_matrix(device_rows.data(), r.data(), transposed, stream());
    Words expected;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      for (std::uint32_t j = 0; j < 4; ++j) {
        const std::uint32_t line = lane / 4;
        const std::uint32_t at = lane % 4 * 2;
        const std::uint32_t first = j * 64 + (transposed ? at * 8 + line : line * 8 + at);
        expected.push_back(first | (first + (transposed ? 8 : 1)) << 16);
      }
    }
    EXPECT_EQ(r.download(), expected) << transposed;
  }
}

TEST_F(Conformance, CopiesWithZerosInPlaceOfWhatIsNotValid) {
  std::vector<float> values;
  for (int i = 0; i < 512; ++i) values.push_back(static_cast<float>(i + 1));
  const auto from = up(values);
  const DeviceBuffer<float> to(512, stream());
  probe_copies(from.data(), to.data(), stream());
  std::vector<float> expected = values;
  for (std::size_t i = 0; i < 512; ++i) {
    if (i / 128 % 2 == 1 && i / 4 % 2 == 1) expected[i] = 0.0f;
  }
  EXPECT_EQ(to.download(), expected);
}

TEST_F(Conformance, ConversionsAndTheirRounding) {
  std::vector<float> x = {0.0f,
                          -0.0f,
                          1.0f,
                          float_of_bits(0x3f808000u),  // a tie of bf16: down to even
                          float_of_bits(0x3f818000u),  // a tie: up to even
                          float_of_bits(0x3f808001u),
                          float_of_bits(0x3f807fffu),
                          float_of_bits(0x3f801000u),  // ties of tf32: away from zero
                          float_of_bits(0xbf801000u),
                          float_of_bits(0x3f803000u),
                          float_of_bits(0x3f800fffu),
                          float_of_bits(0x3fffffffu),  // up into the next power of two
                          float_of_bits(0x00000001u),  // subnormal
                          float_of_bits(0x007fffffu),
                          float_of_bits(0x00408000u),
                          std::numeric_limits<float>::min(),
                          float_of_bits(0x7f7f0000u),
                          HUGE_VALF,
                          -HUGE_VALF,
                          std::numeric_limits<float>::quiet_NaN(),
                          float_of_bits(0x7fffffffu),  // what the device's own arithmetic makes
                          float_of_bits(0xffffffffu),
                          float_of_bits(0xffc00000u),
                          float_of_bits(0x7f800001u),  // signalling: no operation makes them
                          float_of_bits(0xff801fffu),
                          float_of_bits(0x7f802000u)};
  for (const double value : random_normal(4000, 21, 100.0)) x.push_back(static_cast<float>(value));
  for (const double value : random_normal(1000, 22, 1e-30)) x.push_back(static_cast<float>(value));
  const auto count = static_cast<Index>(x.size());
  const auto from = up(x);
  const DeviceBuffer<std::uint32_t> narrow(count, stream()), packed(count, stream()), tf32(count, stream());
  const DeviceBuffer<float> widened(count, stream());
  probe_conversions(from.data(), count, {narrow.data(), packed.data(), tf32.data(), widened.data()},
                    stream());
  const Words got_narrow = narrow.download();
  const Words got_packed = packed.download();
  const Words got_tf32 = tf32.download();
  const std::vector<float> got_widened = widened.download();
  // To nearest, ties to even, 16 bits; to nearest, ties away from zero, 19 bits.
  const auto bf16_of = [](std::uint32_t bits) { return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16; };
  const auto tf32_of = [](std::uint32_t bits) { return (bits + 0x1000u) & 0xffffe000u; };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t bits = bits_of(x[i]);
    if (std::isnan(x[i])) {  // cvt.rn.bf16 makes the canonical one
      EXPECT_EQ(got_narrow[i], 0x7fffu);
      EXPECT_EQ(got_packed[i], 0x7fff7fffu);
      // cvt.rna.tf32 makes none: of a NaN the PTX ISA says something for .satfinite alone. For sm_80 and
      // sm_90 it is an addition that infinities and NaN are spared, and the 13 low bits cut off (nvcc 13.0).
      // So a signalling NaN whose payload lies in them becomes an infinity: an H200 left no NaN of
      // 0x7f800001. Every quiet one, and with it all that arithmetic makes, stays NaN; a finite number none
      // may become.
      EXPECT_EQ(got_tf32[i] & 0x7f800000u, 0x7f800000u) << std::hex << bits << " became " << got_tf32[i];
      if ((bits & 0x007fe000u) != 0) {
        EXPECT_TRUE(std::isnan(float_of_bits(got_tf32[i]))) << std::hex << bits << " became " << got_tf32[i];
      }
      continue;
    }
    const bool infinite = std::isinf(x[i]);
    const std::uint32_t expected = infinite ? bits >> 16 : bf16_of(bits);
    EXPECT_EQ(got_narrow[i], expected) << std::hex << bits;
    EXPECT_EQ(got_packed[i], expected | (expected ^ 0x8000u) << 16) << std::hex << bits;
    EXPECT_EQ(got_tf32[i], infinite ? bits : tf32_of(bits)) << std::hex << bits;
    EXPECT_EQ(bits_of(got_widened[i]), bits & 0xffff0000u) << std::hex << bits;
  }
}

// ex2.approx.ftz: relative error at most 2^-22, subnormal results are 0. lg2.approx: absolute error at most
// 2^-22 between 1/2 and 2, else relative. Each half a unit in the last place more, for the reference is
// rounded to fp32 by nobody.
TEST_F(Conformance, FastExponentialAndLogarithm) {
  std::vector<float> x;
  for (int i = 0; i < 4096; ++i) x.push_back(-126.0f + static_cast<float>(i) * (253.0f / 4096));
  for (int i = 0; i < 4096; ++i) x.push_back(0.5f + static_cast<float>(i) * (1.5f / 4096));
  for (const float more : {1e-30f, 3e-8f, 1e-3f, 1e3f, 1e30f, -HUGE_VALF, -200.0f, -0.0f, HUGE_VALF})
    x.push_back(more);
  const auto count = static_cast<Index>(x.size());
  const auto from = up(x);
  const DeviceBuffer<float> exp2(count, stream()), log2(count, stream());
  probe_exp_log(from.data(), count, exp2.data(), log2.data(), stream());
  const std::vector<float> got_exp = exp2.download();
  const std::vector<float> got_log = log2.download();
  constexpr double tolerance = 0x1p-22 + 0x1p-24;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<double>(x[i]);
    if (at < -126 || at > 127) {
      if (at < -150) {
        EXPECT_EQ(got_exp[i], 0.0f) << x[i];
      }
      if (at > 128) {
        EXPECT_EQ(got_exp[i], HUGE_VALF) << x[i];
      }
    } else {
      EXPECT_NEAR(static_cast<double>(got_exp[i]) / std::exp2(at), 1.0, tolerance) << x[i];
    }
    if (at > 0 && std::isfinite(at)) {
      const double expected = std::log2(at);
      const double scale = at >= 0.5 && at <= 2 ? 1.0 : std::abs(expected);
      EXPECT_NEAR(static_cast<double>(got_log[i]), expected, tolerance * scale) << x[i];
    } else if (at == 0) {
      EXPECT_EQ(got_log[i], -HUGE_VALF);
    } else if (at > 0) {
      EXPECT_EQ(got_log[i], HUGE_VALF);
    } else {
      EXPECT_TRUE(std::isnan(got_log[i])) << x[i];
    }
  }
}

template <class T>
std::vector<T> expected_shuffles(const std::vector<T>& values) {
  // A butterfly: every lane adds that of lane ^ 16, then ^ 8 and so on, so that all have the same sum to the
  // last bit.
  std::vector<T> sums = values;
  for (std::size_t mask = 16; mask > 0; mask /= 2) {
    std::vector<T> next = sums;
    for (std::size_t lane = 0; lane < 32; ++lane) next[lane] = sums[lane] + sums[lane ^ mask];
    sums = next;
  }
  std::vector<T> expected;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (const std::size_t from :
         {31 - lane, std::size_t{7}, lane ^ 1, lane ^ 2, lane ^ 4, lane ^ 8, lane ^ 16}) {
      expected.push_back(values[from]);
    }
    expected.push_back(values[lane + 1 < 32 ? lane + 1 : lane]);
    expected.push_back(values[lane + 16 < 32 ? lane + 16 : lane]);
    expected.push_back(sums[lane]);
    expected.push_back(sizeof(T) == sizeof(float) ? *std::max_element(values.begin(), values.end())
                                                  : sums[lane]);
  }
  return expected;
}

TEST_F(Conformance, ShufflesAndWarpReductions) {
  const std::vector<double> wide = random_normal(32, 5);
  const std::vector<float> narrow(wide.begin(), wide.end());
  const auto from_floats = up(narrow);
  const auto from_doubles = up(wide);
  const DeviceBuffer<float> floats(32 * shuffles, stream());
  const DeviceBuffer<double> doubles(32 * shuffles, stream());
  probe_shuffles(from_floats.data(), floats.data(), stream());
  probe_shuffles(from_doubles.data(), doubles.data(), stream());
  EXPECT_EQ(floats.download(), expected_shuffles(narrow));
  EXPECT_EQ(doubles.download(), expected_shuffles(wide));
}

TEST_F(Conformance, Ballot) {
  std::vector<std::int32_t> values(32, 0);
  for (const int lane : {3, 4, 17, 31}) values[static_cast<std::size_t>(lane)] = lane;
  const auto from = up(values);
  const DeviceBuffer<std::uint32_t> to(64, stream());
  probe_ballot(from.data(), to.data(), stream());
  const Words got = to.download();
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(got[lane * 2], 1u << 3 | 1u << 4 | 1u << 17 | 1u << 31);
    EXPECT_EQ(got[lane * 2 + 1], 3u);
  }
}

TEST_F(Conformance, AtomicAdditionsOfAGrid) {
  const auto sums = up(std::vector<float>(6, 0.0f));
  probe_additions(0.5f, sums.data(), stream());
  // 12 blocks of 64 threads; their numbers add up to 66, 16 times for each of four cells.
  EXPECT_EQ(sums.download(), (std::vector<float>{384.0f, 1056.0f, 1056.0f, 1056.0f, 1056.0f, 36.0f}));
}

TEST_F(Conformance, PacksOfEverySize) {
  std::vector<bf16> values;
  for (std::uint16_t i = 0; i < 128; ++i) values.push_back({i});
  const auto from = up(values);
  const DeviceBuffer<bf16> to(512, stream());
  probe_packs(from.data(), to.data(), stream());
  const std::vector<bf16> got = to.download();
  for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(got[i].bits, i % 128) << i / 128;
}

// The layouts of attention/tiles.cuh by identities: scores of a with a tile of unit rows are a, those of unit
// rows with a tile are its transpose; sums weighted by unit rows are the tile. In fp32 weighted_sum() takes
// the rows of a step in the order 0, 2, 4, 6, 1, 3, 5, 7 on both sides, which an identity shows as well.
template <class Element>
void check_attention(Stream stream, int width, Left left, bool exact) {
  const auto w = static_cast<std::size_t>(width);
  const auto run = [&](const Matrix& a, const Matrix& tile, const Matrix& p) {
    const DeviceBuffer<Element> da(rounded<Element>(a), stream), dt(rounded<Element>(tile), stream);
    const DeviceBuffer<float> dp(rounded<float>(p), stream);
    const DeviceBuffer<float> scores(64 * 64, stream), sums(64 * width, stream);
    probe_attention(width, left, exact, da.data(), dt.data(), dp.data(), scores.data(), sums.data(), stream);
    EXPECT_EQ(widened(scores.download()), product(a, transpose(tile, 64, w), 64, w, 64));
    EXPECT_EQ(widened(sums.download()), product(p, tile, 64, 64, w));
  };
  Matrix numbers(64 * w);  // equal ones nowhere near each other, and small enough for bf16
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<double>((i * 37 + i / w * 11) % 251);
  Matrix others(64 * 64);
  for (std::size_t i = 0; i < others.size(); ++i)
    others[i] = static_cast<double>((i * 53 + i / 64 * 7) % 241);
  const Matrix units = identity(64, w);
  run(numbers, units, others);
  run(units, numbers, identity(64, 64));
  for (std::size_t shift = 32; shift < w; shift += 32) {  // the columns that `units` did not reach
    run(numbers, identity(64, w, shift), identity(64, 64, 32));
    run(identity(64, w, shift), numbers, transpose(identity(64, 64, 32), 64, 64));
  }
}

TEST_F(Conformance, TilesOfAttentionInBf16) {
  for (const int width : {32, 64, 128}) {
    SCOPED_TRACE(width);
    check_attention<bf16>(stream(), width, Left::global, false);
    check_attention<bf16>(stream(), width, Left::shared_rows, false);
  }
}

TEST_F(Conformance, TilesOfAttentionInTf32AndFp32) {
  for (const int width : {32, 64, 128}) {
    for (const bool exact : {false, true}) {
      SCOPED_TRACE(std::to_string(width) + (exact ? " fp32" : " tf32"));
      check_attention<float>(stream(), width, Left::global, exact);
      check_attention<float>(stream(), width, Left::shared_rows, exact);
      check_attention<float>(stream(), width, Left::shared, exact);
    }
  }
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
