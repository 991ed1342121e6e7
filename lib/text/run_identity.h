// What a run of a model over texts depends on: for finished chunks that are taken up again, and shards that
// are put together (lib/parts/chunked_outputs.h).
#pragma once

#include <string_view>

#include "kernels/backend.h"
#include "lib/io/files/sha256.h"
#include "lib/model/folder/model_folder.h"
#include "lib/parts/side_file.h"
#include "lib/text/text_settings.h"

namespace bigbird {

// The version, digests of the model, how it reads texts, and the precision that it is run in. Neither
// paths nor threads nor the size of batches: nothing that comes out depends on them.
RunIdentity model_identity(const ModelFolder& folder, const TextSettings& settings,
                           kernels::Precision precision);

// A text with its length, so that two texts are not taken for other two.
void add_to_digest(Sha256& digest, std::string_view text);

}  // namespace bigbird
