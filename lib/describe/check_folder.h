// lib/describe holds what a path holds, as `info` tells it, a file here for each form of files; and what is
// wrong with a model folder, as `check` tells it. Heads and headers are read, and nothing in them is trusted.
//
// Everything about a model folder that can be found wrong without data: tensors, numbers, tokenizer, files, a
// self-test; and, where its data are there, the loss of int8 layers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

struct CheckOptions {
  std::string folder;
  std::string data, fasta;    // of int8 layers, instead of those that the folder names
  bool allow_nan = false;     // and infinities
  bool write_digest = false;  // self_test.json of the model as it stands, before it is checked
};

struct FolderReport {
  struct Finding {
    std::string check;
    std::string status;  // "ok", "failed", "skipped"
    std::string detail;
  };
  bool passed = true;
  std::vector<Finding> findings;

  std::string text() const;  // #check, status, detail
  std::string json(const Provenance* provenance) const;
};

// The device is made once the tensors are read. What is wrong with the folder is a finding; errors are those
// of the environment.
FolderReport check_folder(const CheckOptions& options,
                          const std::function<std::unique_ptr<kernels::Backend>()>& make_backend);

}  // namespace bigbird
