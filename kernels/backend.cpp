// What every backend can do with the operations it has: see backend.h.
#include "kernels/backend.h"

#include <chrono>
#include <vector>

namespace bigbird::kernels {

namespace {

class HostTimeMarks final : public TimeMarks {
 public:
  explicit HostTimeMarks(Backend& backend) : backend_(backend) {}
  void add() override {
    backend_.synchronize();
    marks_.push_back(std::chrono::steady_clock::now());
  }
  std::vector<double> take_milliseconds() override {
    std::vector<double> times;
    for (std::size_t i = 1; i < marks_.size(); ++i)
      times.push_back(std::chrono::duration<double, std::milli>(marks_[i] - marks_[i - 1]).count());
    marks_.clear();
    return times;
  }

 private:
  Backend& backend_;
  std::vector<std::chrono::steady_clock::time_point> marks_;
};

}  // namespace

std::unique_ptr<TimeMarks> Backend::make_time_marks() {
  return std::make_unique<HostTimeMarks>(*this);
}

void Backend::download_values(float* host, ConstValues from, Index count) {
  const std::size_t size = static_cast<std::size_t>(count);
  if (from.type() == ElementType::fp32) return download(host, from.data(), size * sizeof(float));
  std::vector<bf16> narrow(size);
  download(narrow.data(), from.data(), size * sizeof(bf16));
  for (std::size_t i = 0; i < size; ++i) host[i] = to_float(narrow[i]);
}

void Backend::upload_values(Values to, const float* host, Index count) {
  const std::size_t size = static_cast<std::size_t>(count);
  if (to.type() == ElementType::fp32) return upload(to.data(), host, size * sizeof(float));
  std::vector<bf16> narrow(size);
  for (std::size_t i = 0; i < size; ++i) narrow[i] = to_bf16(host[i]);
  upload(to.data(), narrow.data(), size * sizeof(bf16));
}

}  // namespace bigbird::kernels
