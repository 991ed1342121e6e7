// `bigbird attribute`: gradient x input of a region's bases, as a genome track.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track_writer.h"
#include "lib/tasks/finetuned_model.h"
#include "lib/tasks/genomics/attribute.h"
#include "lib/tasks/select_profiles.h"

namespace bigbird::apps {
namespace {

struct AttributeCommand {
  std::string model, fasta, region, output = "-";
  std::int64_t window = 0;
  ScoringOptions scoring;
};

ModelWindow window_of(const FinetunedModel& model, const AttributeCommand& options) {
  if (options.window > 0) return {"", options.window, options.window / 2, 1};
  return model.window_of(0);
}

std::vector<std::size_t> outputs_of(const FinetunedModel& model, const AttributeCommand& options) {
  const std::size_t count = model.profiles().size();
  if (options.scoring.profiles().empty() && count > 1) {
    throw_usage(fmt::format("{}: the model has {} profiles", options.model, count),
                "choose some of them with --profiles");
  }
  const std::vector<std::size_t> outputs =
      select_profiles(model.profiles(), options.scoring.profiles()).selected;
  if (outputs.size() > 1 && options.output == "-") {
    throw_usage("several profiles need a file each", "give --output NAME.bedgraph or NAME.bw");
  }
  return outputs;
}

// "out.bw" -> "out.5.bw" when there are several.
std::string track_path(const std::string& output, std::size_t profile, bool several) {
  if (!several) return output;
  const std::size_t slash = output.rfind('/');
  std::size_t dot = output.find('.', slash == std::string::npos ? 0 : slash + 1);
  if (dot == std::string::npos) dot = output.size();
  return fmt::format("{}.{}{}", output.substr(0, dot), profile, output.substr(dot));
}

}  // namespace

int cmd_attribute(int argc, char** argv) {
  Verb verb(
      "attribute", "Spread a model's logit over the bases of a region: gradient x input.",
      {"bigbird attribute -m run/final -f genome.fa.gz -r chr1:20,001-20,400 -o attribution.bedgraph",
       "bigbird attribute -m run/final -f genome.fa.gz -r chr1:20,001-20,400 --profiles 0,2 -o out.bw"});
  AttributeCommand options;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.model, "Model folder of promoter finetune or chromatin finetune")
      ->required()
      ->type_name("MODEL");
  app.add_option("-f,--fasta-ref", options.fasta, "Genome")->required()->type_name("FASTA");
  app.add_option(
         "-r,--region", options.region,
         "Bases to attribute to, 1-based; longer than the window, it is cut into tiles of half a window")
      ->required()
      ->type_name("REGION");
  options.scoring.add(verb, {.strands = Strands::both, .profiles = "the only one", .batch_tokens = 1});
  app.add_option("--window", options.window,
                 "Bases of the window, its target in the middle; 0: as the model's folder says")
      ->transform(count_suffix())
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "-o,--output", options.output,
         "Track: bigWig for .bw, else bedGraph; - is stdout. Several profiles: NAME.INDEX.bedgraph or "
         "NAME.INDEX.bw each")
      ->type_name("FILE");
  verb.add_threads();
  verb.add_device();
  if (!verb.parse(argc, argv)) return 0;

  Fasta fasta(options.fasta);
  const Region region = parse_region(options.region, ContigNames(fasta.contigs()));
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend(ModelUse::training);
  const FinetunedModel model(options.model);
  const std::vector<std::size_t> outputs = outputs_of(model, options);
  const ModelWindow window = window_of(model, options);
  const Strands strands = model.strands_of(options.scoring.strands());
  BaseAttributor attributor(model, outputs, options.scoring.batch(), *backend);
  const Attribution attribution = attribute_region(attributor, fasta, region, window, strands);

  const std::int64_t bases = region.end - region.begin;
  if (attribution.tiles > 1) {
    log_info(
        fmt::format("the region is longer than the window of {} bp: {} windows, and of each the tile of {} "
                    "bp over its target; a tile's values are about its own window's logit",
                    window.length, attribution.tiles, window.length / 2));
  }
  if (attribution.n_bases > 0)
    log_info(fmt::format("{} of {} bases are N and have no value", attribution.n_bases, bases));
  if (constexpr double much = 0.1; attribution.n_share > much) {
    log_warning(fmt::format("{:.1f} % of a window are N: the logit of such a window says little",
                            100 * attribution.n_share));
  }
  if (attribution.cut_bases > 0) {
    log_warning(
        fmt::format("{} of {} bases have no value: their windows have more tokens than the model takes",
                    attribution.cut_bases, bases));
  }
  std::vector<std::string> comments;
  if (verb.provenance()) {
    comments = provenance_lines({bigbird_version(),
                                 verb.command(),
                                 std::nullopt,
                                 options.fasta,
                                 {{"model", options.model, model.folder().weights_digest()}}});
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string path = track_path(options.output, outputs[k], outputs.size() > 1);
    std::vector<std::string> own = comments;
    own.push_back(fmt::format("profile={} {}", outputs[k], model.profiles()[outputs[k]].name));
    const std::unique_ptr<TrackWriter> track = make_track_writer(
        path, track_format(path), fasta.contigs(), verb.provenance() ? own : std::vector<std::string>{});
    write_attribution(*track, region, attribution.values[k]);
    track->close();
  }
  verb.set_throughput(static_cast<double>(bases) * static_cast<double>(outputs.size()), "bp");
  return 0;
}

}  // namespace bigbird::apps
