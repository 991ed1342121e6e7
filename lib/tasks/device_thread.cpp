// See device_thread.h.
#include "lib/tasks/device_thread.h"

#include <algorithm>
#include <utility>

namespace bigbird {

DeviceThread::DeviceThread(std::function<void()> enter)
    : enter_(std::move(enter)), thread_([this] { serve(); }) {}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
    waiting_.clear();
  }
  more_.notify_one();
  thread_.join();
}

void DeviceThread::Handed::get() {
  done.get();
  if (const std::exception_ptr thrown = std::exchange(*error, nullptr)) std::rethrow_exception(thrown);
}

DeviceThread::Handed DeviceThread::submit(std::function<void()> work) {
  auto error = std::make_shared<std::exception_ptr>();
  std::packaged_task<void()> task([this, error, work = std::move(work)] {
    try {
      if (const auto enter = std::exchange(enter_, {})) enter();
      work();
    } catch (...) {
      *error = std::current_exception();
    }
  });
  Handed handed{task.get_future(), std::move(error)};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  more_.notify_one();
  return handed;
}

void DeviceThread::serve() {
  while (true) {
    std::packaged_task<void()> task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      more_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
      if (stops_) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

BatchPipeline::BatchPipeline(std::shared_ptr<DeviceThread> thread, std::size_t most)
    : thread_(std::move(thread)),
      most_(std::max<std::size_t>(most, 1)),
      given_up_(std::make_shared<std::atomic<bool>>(false)) {}

BatchPipeline::~BatchPipeline() {
  *given_up_ = true;
  for (const Pass& pass : passes_) pass.computed.wait();
}

void BatchPipeline::run(std::function<void()> compute, std::function<void()> deliver) {
  if (!thread_) {
    compute();
    deliver();
    return;
  }
  if (passes_.size() >= most_) deliver_first();
  passes_.push_back({thread_->submit([compute = std::move(compute), given_up = given_up_] {
                       if (!*given_up) compute();
                     }),
                     std::move(deliver)});
}

void BatchPipeline::finish() {
  while (!passes_.empty()) deliver_first();
}

void BatchPipeline::deliver_first() {
  Pass pass = std::move(passes_.front());
  passes_.pop_front();
  pass.computed.get();
  pass.deliver();
}

}  // namespace bigbird
