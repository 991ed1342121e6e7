// See stream_states.h.
#include "lib/training/stream_states.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstring>

#include "lib/io/weights/safetensors.h"
#include "lib/model/network/model.h"

namespace bigbird {
namespace {

std::string name_of_stream(kernels::Index stream) {
  return fmt::format("stream.{}", stream);
}

}  // namespace

StreamsBefore::StreamsBefore(Model& model, kernels::IndexRange streams)
    : model_(model), first_(streams.first) {
  for (kernels::Index stream = streams.first; stream < streams.end(); ++stream)
    before_.push_back(model.stream_memory(stream));
}

StreamsBefore::~StreamsBefore() {
  for (std::size_t i = 0; i < before_.size(); ++i)
    model_.set_stream_memory(first_ + static_cast<kernels::Index>(i), before_[i]);
}

std::vector<std::vector<float>> gather_streams(Model& model, const TrainingTask& task,
                                               kernels::Ranks& ranks) {
  const kernels::IndexRange own = task.streams(kernels::slots_of_rank(ranks, task.slots()));
  std::vector<double> sizes;
  std::string bytes;
  for (kernels::Index stream = own.first; stream < own.end(); ++stream) {
    const std::vector<float> memory = model.stream_memory(stream);
    sizes.push_back(static_cast<double>(memory.size()));
    bytes.append(reinterpret_cast<const char*>(memory.data()), memory.size() * sizeof(float));
  }
  if (own.count == 0) return {};  // of all ranks alike
  // Ranks have as many streams each, in the order of their slots.
  const std::vector<double> all_sizes = kernels::gather_numbers(ranks, sizes);
  const std::vector<std::string> texts = kernels::gather_texts(ranks, bytes);
  std::vector<std::vector<float>> all;
  std::size_t at = 0;
  for (std::size_t stream = 0; stream < all_sizes.size(); ++stream) {
    const std::size_t rank = stream / sizes.size();
    if (stream % sizes.size() == 0) at = 0;
    std::vector<float>& memory = all.emplace_back(static_cast<std::size_t>(all_sizes[stream]));
    if (!memory.empty()) std::memcpy(memory.data(), texts[rank].data() + at, memory.size() * sizeof(float));
    at += memory.size() * sizeof(float);
  }
  return all;
}

void write_streams(const std::string& file, const std::vector<std::vector<float>>& streams) {
  std::vector<TensorToWrite> tensors;
  for (std::size_t stream = 0; stream < streams.size(); ++stream) {
    tensors.push_back({name_of_stream(static_cast<kernels::Index>(stream)),
                       TensorType::f32,
                       {static_cast<std::int64_t>(streams[stream].size())},
                       streams[stream].data()});
  }
  write_safetensors(file, tensors);
}

void load_streams(const std::string& checkpoint, Model& model, kernels::IndexRange streams) {
  if (streams.count == 0) return;
  const SafetensorsFile file(checkpoint + "/" + streams_file);
  for (kernels::Index stream = streams.first; stream < streams.end(); ++stream)
    model.set_stream_memory(stream, file.floats(name_of_stream(stream)));
}

}  // namespace bigbird
