// Stacks with a trapping page below, and the switch between them: callee-saved registers and the stack
// pointer on x86-64 (System V ABI), ucontext elsewhere.
#include "kernels/cuda/emulation/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#if defined(BIGBIRD_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
extern "C" void bigbird_switch_stack(void** save, void* to);
asm(R"(
.text
.p2align 4
.type bigbird_switch_stack, @function
bigbird_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size bigbird_switch_stack, .-bigbird_switch_stack
)");
#endif

namespace bigbird::kernels::cuda::emulation {
namespace {

#if defined(BIGBIRD_ADDRESS_SANITIZER)
constexpr std::size_t stack_bytes = std::size_t{512} << 10;
#else
constexpr std::size_t stack_bytes = std::size_t{128} << 10;
#endif

// The two sides of the switch that is going on in this thread.
thread_local Fiber* leaving = nullptr;
thread_local Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber(void (*entry)(void*), void* argument) : entry_(entry), argument_(argument) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* mapping = mmap(nullptr, page + stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  mprotect(mapping, page, PROT_NONE);
  bottom_ = mapping_ + page;
  size_ = stack_bytes;
#if defined(__x86_64__)
  // What bigbird_switch_stack pops: six registers and the address of begin(), which finds the stack as after
  // a call from address 0.
  auto* top = reinterpret_cast<void**>(mapping_ + page + stack_bytes);
  top[-1] = nullptr;
  top[-2] = reinterpret_cast<void*>(&Fiber::begin);
  for (int i = 3; i <= 8; ++i) top[-i] = nullptr;
  stack_pointer_ = top - 8;
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = mapping_ + page;
  context_.uc_stack.ss_size = stack_bytes;
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::begin, 0);
#endif
}

Fiber::~Fiber() {
  if (mapping_ != nullptr) munmap(mapping_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + stack_bytes);
}

void Fiber::switch_to(Fiber& from, Fiber& to) {
  leaving = &from;
  entering = &to;
#if defined(BIGBIRD_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.size_);
#endif
#if defined(__x86_64__)
  bigbird_switch_stack(&from.stack_pointer_, to.stack_pointer_);
#else
  swapcontext(&from.context_, &to.context_);
#endif
#if defined(BIGBIRD_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(from.fake_stack_, &leaving->bottom_, &leaving->size_);
#endif
}

void Fiber::begin() {
#if defined(BIGBIRD_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(nullptr, &leaving->bottom_, &leaving->size_);
#endif
  entering->entry_(entering->argument_);
}

}  // namespace bigbird::kernels::cuda::emulation
