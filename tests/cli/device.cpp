// These tests compare bytes and memory with what the processor does, for models too small for a GPU's
// kernels: without an option the program computes on the cpu here, also where there is a GPU.
#include <cstdlib>

namespace bigbird::testing {
namespace {

[[maybe_unused]] const int device_of_tests = setenv("BIGBIRD_DEVICE", "cpu", 0);

}  // namespace
}  // namespace bigbird::testing
