// See transfers.h.
#include "kernels/cuda/transfers.h"

#include <algorithm>
#include <cstring>

namespace bigbird::kernels::cuda {

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

void Transfers::upload(void* device, const void* host, std::size_t bytes) {
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
