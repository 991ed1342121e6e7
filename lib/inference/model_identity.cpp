// See model_identity.h.
#include "lib/inference/model_identity.h"

#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/model/folder/config_json.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

std::string model_digest(const ModelFolder& folder) {
  return sha256_bytes(folder.weights_digest() + "\n" + sha256_file(folder.path() + "/config.json") + "\n" +
                      folder.tokenizer().digest() + chosen_attention().identity());
}

RunIdentity scorer_identity(const SequenceScorer& scorer) {
  RunIdentity identity;
  identity["version"] = bigbird_version();
  for (const FinetunedModel& model : scorer.all_models()) {
    identity["models"] += (identity["models"].empty() ? "" : ",") + model_digest(model.folder());
  }
  identity["strands"] = name_of(scorer.strands_read());
  identity["precision"] = kernels::name_of(scorer.precision());
  if (scorer.computes_in_int8()) identity["precision"] += ", int8 layers";
  return identity;
}

}  // namespace bigbird
