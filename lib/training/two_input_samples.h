// Samples with sentences (PretrainSample::sentences) as the two inputs of BigBird-ETC: the sample is the long
// one, and each sentence has a global token. Documents that share a sample are examples of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/data/pretrain_sampler.h"
#include "lib/model/network/batch.h"

namespace bigbird {

// masked: numbers of the sentences whose global tokens say that they are hidden. A [CLS] belongs to the
// sentence that follows it.
TwoInputs two_inputs(const PretrainSample& sample, const std::vector<std::size_t>& masked);

// The hidden sentences of a batch, each to be read alone. Those of one sample share a sequence behind the
// samples, as examples of their own, which see nothing of each other.
class SentencesAlone {
 public:
  // Those that are added from now on are of another sample.
  void open_sample();
  // ids: the sentence as it was. context: its global token, by its number in the batch.
  void add(std::vector<std::int32_t> ids, std::int64_t context);
  // Appends them with one global token each, and names the pairs.
  void append_to(Batch& batch, std::int64_t multiple, std::int32_t pad_id) const;

 private:
  std::vector<std::vector<std::vector<std::int32_t>>> samples_;  // [sample][sentence]
  std::vector<std::int32_t> contexts_;
};

}  // namespace bigbird
