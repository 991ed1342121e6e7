// A thread that runs models on a device while the others read, tokenize and write: batches are handed to it
// in order, some ahead of what it is at, and their results come back in the same order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

namespace bigbird {

class DeviceThread {
 public:
  // `enter` is called on the thread before all else (Backend::enter_thread); what it throws, the first work
  // throws.
  explicit DeviceThread(std::function<void()> enter);
  // Waits for the work that runs; work that waits is dropped.
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  // Of work that was handed over. What it threw goes from the device's thread to the caller's as a whole, so
  // that one thread at a time has it.
  struct Handed {
    std::future<void> done;
    std::shared_ptr<std::exception_ptr> error;
    void wait() const { done.wait(); }
    void get();  // waits, and throws what the work threw
  };
  // Work is done one after the other, in the order of the calls.
  Handed submit(std::function<void()> work);

 private:
  void serve();

  std::function<void()> enter_;  // of the thread alone
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::packaged_task<void()>> waiting_;
  bool stops_ = false;
  std::thread thread_;  // the last: it uses the others
};

// What one caller has on a device thread, which several may share.
class BatchPipeline {
 public:
  // At most `most` batches are on their way. Without a thread each is computed where it is handed over.
  BatchPipeline(std::shared_ptr<DeviceThread> thread, std::size_t most);
  // Batches that wait are dropped, and `compute` of none runs afterwards.
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;

  // `deliver` is called on the calling thread when `compute` is done, in the order of the calls: in a later
  // call, which waits for the oldest batch where `most` are on their way, or in finish(). So when results are
  // delivered depends on the calls alone. What `compute` or `deliver` throw is thrown there.
  void run(std::function<void()> compute, std::function<void()> deliver);
  // All that is on its way has been delivered afterwards.
  void finish();
  bool works_ahead() const { return thread_ != nullptr; }

 private:
  struct Pass {
    DeviceThread::Handed computed;
    std::function<void()> deliver;
  };
  void deliver_first();

  std::shared_ptr<DeviceThread> thread_;
  std::size_t most_;
  std::shared_ptr<std::atomic<bool>> given_up_;
  std::deque<Pass> passes_;
};

}  // namespace bigbird
