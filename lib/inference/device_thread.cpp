// See device_thread.h.
#include "lib/inference/device_thread.h"

#include <algorithm>
#include <utility>

namespace bigbird {

DeviceThread::DeviceThread(std::function<void()> enter)
    : enter_(std::move(enter)), thread_([this] { serve(); }) {}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DeviceThread::serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    const auto next = [this] {
      return std::find_if(passes_.begin(), passes_.end(),
                          [](const Pass& pass) { return pass.state == State::waits; });
    };
    changed_.wait(lock, [&] { return stops_ || next() != passes_.end(); });
    if (stops_) return;
    Pass& pass = *next();  // nobody takes it away while it runs
    pass.state = State::runs;
    lock.unlock();
    // What it throws goes to the caller's thread as a whole, so that one thread at a time has it.
    std::exception_ptr error;
    try {
      if (const auto enter = std::exchange(enter_, {})) enter();
      pass.compute();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    pass.error = std::move(error);
    pass.state = State::done;
    changed_.notify_all();
  }
}

BatchPipeline::BatchPipeline(std::shared_ptr<DeviceThread> thread, std::size_t most)
    : thread_(std::move(thread)), most_(std::max<std::size_t>(most, 1)) {}

BatchPipeline::~BatchPipeline() {
  if (!thread_) return;
  std::unique_lock<std::mutex> lock(thread_->mutex_);
  // The one that runs is waited for.
  thread_->changed_.wait(lock, [this] {
    on_their_way_ -= thread_->passes_.remove_if([this](const DeviceThread::Pass& pass) {
      return pass.of == this && pass.state != DeviceThread::State::runs;
    });
    return on_their_way_ == 0;
  });
}

void BatchPipeline::run(std::function<void()> compute, std::function<void()> deliver) {
  if (!thread_) {
    compute();
    deliver();
    return;
  }
  if (on_their_way_ >= most_) deliver_first();
  {
    const std::lock_guard<std::mutex> lock(thread_->mutex_);
    thread_->passes_.push_back({this, std::move(compute), std::move(deliver)});
  }
  ++on_their_way_;
  thread_->changed_.notify_all();
}

void BatchPipeline::finish() {
  while (on_their_way_ > 0) deliver_first();
}

void BatchPipeline::deliver_first() {
  std::list<DeviceThread::Pass> taken;
  {
    std::unique_lock<std::mutex> lock(thread_->mutex_);
    std::list<DeviceThread::Pass>& passes = thread_->passes_;
    const auto first = std::find_if(passes.begin(), passes.end(),
                                    [this](const DeviceThread::Pass& pass) { return pass.of == this; });
    thread_->changed_.wait(lock, [&] { return first->state == DeviceThread::State::done; });
    taken.splice(taken.begin(), passes, first);
  }
  --on_their_way_;
  if (taken.front().error) std::rethrow_exception(std::move(taken.front().error));
  taken.front().deliver();
}

}  // namespace bigbird
