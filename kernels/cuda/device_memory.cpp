// See device_memory.h.
#include "kernels/cuda/device_memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/runtime.h"
#include "kernels/errors.h"

namespace bigbird::kernels::cuda {
namespace {

constexpr std::size_t alignment = 256;

std::size_t rounded(std::size_t bytes) {
  return bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
}

void* take(std::size_t bytes) {
  try {
    return allocate_device(bytes);
  } catch (const OutOfDeviceMemory& error) {
    throw OutOfMemory(error.what(), error.asked, error.free);
  }
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  for (const auto& [memory, bytes] : taken_) {
    if (bytes == 0) release_device(memory);
  }
  if (arena_ != nullptr) release_device(arena_);
}

void DeviceMemory::reserve(std::size_t bytes) {
  if (arena_ != nullptr || !taken_.empty()) throw std::logic_error("device memory: reserved too late");
  arena_ = take(rounded(bytes));
  arena_bytes_ = rounded(bytes);
  free_ = {{0, arena_bytes_}};
}

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    if (gap->second < size) continue;
    const auto [offset, room] = *gap;
    free_.erase(gap);
    if (room > size) free_.emplace(offset + size, room - size);
    void* memory = static_cast<std::byte*>(arena_) + offset;
    taken_.emplace(memory, size);
    return memory;
  }
  void* memory = take(size);
  taken_.emplace(memory, 0);
  return memory;
}

void DeviceMemory::release(void* memory) noexcept {
  const auto found = taken_.find(memory);
  if (found == taken_.end()) return;
  std::size_t size = found->second;
  taken_.erase(found);
  if (size == 0) return release_device(memory);
  auto offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - static_cast<std::byte*>(arena_));
  const auto behind = free_.lower_bound(offset);
  if (behind != free_.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (behind != free_.end() && offset + size == behind->first) {
    size += behind->second;
    free_.erase(behind);
  }
  free_.emplace(offset, size);
}

DevicePiece::DevicePiece(std::size_t bytes) : data_(take(rounded(bytes))), bytes_(bytes) {}
DevicePiece::~DevicePiece() {
  if (data_ != nullptr) release_device(data_);
}
DevicePiece::DevicePiece(DevicePiece&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
DevicePiece& DevicePiece::operator=(DevicePiece&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Transfers::Transfers(Stream work) : work_(work), staged_(device_bytes), slots_(slot_count) {
  copies_ = make_stream();
  pinned_ = static_cast<std::byte*>(allocate_pinned((slot_count + 2) * slot_bytes));
  for (std::size_t i = 0; i < slot_count; ++i) {
    slots_[i].pinned = pinned_ + i * slot_bytes;
    slots_[i].staged = static_cast<std::byte*>(staged_.data()) + i * slot_bytes;
    slots_[i].sent = make_event();
    slots_[i].taken = make_event();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    arriving_[i] = pinned_ + (slot_count + i) * slot_bytes;
    arrived_[i] = make_event();
  }
}

// The backend has waited for both streams' work, or the device has failed.
Transfers::~Transfers() {
  for (const Slot& slot : slots_) {
    destroy(slot.sent);
    destroy(slot.taken);
  }
  for (const Event event : arrived_) destroy(event);
  release_pinned(pinned_);
  destroy(copies_);
}

void Transfers::gather() {
  gathering_ = true;
}

void Transfers::forget() noexcept {
  gathering_ = false;
  gathered_bytes_ = 0;
  gathered_.clear();
}

void Transfers::bring() {
  send_gathered();
  gathering_ = false;
}

std::byte* Transfers::place(std::size_t bytes) {
  const auto slots_of = [](std::size_t size) { return (size + slot_bytes - 1) / slot_bytes; };
  const std::size_t held = slots_of(gathered_bytes_), wanted = slots_of(gathered_bytes_ + bytes);
  for (std::size_t i = held; i < wanted; ++i) {
    if (slots_[next_ + i].pinned_in_use) synchronize(slots_[next_ + i].sent);
  }
  std::byte* const at = slots_[next_].pinned + gathered_bytes_;
  gathered_bytes_ += (bytes + 15) / 16 * 16;
  return at;
}

// Slots lie end to end, on both sides.
void Transfers::send_gathered() {
  if (gathered_.empty()) return;
  const std::size_t table_at = gathered_bytes_, table_bytes = gathered_.size() * sizeof(UploadedPiece);
  std::memcpy(place(table_bytes), gathered_.data(), table_bytes);  // upload() left room for it
  const std::size_t used = (gathered_bytes_ + slot_bytes - 1) / slot_bytes;
  const std::span<Slot> slots(slots_.data() + next_, used);
  for (const Slot& slot : slots) {
    if (slot.staged_in_use) wait(copies_, slot.taken);
  }
  std::byte* const arrived = slots.front().staged;
  copy_to_device(arrived, slots.front().pinned, gathered_bytes_, copies_);
  for (Slot& slot : slots) {
    record(slot.sent, copies_);
    slot.pinned_in_use = true;
  }
  wait(work_, slots.back().sent);
  std::size_t largest = 0;
  for (const UploadedPiece& piece : gathered_) largest = std::max(largest, piece.bytes);
  place_uploads(arrived, reinterpret_cast<const UploadedPiece*>(arrived + table_at), gathered_.size(),
                largest, work_);
  for (Slot& slot : slots) {
    record(slot.taken, work_);
    slot.staged_in_use = true;
  }
  next_ = (next_ + used) % slot_count;
  gathered_bytes_ = 0;
  gathered_.clear();
}

void Transfers::upload(void* device, const void* host, std::size_t bytes) {
  if (gathering_ && bytes > 0 && bytes <= slot_bytes * slot_count / 4) {
    // With room for the table, which grows by this piece.
    const std::size_t behind = (gathered_.size() + 1) * sizeof(UploadedPiece) + 2 * 16;
    if (gathered_bytes_ + bytes + behind > (slot_count - next_) * slot_bytes) {
      send_gathered();
      if (bytes + behind > (slot_count - next_) * slot_bytes) next_ = 0;
    }
    const std::size_t offset = gathered_bytes_;
    std::memcpy(place(bytes), host, bytes);
    gathered_.push_back({device, offset, bytes});
    return;
  }
  if (gathering_) send_gathered();  // in order
  for (std::size_t first = 0; first < bytes; first += slot_bytes) {
    upload_part(static_cast<std::byte*>(device) + first, static_cast<const std::byte*>(host) + first,
                std::min(slot_bytes, bytes - first));
  }
}

void Transfers::upload_part(void* device, const void* host, std::size_t bytes) {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slot_count;
  if (slot.pinned_in_use) synchronize(slot.sent);
  std::memcpy(slot.pinned, host, bytes);
  slot.pinned_in_use = true;
  if (bytes <= small_bytes) {
    copy_to_device(device, slot.pinned, bytes, work_);
    record(slot.sent, work_);
    return;
  }
  if (slot.staged_in_use) wait(copies_, slot.taken);
  copy_to_device(slot.staged, slot.pinned, bytes, copies_);
  record(slot.sent, copies_);
  wait(work_, slot.sent);
  copy_on_device(device, slot.staged, bytes, work_);
  record(slot.taken, work_);
  slot.staged_in_use = true;
}

void Transfers::download(void* host, const void* device, std::size_t bytes) {
  const std::size_t parts = (bytes + slot_bytes - 1) / slot_bytes;
  const auto size_of_part = [&](std::size_t part) { return std::min(slot_bytes, bytes - part * slot_bytes); };
  const auto send = [&](std::size_t part) {
    copy_to_host(arriving_[part % 2], static_cast<const std::byte*>(device) + part * slot_bytes,
                 size_of_part(part), work_);
    record(arrived_[part % 2], work_);
  };
  if (parts > 0) send(0);
  for (std::size_t part = 0; part < parts; ++part) {
    if (part + 1 < parts) send(part + 1);
    synchronize(arrived_[part % 2]);
    std::memcpy(static_cast<std::byte*>(host) + part * slot_bytes, arriving_[part % 2], size_of_part(part));
  }
}

}  // namespace bigbird::kernels::cuda
