// Int8 model folders: which linear layers become int8 (layers.h), held against labelled data (data.h), and
// the folder that is written (quantize.h). On top of the tasks, whose models and data sets it reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/files/provenance.h"
#include "lib/model/quantization.h"

namespace bigbird {

struct QuantizeOptions {
  std::string model;          // folder of a classifier, or of a model that predicts masked tokens
  std::string output;         // folder to write
  std::string data;           // of a classifier: as QuantizationWindows takes it; else a prefix of shards
  std::string fasta;          // genome, instead of a chromatin data set's own
  std::string keep = "auto";  // layers that stay as they are: a number, or "auto"
  std::optional<double> max_loss;  // most_auroc_loss or most_divergence where not given
  std::int64_t sample = 64;  // windows that effects are compared on; a quarter of them tells layers apart
  std::uint64_t most_examples = 0;  // that the loss is measured on, a random choice; 0: all
  std::uint64_t seed = 1;
  bool replace = false;  // an output that is there
  bool with_provenance =
      true;  // in the weights and in the card; the model and the data are added to its inputs
  Provenance provenance;
};

struct QuantizedFolder {
  Quantization found;
  std::vector<LayerError> errors;  // of every layer, in the order of the model

  // #layer, form (int8 or kept), error.
  std::string table() const;
};

// Writes the folder, whole or not at all. With "auto" outliers stay, and twice as many as long as the loss is
// above what is allowed or effects of substitutions are ranked otherwise, half of the layers at most.
// Error{bad_input}: a model of another head, or of int8 layers; a loss that stays too large.
QuantizedFolder quantize_folder(const QuantizeOptions& options);

}  // namespace bigbird
