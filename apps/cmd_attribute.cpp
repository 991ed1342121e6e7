// `bigbird attribute`: gradient x input of a region's bases, as a genome track.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track_writer.h"
#include "lib/io/weights/weight_files.h"
#include "lib/tasks/genomics/attribute.h"

namespace bigbird::apps {
namespace {

struct Options {
  std::string model, fasta, region, strand = "both", output = "-";
  std::vector<std::size_t> profiles;
  std::int64_t window = 0;
};

ModelWindow window_of(const BaseAttributor& model, const Options& options) {
  if (options.window > 0) return {"", options.window, options.window / 2, 1};
  if (!model.window()) {
    throw_usage(fmt::format("{}: the folder does not say what window the model reads", options.model),
                "give the bases of a window with --window");
  }
  return *model.window();
}

std::vector<std::size_t> outputs_of(const BaseAttributor& model, const Options& options) {
  const std::size_t count = model.profiles().size();
  if (options.profiles.empty()) {
    if (count == 1) return {0};
    throw_usage(fmt::format("{}: the model has {} profiles", options.model, count),
                "choose with --profile, by the index of profiles.tsv");
  }
  for (const std::size_t output : options.profiles) {
    if (output >= count) {
      throw_usage(fmt::format("{}: there is no profile {}", options.model, output),
                  fmt::format("profiles are numbered from 0 to {}", count - 1));
    }
  }
  if (options.profiles.size() > 1 && options.output == "-") {
    throw_usage("several profiles need a file each", "give --output NAME.bedgraph or NAME.bw");
  }
  return options.profiles;
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
  Verb verb("attribute", "Spread a model's logit over the bases of a region: gradient x input.",
            {"bigbird attribute -m run/final -f genome.fa.gz -r chr1:20,001-20,400 -o attribution.bedgraph",
             "bigbird attribute -m run/final -f genome.fa.gz -r chr1:20,001-20,400 --profile 0,2 -o out.bw"});
  Options options;
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
  app.add_option("--profile", options.profiles,
                 "Outputs, by index; several write NAME.INDEX.bedgraph or NAME.INDEX.bw each")
      ->delimiter(',')
      ->type_name("INDEX,...");
  app.add_option("--strand", options.strand, "Strands that the model reads: the mean of both, + or -")
      ->check(CLI::IsMember({"both", "+", "-"}));
  app.add_option("--window", options.window,
                 "Bases of the window, its target in the middle; 0: as the model's folder says")
      ->transform(count_suffix())
      ->check(CLI::NonNegativeNumber);
  app.add_option("-o,--output", options.output, "Track: bigWig for .bw, else bedGraph; - is stdout")
      ->type_name("FILE");
  verb.add_threads();
  verb.add_device();
  if (!verb.parse(argc, argv)) return 0;

  Fasta fasta(options.fasta);
  const Region region = parse_region(options.region, ContigNames(fasta.contigs()));
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend(ModelUse::training);
  BaseAttributor model(options.model, *backend);
  const std::vector<std::size_t> outputs = outputs_of(model, options);
  const ModelWindow window = window_of(model, options);
  const Attribution attribution =
      attribute_region(model, fasta, region, window, outputs, parse_attribution_strand(options.strand));

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
                                 {{"model", options.model, weights_digest(options.model)}}});
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
