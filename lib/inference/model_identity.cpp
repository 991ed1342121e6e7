// See model_identity.h.
#include "lib/inference/model_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/fasta.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

std::string model_digest(const ModelFolder& folder) {
  return sha256_bytes(folder.weights_digest() + "\n" + sha256_file(config_file(folder.path())) + "\n" +
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

namespace {

constexpr std::int64_t fingerprint_stretches = 512;
constexpr std::int64_t stretch_length = 64;

// A stretch that is damaged is no error here: it may never be asked for.
std::string bases_or_nothing(Fasta& genome, std::size_t contig, std::int64_t begin, std::int64_t end) {
  try {
    return genome.fetch(contig, begin, end);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    return "?";
  }
}

}  // namespace

std::string genome_fingerprint(const std::string& path) {
  Fasta genome(path);  // of its own: the letters that it replaces are nobody's count
  Sha256 digest;
  std::int64_t total = 0;
  for (const Contig& contig : genome.contigs()) {
    const std::string line = fmt::format("{}\t{}\n", contig.name, contig.length);
    digest.update(line.data(), line.size());
    total += contig.length;
  }
  std::size_t contig = 0;
  std::int64_t before = 0;  // bases of the contigs before this one
  for (std::int64_t i = 0; i < fingerprint_stretches; ++i) {
    // Of quotient and remainder, so that the product stays in range.
    const std::int64_t at =
        total / fingerprint_stretches * i + total % fingerprint_stretches * i / fingerprint_stretches;
    while (at >= before + genome.contigs()[contig].length) before += genome.contigs()[contig++].length;
    const std::int64_t begin = at - before;
    const std::int64_t end = std::min(begin + stretch_length, genome.contigs()[contig].length);
    const std::string bases = bases_or_nothing(genome, contig, begin, end);
    digest.update(bases.data(), bases.size());
  }
  return digest.finish();
}

}  // namespace bigbird
