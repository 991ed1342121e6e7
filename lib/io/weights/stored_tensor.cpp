// See stored_tensor.h.
#include "lib/io/weights/stored_tensor.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "lib/core/cancel.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::size_t released_at_once = std::size_t{1} << 21;  // numbers

static_assert(std::endian::native == std::endian::little, "weight files are little-endian");

struct TypeFacts {
  TensorType type;
  const char* name;
  std::size_t size;
  bool floating;
};
constexpr std::array<TypeFacts, 20> type_facts{{{TensorType::f64, "F64", 8, true},
                                                {TensorType::f32, "F32", 4, true},
                                                {TensorType::f16, "F16", 2, true},
                                                {TensorType::bf16, "BF16", 2, true},
                                                {TensorType::i64, "I64", 8, false},
                                                {TensorType::i32, "I32", 4, false},
                                                {TensorType::i16, "I16", 2, false},
                                                {TensorType::i8, "I8", 1, false},
                                                {TensorType::u8, "U8", 1, false},
                                                {TensorType::boolean, "BOOL", 1, false},
                                                {TensorType::u16, "U16", 2, false},
                                                {TensorType::u32, "U32", 4, false},
                                                {TensorType::u64, "U64", 8, false},
                                                {TensorType::c64, "C64", 8, false},
                                                {TensorType::c128, "C128", 16, false},
                                                {TensorType::f8_e4m3, "F8_E4M3", 1, false},
                                                {TensorType::f8_e5m2, "F8_E5M2", 1, false},
                                                {TensorType::f8_e8m0, "F8_E8M0", 1, false},
                                                {TensorType::f8_e4m3fnuz, "F8_E4M3FNUZ", 1, false},
                                                {TensorType::f8_e5m2fnuz, "F8_E5M2FNUZ", 1, false}}};

const TypeFacts& facts_of(TensorType type) {
  return *std::find_if(type_facts.begin(), type_facts.end(),
                       [&](const TypeFacts& facts) { return facts.type == type; });
}

template <typename Stored>
Stored element(const std::byte* at) {
  Stored value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Calls visit(index in row-major order, pointer to the element) for every element.
template <typename Visit>
void for_each_element(const StoredTensor& tensor, const Visit& visit) {
  const std::size_t size = tensor_type_size(tensor.type);
  const std::int64_t count = tensor.elements();
  if (tensor.is_contiguous()) {
    for (std::int64_t i = 0; i < count; ++i) {
      visit(static_cast<std::size_t>(i), tensor.first + static_cast<std::size_t>(i) * size);
    }
    return;
  }
  std::vector<std::int64_t> index(tensor.shape.size(), 0);
  std::int64_t place = 0;  // in elements, from `first`
  for (std::int64_t i = 0; i < count; ++i) {
    visit(static_cast<std::size_t>(i), tensor.first + static_cast<std::size_t>(place) * size);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      place += tensor.strides[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      place -= tensor.strides[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
}

template <typename Stored, typename Out, typename Convert>
void convert(const StoredTensor& tensor, std::span<Out> out, const Convert& convert_one) {
  for_each_element(tensor,
                   [&](std::size_t i, const std::byte* at) { out[i] = convert_one(element<Stored>(at)); });
}

// Its part of the mapped file need not stay in memory.
void release_memory(const StoredTensor& tensor) {
  if (!tensor.is_contiguous()) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(tensor.first);
  const auto bytes = static_cast<std::uintptr_t>(tensor.elements()) * tensor_type_size(tensor.type);
  const std::uintptr_t begin = (first + page - 1) / page * page, end = (first + bytes) / page * page;
  // Only advice: where it is not taken, the bytes stay.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

const char* tensor_type_name(TensorType type) {
  return facts_of(type).name;
}
std::optional<TensorType> find_tensor_type(const std::string& name) {
  for (const TypeFacts& facts : type_facts) {
    if (name == facts.name) return facts.type;
  }
  return std::nullopt;
}
std::size_t tensor_type_size(TensorType type) {
  return facts_of(type).size;
}
bool is_floating_point(TensorType type) {
  return facts_of(type).floating;
}

std::string unread_type_words(const std::string& type) {
  return fmt::format("holds {}, which is not read; F64, F32, F16 and BF16 are", type);
}
std::string unread_type_hint(const std::string& file) {
  const bool pickled = file.ends_with(".bin");
  return fmt::format(
      "convert it: python -c \"import torch, safetensors.torch as s; w = {}; s.save_file({{k: (v.dequantize() if "
      "v.is_quantized else v.to_dense()).float().clone() for k, v in w.items()}}, 'model.safetensors', {{'format': "
      "'pt'}})\"",
      pickled ? fmt::format("torch.load('{}', map_location='cpu')", one_line_name(file))
              : fmt::format("s.load_file('{}')", one_line_name(file)));
}

std::int64_t StoredTensor::elements() const {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;  // the others may overflow
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

bool StoredTensor::is_contiguous() const {
  if (elements() == 0) return true;
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return strides;
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

void read_floats(const StoredTensor& tensor, std::span<float> out) {
  throw_if_cancelled_anywhere();
  if (tensor.elements() != static_cast<std::int64_t>(out.size())) {
    throw_bad_input(fmt::format("{}: tensor {} has {} values where {} are expected", tensor.file,
                                one_line_name(tensor.name), tensor.elements(), out.size()),
                    "check that the weights belong to this configuration");
  }
  switch (tensor.type) {
    case TensorType::f32:
      if (!tensor.is_contiguous()) {
        convert<float>(tensor, out, [](float value) { return value; });
      } else if (!out.empty()) {
        std::memcpy(out.data(), tensor.first, out.size_bytes());
      }
      return;
    case TensorType::f64:
      convert<double>(tensor, out, [](double value) { return static_cast<float>(value); });
      return;
    case TensorType::f16:
      convert<std::uint16_t>(tensor, out, float16_to_float);
      return;
    case TensorType::bf16:
      convert<std::uint16_t>(tensor, out, bfloat16_to_float);
      return;
    case TensorType::i64:
    case TensorType::i32:
    case TensorType::i16:
    case TensorType::i8:
    case TensorType::u8:
    case TensorType::boolean:
      throw_bad_input(fmt::format("{}: tensor {} holds {}, not floating-point numbers", tensor.file,
                                  one_line_name(tensor.name), tensor_type_name(tensor.type)));
    default:
      break;
  }
  throw_bad_input(fmt::format("{}: tensor {} {}", tensor.file, one_line_name(tensor.name),
                              unread_type_words(tensor_type_name(tensor.type))),
                  unread_type_hint(tensor.file));
}

void read_floats_and_release(const StoredTensor& tensor, std::span<float> out) {
  const std::size_t size = tensor_type_size(tensor.type);
  if (!tensor.is_contiguous() || tensor.elements() != static_cast<std::int64_t>(out.size()) ||
      out.size() <= released_at_once) {
    read_floats(tensor, out);
  } else {
    StoredTensor part = tensor;
    part.strides = {1};
    for (std::size_t begin = 0; begin < out.size(); begin += released_at_once) {
      const std::size_t count = std::min(released_at_once, out.size() - begin);
      part.shape = {static_cast<std::int64_t>(count)};
      part.first = tensor.first + begin * size;
      read_floats(part, out.subspan(begin, count));
      release_memory(part);
    }
  }
  release_memory(tensor);
}

std::vector<std::int64_t> read_integers(const StoredTensor& tensor) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.elements()));
  const std::span<std::int64_t> out(values);
  const auto widen = [](auto value) { return static_cast<std::int64_t>(value); };
  switch (tensor.type) {
    case TensorType::i64:
      convert<std::int64_t>(tensor, out, widen);
      return values;
    case TensorType::i32:
      convert<std::int32_t>(tensor, out, widen);
      return values;
    case TensorType::i16:
      convert<std::int16_t>(tensor, out, widen);
      return values;
    case TensorType::i8:
      convert<std::int8_t>(tensor, out, widen);
      return values;
    case TensorType::u8:
      convert<std::uint8_t>(tensor, out, widen);
      return values;
    case TensorType::boolean:
      convert<std::uint8_t>(tensor, out, [](std::uint8_t value) { return value != 0 ? 1 : 0; });
      return values;
    default:
      break;
  }
  throw_bad_input(fmt::format("{}: tensor {} holds {}, not whole numbers", tensor.file,
                              one_line_name(tensor.name), tensor_type_name(tensor.type)));
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float float16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide_exponent = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (mantissa << 13));
}

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // quiet, and never infinity
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

std::uint16_t float_to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 2^16 and more
  if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24, which this sum rounds to
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));  // 65520 and more: infinity
}

std::string one_line_name(const std::string& text) {
  std::string result = text.substr(0, 80);
  for (char& letter : result) {
    if (static_cast<unsigned char>(letter) < 32 || letter == 127) letter = '?';
  }
  return result;
}

}  // namespace bigbird
