// See common_options.h. tests/policy holds the names against the options of each verb.
#include "apps/common_options.h"

#include <array>
#include <utility>
#include <vector>

namespace bigbird::apps {
namespace {

using Names = std::vector<std::string_view>;

// What all verbs that train share.
Names training(Names own) {
  own.insert(own.end(),
             {"output", "steps", "batch", "lr", "dropout", "eval-every", "resume", "threads", "device"});
  return own;
}

const std::vector<std::pair<std::string_view, Names>>& lists() {
  static const std::vector<std::pair<std::string_view, Names>> of_verbs = {
      {"pretrain", training({"train", "valid", "tokenizer", "init", "layers", "width", "heads", "length"})},
      {"promoter finetune", training({"data", "init", "epochs", "pool"})},
      {"chromatin finetune", training({"data", "init", "epochs", "shift"})},
      {"text classify finetune", training({"train", "valid", "init", "length", "epochs"})},
      {"text tag finetune", training({"train", "valid", "init", "length", "epochs"})},
      {"text qa finetune", training({"train", "valid", "init", "length", "epochs"})},
      {"text summarize finetune", training({"train", "valid", "init", "epochs"})},
      {"text hibert pretrain",
       training({"train", "valid", "tokenizer", "init", "layers", "width", "heads", "max-sentences"})},
      {"text hibert finetune", training({"train", "valid", "init", "epochs"})},
      {"text glue finetune", training({"task", "data", "init", "length", "epochs"})},
      {"variants",
       {"model", "fasta-ref", "region", "output-type", "output", "background", "profiles", "strands",
        "resume", "shard", "threads", "device"}},
      {"variants background", {"model", "fasta-ref", "region", "max-records", "output", "threads", "device"}},
      {"promoter scan",
       {"model", "fasta-ref", "region", "step", "output", "calls", "threshold", "tss", "within", "strands",
        "resume", "threads", "device"}},
      {"ism",
       {"model", "fasta-ref", "region", "regions-file", "output", "svg", "profiles", "value", "threads",
        "device"}},
      {"chromatin predict",
       {"model", "fasta-ref", "regions-file", "data", "output-type", "output", "profiles", "resume",
        "threads", "device"}},
      {"promoter build",
       {"tss", "fasta-ref", "left", "right", "negatives", "valid", "test", "output", "seed", "threads",
        "force"}},
      {"chromatin build",
       {"peaks", "fasta-ref", "window", "keep", "valid", "test", "output", "threads", "force"}},
      {"chromatin evaluate",
       {"model", "predictions", "data", "exclude", "baseline", "output", "table", "svg", "threads",
        "device"}},
      {"promoter calibrate", {"model", "data", "valid", "output", "curve", "svg", "threads", "force"}},
      {"chromatin calibrate", {"model", "data", "output", "curve", "svg", "threads", "force"}},
      {"evaluate", {"model", "data", "masks", "samples", "length", "baseline-from", "threads", "device"}},
      {"attention",
       {"attention", "length", "block-size", "random-mode", "random-blocks", "svg", "output", "compare"}},
      {"convert", {"dtype", "to-dialect", "tokenizer", "random-mode", "force"}},
      {"text classify predict",
       {"model", "text", "output-type", "output", "length", "resume", "threads", "device"}},
      {"text classify evaluate", {"model", "predictions", "data", "output", "threads", "device"}},
      {"text tag predict",
       {"model", "text", "output-type", "output", "length", "resume", "threads", "device"}},
      {"text tag evaluate", {"model", "predictions", "data", "baseline-from", "output", "threads", "device"}},
      {"text generate",
       {"model", "prompt", "prompts", "fasta-ref", "region", "output-type", "output", "continuations",
        "decoding", "beams", "max-tokens", "temperature", "top-k", "top-p", "threads", "device"}},
      {"text qa predict",
       {"model", "question", "context", "output", "candidates", "resume", "threads", "device"}},
      {"text summarize predict",
       {"model", "output-type", "output", "beams", "max-tokens", "resume", "threads", "device"}},
      {"text summarize evaluate", {"predictions", "data", "model", "output", "table", "threads"}},
      {"text hibert predict", {"model", "output-type", "output", "sentences", "resume", "threads", "device"}},
      {"cluster plan", {"model", "fasta-ref", "json", "threads"}},
  };
  return of_verbs;
}

}  // namespace

std::span<const std::string_view> common_options(const std::string& verb) {
  for (const auto& [name, names] : lists()) {
    if (name == verb) return names;
  }
  return {};
}

}  // namespace bigbird::apps
