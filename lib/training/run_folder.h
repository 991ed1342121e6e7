// The folder of a training run and its checkpoints:
//
//   RUN/config.toml           the options as resolved
//   RUN/provenance.json       version, command, seed
//   RUN/metrics.tsv           a row per step; RUN/valid.tsv a row per validation
//   RUN/memory.tsv            the memory plan, and what was used when the run had ended
//   RUN/checkpoint-<step>/    Hugging Face folder + optimizer.safetensors + trainer_state.json
//   RUN/final/                Hugging Face folder: the last state, or the best (RunOptions::final_state)
//   RUN/lr-<rate>/            of several learning rates each: such a folder; RUN/rates.tsv: what came of
//                             them, RUN/config.toml: the options of them all
//
// RUN/run.lease is there while a process writes the run, so that no second one does; of several learning
// rates as long as any of them is trained.
//
// A folder named checkpoint-<step> is always whole: it is written under a temporary name, synced, renamed;
// and renamed away before it is removed. What a killed process leaves behind has another name and is cleared
// by the next one. RUN/final is replaced in the same way.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/files/lease.h"
#include "lib/tokenization/tokenizer_folder.h"
#include "lib/training/optimizer.h"

namespace bigbird {

class Model;

// trainer_state.json.
struct TrainState {
  std::uint64_t step = 0;            // updates made
  std::uint64_t tokens = 0;          // real tokens seen
  double seconds = 0;                // of training, over all parts of the run
  std::optional<double> valid_loss;  // at this step, where it was measured
  // Those that decide the result, which must not change on resume: fields of RunOptions and of the task
  // ("seed", "data (training windows)"), and those of config.json as "model.<key>".
  std::map<std::string, std::string> options;
  // What computed the last part, "cuda:0 NVIDIA H200" and "bf16"; empty in folders that do not tell.
  std::string device;
  std::string precision;
  std::string product_table;     // Backend::product_table()
  std::string arithmetic;        // Backend::arithmetic()
  bool keeps_activated = false;  // ModelOptions::keep_activated
};

// A key of `options` as messages name it: "`train` (documents, sentences, tokens)"; what config.json holds is
// no setting of the run.
std::string in_words(const std::string& name);

enum class RunStart {
  fresh,      // the folder must hold no run
  resume,     // go on from the newest checkpoint; begin where there is none
  overwrite,  // remove the run that is there, and nothing else in the folder
};

// A checkpoint whose state was validated; as it is made, none.
struct ValidatedCheckpoint {
  std::uint64_t step = 0;
  double loss = std::numeric_limits<double>::infinity();
};

class RunFolder {
 public:
  // Creates the folder and holds it (RUN/run.lease) as long as the object lives. Error{bad_input} when a
  // fresh run finds a run there, or anything else; Error{runtime} when another process writes the run, or of
  // one that is to be overwritten one of its rates, before anything is removed.
  RunFolder(std::string path, RunStart start);
  // A folder that another process writes: as it is.
  static RunFolder of_another(std::string path) { return RunFolder(std::move(path)); }
  // The Error of the first, before anything is created or removed: to fail before long work.
  static void check(const std::string& path, RunStart start);

  // Error{runtime} when another process took the folder over, as Lease::check(): before a checkpoint is
  // saved.
  void check_still_ours() const;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string checkpoint(std::uint64_t step) const;
  // Steps of the checkpoints that are there, ascending.
  std::vector<std::uint64_t> checkpoints() const;

  // That of lowest validation loss, the earlier one of equals; step 0 where none was validated.
  ValidatedCheckpoint best() const;

  // Removes all but the newest keep_last (0: keeps all) and the keep_best ones of lowest valid_loss.
  void retain(std::uint64_t keep_last, std::uint64_t keep_best) const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::vector<ValidatedCheckpoint> validated() const;  // the best first
  void remove_checkpoint(std::uint64_t step) const;
  std::string path_;
  std::optional<Lease> lease_;  // of who writes
};

// What goes beside the weights into every model folder of a run.
struct FolderExtras {
  std::string tokenizer_folder;                   // its files are written (checkpoint.h); may be empty
  std::string model_card;                         // Markdown
  std::map<std::string, std::string> files = {};  // others, name -> text
  TokenizerFolderOptions tokenizer = {};          // how the tokenizer is written
};

// `trained`, in a run that averages its weights: the weights that it goes on with, while the model holds
// their average; they lie beside the moments.
// streams: what those of training remember (streams.safetensors), of models with a memory.
void save_checkpoint(const std::string& folder, const Model& model, Optimizer& optimizer,
                     const TrainState& state, const FolderExtras& extras,
                     const std::vector<float>* trained = nullptr,
                     const std::vector<std::vector<float>>& streams = {});
// The weights alone, as RUN/final: replaces what is there in one step.
void save_final(const std::string& folder, const Model& model, const FolderExtras& extras);

// Error{bad_input} naming the file when a field is missing. Earlier versions wrote the options as they are
// typed ("--weight-decay"); they are read as fields.
TrainState read_train_state(const std::string& checkpoint);
// The weights alone, as a model; and what the run goes on with: the moments and, where it averages its
// weights, the weights behind the average, into the model. Error{bad_input} naming the file and tensor when
// something does not fit the model.
void load_weights(const std::string& checkpoint, Model& model);
void load_training_state(const std::string& checkpoint, Model& model, Optimizer& optimizer, bool averages);

// A run may go on elsewhere: weights and moments are fp32 everywhere. Says so when the device is another one,
// and warns when products are taken in another precision, which changes the numbers by more than rounding, or
// when a device of the same name computes otherwise: by another table, with other multiprocessors.
void say_other_device(const TrainState& before, const kernels::Backend& now);
// Throws Error{usage} naming every option whose value differs.
void require_same_options(const std::string& checkpoint, const std::map<std::string, std::string>& before,
                          const std::map<std::string, std::string>& now);

// What a run goes on from: its newest checkpoint, after both of the above. Empty, with the state of step 0,
// for a run that begins.
struct Resumption {
  std::string checkpoint;
  TrainState state;
};
Resumption resumption(const RunFolder& run, const std::map<std::string, std::string>& options,
                      const kernels::Backend& backend);

}  // namespace bigbird
