// What a backend throws when its device cannot go on: apps turn them into a line and a hint.
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace bigbird::kernels {

// The device or its driver failed. One line without a full stop.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The device has no room for an allocation. A std::bad_alloc, as Backend::allocate() promises.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(std::string message, std::size_t asked, std::size_t free)
      : message_(std::move(message)), asked_(asked), free_(free) {}
  const char* what() const noexcept override { return message_.c_str(); }
  std::size_t asked() const { return asked_; }
  std::size_t free() const { return free_; }  // bytes that the device had then

 private:
  std::string message_;
  std::size_t asked_;
  std::size_t free_;
};

}  // namespace bigbird::kernels
