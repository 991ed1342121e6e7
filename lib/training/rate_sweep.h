// Several learning rates tried one after another, and the best kept by validation: RUN/lr-<rate>/ is the
// whole run of each (run_folder.h), RUN/final the `final` of the one whose best validation loss is lowest,
// and RUN/rates.tsv says what came of each: rate, step of the best state, its validation loss, whether it was
// chosen. RUN/config.toml, written in the end, is RunOptions::config_toml as train() has left it.
#pragma once

#include <functional>
#include <string>

#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

// "lr-0.0003".
std::string rate_folder(double rate);

// `train` runs the training of `options`, whose `run` and `learning_rate` are set for it each time and are as
// before afterwards; until the last has ended no other process writes RUN. With no choice, or one, it is
// called once, on options.run itself. A run that goes on (RunStart::resume) takes up what is there of every
// rate; a finished one is not trained again. Of rates with the same loss the first in the list wins. The
// summary is the chosen run's, but for `tokens` and `seconds`, which are all runs' together. Error{usage} for
// a rate that is given twice, or that train() refuses.
TrainingSummary sweep_learning_rates(RunOptions& options, const std::function<TrainingSummary()>& train);

}  // namespace bigbird
