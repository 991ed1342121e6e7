// lib/parts holds work in parts: what a run is known by, shards, leases, finished chunks, chunks on their
// way, and the merging of shards. One engine for every verb with `shard` or `resume`; what a chunk holds is
// known to its task alone.
//
// Results as bytes and back, for what a run keeps of a finished chunk (parts.h): each number as it lies in
// memory, texts and vectors after their length. Such bytes are read by the machine that wrote them, and by no
// other program. A type that is neither names its fields once, in its own namespace, for both directions:
//
//   template <typename Bytes>
//   void pass(Bytes& bytes, Row& row) { bytes(row.name, row.begin, row.values); }
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/core/error.h"

namespace bigbird {

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

class ChunkBytesWriter {
 public:
  static constexpr bool reads = false;

  template <typename... Values>
  void operator()(Values&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void put(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      put_raw(std::uint64_t{value.size()});
      bytes_.append(value);
    } else if constexpr (is_vector<T>) {
      put_raw(std::uint64_t{value.size()});
      if constexpr (std::is_trivially_copyable_v<typename T::value_type>) {
        if (!value.empty())
          bytes_.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof value[0]);
      } else {
        for (auto& one : value) put(one);
      }
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      put_raw(value);
    } else {
      pass(*this, value);
    }
  }
  template <typename T>
  void put_raw(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string bytes_;
};

// Takes values off the front, in the order in which they were put. Error{bad_input} naming `path` where there
// are none left; the text that `bytes` views outlives the reader.
class ChunkBytesReader {
 public:
  static constexpr bool reads = true;

  ChunkBytesReader(std::string_view bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (take(values), ...);
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  template <typename T>
  void take(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      value.resize(take_count(1));
      take_raw(value.data(), value.size());
    } else if constexpr (is_vector<T>) {
      using Element = typename T::value_type;
      constexpr bool raw = std::is_trivially_copyable_v<Element>;
      value.resize(take_count(raw ? sizeof(Element) : 1));
      if constexpr (raw) {
        take_raw(value.data(), value.size() * sizeof(Element));
      } else {
        for (Element& one : value) take(one);
      }
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      take_raw(&value, sizeof value);
    } else {
      pass(*this, value);
    }
  }
  // A number of things that take at least `size` bytes each.
  std::size_t take_count(std::size_t size) {
    std::uint64_t count = 0;
    take(count);
    if (count > bytes_.size() / size) refuse();
    return static_cast<std::size_t>(count);
  }
  void take_raw(void* to, std::size_t size) {
    if (bytes_.size() < size) refuse();
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }
  [[noreturn]] void refuse() const {
    throw_bad_input(path_ + ": the part is cut short", "remove it and resume again");
  }

  std::string_view bytes_;
  std::string path_;
};

// The value stays as it is.
template <typename T>
std::string chunk_bytes(T& value) {
  ChunkBytesWriter bytes;
  bytes(value);
  return bytes.take();
}

template <typename T>
T from_chunk_bytes(std::string_view stored, const std::string& path) {
  T value;
  ChunkBytesReader bytes(stored, path);
  bytes(value);
  return value;
}

}  // namespace bigbird
