// A second stack in the same operating-system thread: the threads of a block take turns on fibers.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace bigbird::kernels::cuda::emulation {

// Not thread-safe: all fibers that switch to each other belong to one operating-system thread.
class Fiber {
 public:
  // The stack that is running now, as something to come back to.
  Fiber() = default;
  // A new stack on which entry(argument) runs at the first switch. entry must not return or throw.
  Fiber(void (*entry)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves `from`, which must be the running one, until somebody switches back to it.
  static void switch_to(Fiber& from, Fiber& to);

 private:
  static void begin();

  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::byte* mapping_ = nullptr;  // a page that traps, then the stack
  // For AddressSanitizer: where the stack lies (of a caller's stack: learnt when it is left).
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;
#if defined(__x86_64__)
  void* stack_pointer_ = nullptr;
#else
  ucontext_t context_ = {};
#endif
};

}  // namespace bigbird::kernels::cuda::emulation
