// Our side of tests/peers/speed: loads a model folder and one input, then runs forward passes or training
// steps on request, so that the script can alternate between programs that have both loaded everything
// already.
//
//   bench_peer MODEL INPUT.safetensors forward|step fp32|bf16 SEQUENCES_AT_A_TIME THREADS
//
// INPUT: input_ids and attention_mask [B, T] (ones, then zeros); for step also labels [B, T] (-100: not
// predicted) and next_sentence_label [B]. Every line on stdin is a request, answered by one line of JSON:
//   run           everything once: wall and CPU seconds from token ids on the host to the last hidden state
//                 (forward: with the pooler; step: with both losses, backward and AdamW, dropout as
//                 configured)
//   reset         the peak of memory that the next answers give is counted from here
//   write FILE    forward: the last hidden states of all real tokens, (tokens, width), as safetensors; not
//                 timed
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/process_memory.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/open_model.h"

namespace bigbird {
namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Not getrusage's ru_maxrss: a process inherits that from the one that started it.
double peak_gigabytes() {
  return static_cast<double>(resident_memory().peak) / 1e9;
}

// From here on the peak is what is resident now, or more (proc(5), clear_refs): without what loading took.
void reset_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  if (!file)
    throw Error(ErrorKind::runtime, "/proc/self/clear_refs cannot be written", "Linux counts peaks there");
}

// The sequences of the file, `at_a_time` to a batch, without their padding.
std::vector<Batch> read_batches(const std::string& path, const ModelConfig& config, std::int64_t at_a_time,
                                bool labelled) {
  const SafetensorsFile file(path);
  const std::vector<std::int64_t> shape = file.info("input_ids").shape;
  const std::vector<std::int64_t> ids = file.integers("input_ids"), mask = file.integers("attention_mask");
  std::vector<std::int64_t> labels, next;
  if (labelled) {
    labels = file.integers("labels");
    next = file.integers("next_sentence_label");
  }
  std::vector<Batch> batches;
  for (std::int64_t s = 0; s < shape[0]; ++s) {
    if (s % at_a_time == 0) batches.emplace_back();
    Batch& batch = batches.back();
    const std::int64_t first_row = batch.tokens();
    std::vector<std::int32_t> sequence;
    for (std::int64_t t = s * shape[1]; t < (s + 1) * shape[1] && mask[static_cast<std::size_t>(t)] == 1;
         ++t) {
      const std::size_t at = static_cast<std::size_t>(t);
      if (labelled && labels[at] != ignored_label) {
        batch.masked_rows.push_back(
            static_cast<std::int32_t>(first_row + static_cast<std::int64_t>(sequence.size())));
        batch.masked_labels.push_back(static_cast<std::int32_t>(labels[at]));
      }
      sequence.push_back(static_cast<std::int32_t>(ids[at]));
    }
    batch.append(sequence, {}, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
    if (labelled)
      batch.sequence_labels.push_back(static_cast<std::int32_t>(next[static_cast<std::size_t>(s)]));
  }
  return batches;
}

BatchLimits limits_of(const std::vector<Batch>& batches) {
  BatchLimits limits;
  for (const Batch& batch : batches) {
    limits.tokens = std::max(limits.tokens, batch.tokens());
    limits.sequences = std::max(limits.sequences, batch.sequences());
    limits.masked_tokens =
        std::max(limits.masked_tokens, static_cast<std::int64_t>(batch.masked_rows.size()));
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      limits.longest = std::max(limits.longest, batch.token_offsets[s + 1] - batch.token_offsets[s]);
    }
  }
  return limits;
}

class Peer {
 public:
  Peer(const std::string& folder, const std::string& input, bool step, kernels::Precision precision,
       std::int64_t at_a_time)
      : backend_(kernels::make_cpu_backend(precision)), step_(step) {
    const auto limits = [&](const ModelConfig& config) {
      batches_ = read_batches(input, config, at_a_time, step);
      return limits_of(batches_);
    };
    const ModelOptions options{.training = step, .head_rows = step};
    model_ = open_model(ModelFolder(folder), {*backend_, limits, options}).model;
    if (!step) return;
    const std::size_t bytes = static_cast<std::size_t>(model_->layout().count()) * sizeof(float);
    for (float*& moment : moments_) {
      moment = static_cast<float*>(backend_->allocate(bytes));
      backend_->zero(moment, bytes);
    }
  }
  ~Peer() {
    for (float* moment : moments_) backend_->release(moment);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::string description() const { return backend_->description(); }

  void run() {
    if (!step_) {
      for (const Batch& batch : batches_) model_->forward(batch, {});
      return;
    }
    model_->zero_gradients();
    std::int64_t masked = 0, sequences = 0;
    for (const Batch& batch : batches_) {
      masked += static_cast<std::int64_t>(batch.masked_rows.size());
      sequences += batch.sequences();
    }
    for (const Batch& batch : batches_) {
      ForwardOptions options;
      options.training = true;
      options.dropout_seed = ++seed_;
      model_->forward(batch, options);
      model_->backward({{1.0f / static_cast<float>(masked), 1.0f / static_cast<float>(sequences)}});
    }
    const kernels::ParameterRun all{0, model_->layout().count(), true};
    backend_->adamw({model_->parameters(), model_->gradients(), moments_[0], moments_[1]}, {&all, 1},
                    {.learning_rate = 1e-5f});
  }

  void write(const std::string& path) {
    const std::int64_t width = model_->config().hidden_size;
    std::vector<float> rows;
    for (const Batch& batch : batches_) {
      model_->forward(batch, {});
      const std::vector<float> states = model_->last_hidden_state();
      for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
        const auto first = states.begin() + batch.token_offsets[s] * width;
        rows.insert(rows.end(), first, first + batch.lengths[s] * width);
      }
    }
    write_safetensors(
        path,
        {{"hidden", TensorType::f32, {static_cast<std::int64_t>(rows.size()) / width, width}, rows.data()}});
  }

 private:
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<Model> model_;
  std::vector<Batch> batches_;
  float* moments_[2] = {nullptr, nullptr};
  std::uint64_t seed_ = 0;
  bool step_;
};

void serve(Peer& peer) {
  std::cout << fmt::format("{{\"ready\": \"{}\"}}", peer.description()) << std::endl;
  for (std::string request; std::getline(std::cin, request);) {
    if (request.rfind("write ", 0) == 0) {
      peer.write(request.substr(6));
      std::cout << "{}" << std::endl;
      continue;
    }
    if (request == "reset") {
      reset_peak();
      std::cout << "{}" << std::endl;
      continue;
    }
    const double cpu = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    peer.run();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << fmt::format("{{\"wall\": {:.6f}, \"cpu\": {:.6f}, \"peak_gb\": {:.6f}}}", wall,
                             cpu_seconds() - cpu, peak_gigabytes())
              << std::endl;
  }
}

}  // namespace
}  // namespace bigbird

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool known = words.size() == 6 && (words[2] == "forward" || words[2] == "step") &&
                     (words[3] == "fp32" || words[3] == "bf16");
  if (!known) {
    std::fprintf(stderr,
                 "bench_peer MODEL INPUT.safetensors forward|step fp32|bf16 SEQUENCES_AT_A_TIME THREADS\n");
    return 2;
  }
  try {
    bigbird::kernels::set_thread_count(std::stoi(words[5]));
    const auto precision =
        words[3] == "bf16" ? bigbird::kernels::Precision::bf16 : bigbird::kernels::Precision::fp32;
    bigbird::Peer peer(words[0], words[1], words[2] == "step", precision, std::stoll(words[4]));
    bigbird::serve(peer);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_peer: %s\n", error.what());
    return 1;
  }
  return 0;
}
