// Numbers as bytes and back, for what a run keeps of a finished chunk (chunks.h): each number as it lies in
// memory, vectors after their length. Such bytes are read by the machine that wrote them, and by no other
// program.
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

class ChunkBytesWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_count(values.size());
    if (!values.empty())
      bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void put_text(std::string_view text) {
    put_count(text.size());
    bytes_.append(text);
  }
  // Of things that follow one by one.
  void put_count(std::size_t count) { put(std::uint64_t{count}); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Takes values off the front, in the order in which they were put. Error{bad_input} naming `path` where there
// are none left; the text that `bytes` views outlives the reader.
class ChunkBytesReader {
 public:
  ChunkBytesReader(std::string_view bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}

  template <typename T>
  void take(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    need(sizeof value);
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  template <typename T>
  void take_all(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    values.resize(take_count(sizeof(T)));
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), values.size() * sizeof(T));
    bytes_.remove_prefix(values.size() * sizeof(T));
  }
  void take_text(std::string& text) {
    const std::size_t size = take_count(1);
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(text.size());
  }
  // A number of things that take at least `size` bytes each.
  std::size_t take_count(std::size_t size) {
    std::uint64_t count = 0;
    take(count);
    if (count > bytes_.size() / size) need(bytes_.size() + 1);
    return static_cast<std::size_t>(count);
  }

 private:
  void need(std::size_t size) const {
    if (bytes_.size() < size)
      throw_bad_input(path_ + ": the part is cut short", "remove it and resume again");
  }

  std::string_view bytes_;
  std::string path_;
};

}  // namespace bigbird
