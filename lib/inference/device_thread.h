// A thread that runs models on a device while the others read, tokenize and write: batches are handed to it
// in order, some ahead of what it is at, and their results come back in the same order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace bigbird {

class BatchPipeline;

class DeviceThread {
 public:
  // `enter` is called on the thread before all else (Backend::enter_thread); what it throws, the first batch
  // throws.
  explicit DeviceThread(std::function<void()> enter);
  // Waits for the batch that runs; those that wait are dropped.
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

 private:
  friend class BatchPipeline;
  enum class State { waits, runs, done };
  struct Pass {
    const BatchPipeline* of;
    std::function<void()> compute, deliver;
    State state = State::waits;
    std::exception_ptr error = nullptr;  // what `compute` threw
  };
  void serve();

  std::function<void()> enter_;  // of the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  // Batches of all pipelines, from run() to their delivery, in the order of the calls: so the device has work
  // while the program prepares more, and results come in order.
  std::list<Pass> passes_;
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
  void deliver_first();

  std::shared_ptr<DeviceThread> thread_;
  std::size_t most_;
  std::size_t on_their_way_ = 0;
};

}  // namespace bigbird
