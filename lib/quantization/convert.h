// lib/quantization holds model folders that are written anew: with int8 layers (which, on which data they are
// measured, what is lost), or as another type, dialect or plan. It stands above genomics and text, whose data
// sets and models it measures.
//
// A model folder of any kind that is read, written as one of ours: with another number type, dialect, plan or
// decoder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lib/io/files/provenance.h"
#include "lib/model_folder/checkpoint.h"

namespace bigbird {

struct ConvertOptions {
  std::string from, to;   // folders
  LoadOptions load;       // seed, plan, positions, and what may be missing or NaN
  WriteOptions write;     // type and dialect; the rest is put in
  std::string tokenizer;  // folder whose tokenizer is copied; empty: the model's own
  // Gives an encoder a decoder, which is then to be trained: of its own random weights, or coupled to the
  // encoder's.
  std::optional<bool> coupled_decoder;
  bool other_plan = false;  // attention is not that of the folder
  bool replace = false;     // a folder that is there
  bool with_provenance = true;
  Provenance provenance;  // the weights are added to its inputs
};

struct ConvertedFolder {
  std::size_t parameters = 0;
  // Of a model that is to be trained first: where every tensor comes from, as a table; else empty.
  std::string origins;
};

// The folder appears whole, with its self-test. A calibration goes along where the weights' values stay.
// Error{bad_input} for a folder that cannot be read, or an encoder that is none.
ConvertedFolder convert_folder(const ConvertOptions& options);

}  // namespace bigbird
