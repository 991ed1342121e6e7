// The first screen of an evaluation in JSON.
#pragma once

#include <string>

#include "lib/report/first_screen.h"

namespace bigbird {

// `text`: the JSON object that a verb wrote to `path`. Key figures are those of what it evaluates: AUROC of
// groups of profiles beside the baselines, AUROC and F1 of promoters, losses and bits per base beside the
// baselines, else the first measures that it has.
FirstScreen evaluation_first_screen(const std::string& text, const std::string& path);

}  // namespace bigbird
