// Continuations of prompts, in order. They are functions of the prompt, the model and the search alone: not
// of batch, threads or neighbours; those that are drawn at random, of the prompt's number too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/text_steps.h"
#include "lib/model/network/model_limits.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/search/token_search.h"

namespace bigbird {

class Model;

struct GeneratorOptions {
  std::string model;         // folder of a causal model with its tokenizer
  std::int64_t prompts = 4;  // that go on at once
  std::int64_t samples = 1;  // continuations of each: draws of Decoding::sample, the best of a beam search
};

struct Continuation {
  std::string text;  // behind the prompt
  std::vector<std::int32_t> tokens;
  double score = 0;       // of a beam search
  bool ended = false;     // the model wrote its end, which DNA has not
  bool at_limit = false;  // its prompt left the model no positions for as many tokens as were asked for
};

class Generator {
 public:
  // Error{bad_input}: as ModelFolder; a model that predicts no next token. Error{usage}: samples below 1.
  Generator(const GeneratorOptions& options, kernels::Backend& backend);
  ~Generator();

  const ModelFolder& folder() const { return folder_; }
  // A greedy search for 64 tokens that ends at [SEP], or in DNA nowhere; other special pieces never come. To
  // be changed before the first add().
  SearchOptions& search() { return search_; }
  std::int64_t samples() const { return options_.samples; }

  // Logs the memory that it takes, row by row, and loads the weights. Error{environment} where there is less
  // memory, with sizes that would fit. Error{usage} for a search that cannot be, or with fewer beams than
  // samples.
  void prepare();

  // [CLS] and the tokens of the text, whose white space is read as pretraining reads it (WhiteSpace::fold);
  // bases are upper-cased. Error{bad_input} "WHERE: ...": more tokens than the model has positions, unless it
  // has a memory; in DNA letters that are no A, C, G or T. Safe to call from many threads at once.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& where) const;

  // `done` is called once, in the order of the calls of add, by then or by finish(), with samples()
  // continuations.
  // `index` is the prompt's among all of the input, at most 2^40: what is drawn for it depends on it.
  using Done = std::function<void(const std::vector<Continuation>&)>;
  void add(std::vector<std::int32_t> prompt, std::uint64_t index, Done done);
  void finish();

 private:
  struct Pending {
    std::vector<std::int32_t> prompt;
    std::uint64_t index = 0;
    Done done;
  };
  // What memory depends on beside the model.
  struct Sizes {
    std::int64_t prompts = 0, rows = 0;  // rows of each prompt
  };

  Sizes sizes() const;
  CausalLimits limits(const Sizes& sizes) const;
  std::vector<MemoryRow> memory(const Sizes& sizes) const;
  void require_memory() const;
  SearchOptions search_of(const Pending& pending, std::int64_t sample) const;
  void read_prompts();
  void run();
  Continuation continuation(const Pending& pending, const SearchOptions& search,
                            const FoundSequence& found) const;

  ModelFolder folder_;
  GeneratorOptions options_;
  kernels::Backend& backend_;
  SearchOptions search_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<TextSteps> steps_;
  std::vector<Pending> pending_;
};

}  // namespace bigbird
