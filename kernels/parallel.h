// Threads for everything on the CPU: OpenMP in a normal build; plain std::thread under ThreadSanitizer, which
// does not understand libgomp's barriers and would report false races. The task partition is the caller's and
// never depends on the number of threads, so results do not either.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>

#if defined(BIGBIRD_STD_THREADS)
#include <thread>
#include <vector>
#else
#include <omp.h>
#endif

namespace bigbird::kernels {

namespace detail {
inline std::atomic<int>& thread_count_setting() {
  static std::atomic<int> count{0};
  return count;
}
}  // namespace detail

// 0 = all cores the process may use.
inline void set_thread_count(int count) {
  detail::thread_count_setting().store(count);
}

inline int thread_count() {
  const int set = detail::thread_count_setting().load();
  if (set > 0) return set;
#if defined(BIGBIRD_STD_THREADS)
  const unsigned found = std::thread::hardware_concurrency();
  return found == 0 ? 1 : static_cast<int>(found);
#else
  return omp_get_num_procs();
#endif
}

// Calls body(task, worker) for every task in [0, tasks), tasks handed out dynamically; worker <
// thread_count() identifies the thread, for scratch memory only: results must not depend on it. The first
// exception is rethrown after all stop.
template <typename Body>
void parallel_for_worker(std::size_t tasks, const Body& body) {
  if (tasks == 0) return;
  const int limit = thread_count();
  const int threads = tasks < static_cast<std::size_t>(limit) ? static_cast<int>(tasks) : limit;
#if !defined(BIGBIRD_STD_THREADS)
  const bool serial = threads == 1 || omp_in_parallel();
#else
  const bool serial = threads == 1;
#endif
  if (serial) {
    for (std::size_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&](int worker) {
    for (;;) {
      const std::size_t task = next.fetch_add(1);
      if (task >= tasks) return;
      try {
        body(task, worker);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next.store(tasks);
        return;
      }
    }
  };
#if defined(BIGBIRD_STD_THREADS)
  std::vector<std::thread> pool;
  for (int worker = 1; worker < threads; ++worker) pool.emplace_back(work, worker);
  work(0);
  for (std::thread& thread : pool) thread.join();
#else
#pragma omp parallel num_threads(threads)
  work(omp_get_thread_num());
#endif
  if (failure) std::rethrow_exception(failure);
}

template <typename Body>
void parallel_for(std::size_t tasks, const Body& body) {
  parallel_for_worker(tasks, [&](std::size_t task, int) { body(task); });
}

}  // namespace bigbird::kernels
