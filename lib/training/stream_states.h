// What the streams of a run remember (Batch::places), beside its weights: put back where an update is not
// made, gathered from the ranks that have it, kept in checkpoints.
#pragma once

#include <string>
#include <vector>

#include "kernels/ranks/ranks.h"
#include "kernels/ranks/slice_sums.h"
#include "lib/training/training_task.h"

namespace bigbird {

class Model;

// The file of a checkpoint: a tensor "stream.<n>" for each, as Model::stream_memory() gives it.
inline constexpr const char* streams_file = "streams.safetensors";

// Takes down what streams remember, and puts it back at its end unless keep() was called.
class StreamsBefore {
 public:
  StreamsBefore(Model& model, kernels::IndexRange streams);
  ~StreamsBefore();
  StreamsBefore(const StreamsBefore&) = delete;
  StreamsBefore& operator=(const StreamsBefore&) = delete;
  void keep() { before_.clear(); }

 private:
  Model& model_;
  kernels::Index first_;
  std::vector<std::vector<float>> before_;
};

// Collective: of all streams of a task, in their order, each from the rank that has it.
std::vector<std::vector<float>> gather_streams(Model& model, const TrainingTask& task, kernels::Ranks& ranks);

void write_streams(const std::string& file, const std::vector<std::vector<float>>& streams);
// Into the model. Error{bad_input} naming the file where a stream is missing; no streams: nothing is read.
void load_streams(const std::string& checkpoint, Model& model, kernels::IndexRange streams);

}  // namespace bigbird
