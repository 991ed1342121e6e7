// What a run over texts depends on; see run_identity.h.
#include "lib/text/run_identity.h"

#include <cstdint>

#include "lib/io/files/provenance.h"
#include "lib/model/folder/config_json.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

RunIdentity model_identity(const ModelFolder& folder, const TextSettings& settings,
                           kernels::Precision precision) {
  RunIdentity identity;
  identity["version"] = bigbird_version();
  identity["model"] = folder.weights_digest();
  identity["config.json"] = sha256_file(folder.path() + "/config.json");
  if (const std::string chosen = chosen_attention().identity(); !chosen.empty())
    identity["random_mode"] = chosen;
  identity["tokenizer"] = folder.tokenizer().digest();
  identity["second_type"] = settings.second_type ? "true" : "false";
  identity["whitespace"] = settings.encoding.white_space == WhiteSpace::keep ? "keep" : "fold";
  identity["ascii_punctuation"] = settings.encoding.ascii_punctuation ? "true" : "false";
  identity["precision"] = kernels::name_of(precision);
  return identity;
}

void add_to_digest(Sha256& digest, std::string_view text) {
  const std::uint64_t size = text.size();
  digest.update(&size, sizeof size);
  digest.update(text.data(), text.size());
}

}  // namespace bigbird
