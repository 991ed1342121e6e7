// `bigbird attribute`: gradient x input or integrated gradients of a region's bases, as a genome track.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/attribute.h"
#include "lib/inference/finetuned_model.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

struct AttributeCommand {
  std::vector<std::string> models;
  std::string fasta, region, output = "-";
  std::int64_t window = 0;
  ScoringOptions scoring;
  std::string method = name_of(AttributionMethod::gradient_x_input);
  std::string baseline = name_of(AttributionOptions{}.baseline);
  AttributionOptions attribution;
};

// --method with what belongs to it.
AttributionOptions method_of(const Verb& verb, const AttributeCommand& options) {
  AttributionOptions attribution = options.attribution;
  attribution.method = parse_attribution_method(options.method);
  attribution.baseline = parse_attribution_baseline(options.baseline);
  const bool typed = verb.given("--ig-steps") || verb.given("--ig-baseline");
  if (typed && attribution.method == AttributionMethod::gradient_x_input) {
    throw_usage("attribute: --ig-steps and --ig-baseline are of integrated gradients",
                "give --method integrated-gradients too");
  }
  return attribution;
}

// What the track holds, for its header.
std::string description(const AttributionOptions& options) {
  if (options.method == AttributionMethod::gradient_x_input) return "method=" + name_of(options.method);
  return fmt::format("method={} steps={} baseline={}", name_of(options.method), options.steps,
                     name_of(options.baseline));
}

ModelWindow window_of(const FinetunedModel& model, const AttributeCommand& options) {
  const ModelWindow window = options.window > 0 ? centred_window(options.window) : model.window_of(0);
  return with_offset(window, options.scoring.offset());
}

std::vector<std::size_t> outputs_of(const FinetunedModel& model, const AttributeCommand& options) {
  const std::size_t count = model.profiles().size();
  if (options.scoring.profiles().empty() && count > 1) {
    throw_usage(fmt::format("{}: the model has {} profiles", model.path(), count),
                "choose some of them with --profiles");
  }
  const std::vector<std::size_t> outputs =
      select_profiles(model.profiles(), options.scoring.profiles()).selected;
  if (outputs.size() > 1 && options.output == "-") {
    throw_usage("several profiles need a file each", "give --output NAME.bedgraph or NAME.bw");
  }
  return outputs;
}

// Whether the values add up, as those of integrated gradients should, and what the baselines say by
// themselves.
void tell_completeness(const Attribution& attribution, const std::vector<std::size_t>& outputs) {
  double gap = 0;
  for (std::size_t k = 0; k < attribution.completeness.size(); ++k) {
    const Completeness& output = attribution.completeness[k];
    const auto windows = static_cast<double>(output.sequences);
    log_info(fmt::format(
        "profile {}: mean logit of the baseline {:.3f}; the windows' differences from it, {:.3f} in the "
        "mean, are what the values add up to but for {:.2g} %",
        outputs[k], output.baseline / windows, output.difference / windows, 100 * output.gap()));
    gap = std::max(gap, output.gap());
  }
  if (constexpr double much = 0.05; gap > much) {
    log_warning(
        fmt::format("the values miss the differences of the logits by {:.2g} %: give more --ig-steps, "
                    "or another --ig-baseline where they hardly differ",
                    100 * gap));
  }
}

// "out.bw" -> "out.5.bw" when there are several.
std::string track_path(const std::string& output, std::size_t profile, bool several) {
  if (!several) return output;
  const std::size_t slash = output.rfind('/');
  std::size_t dot = output.find('.', slash == std::string::npos ? 0 : slash + 1);
  if (dot == std::string::npos) dot = output.size();
  return fmt::format("{}.{}{}", output.substr(0, dot), profile, output.substr(dot));
}

void tell(const Attribution& attribution, const std::string& path, const Fasta& fasta,
          const ModelWindow& window, std::int64_t bases) {
  if (attribution.tiles > 1) {
    log_info(
        fmt::format("the region is longer than the window of {} bp: {} windows, and of each the tile of {} "
                    "bp over its target; a tile's values are about its own window's logit",
                    window.length, attribution.tiles, window.length / 2));
  }
  warn_of_replaced_letters(path, fasta.iupac_replaced());
  if (attribution.n_bases > 0)
    log_info(fmt::format("{} of {} bases are N and have no value", attribution.n_bases, bases));
  if (constexpr double much = 0.1; attribution.n_share > much) {
    log_warning(fmt::format("{:.1f} % of a window are N: the logit of such a window is worth little",
                            100 * attribution.n_share));
  }
  if (attribution.cut_bases > 0) {
    log_warning(
        fmt::format("{} of {} bases have no value: their windows have more tokens than the model takes",
                    attribution.cut_bases, bases));
  }
}

// `comments`: of all tracks; none: there is no provenance.
void write_tracks(const Verb& verb, const std::string& output, const Fasta& fasta, const Region& region,
                  const FinetunedModel& model, const Attribution& attribution,
                  const std::vector<std::size_t>& outputs, const std::vector<std::string>& comments) {
  OutputSet tracks({});
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string path = track_path(output, outputs[k], outputs.size() > 1);
    tracks.add({"", path});
    std::vector<std::string> own = comments;
    if (!own.empty())
      own.push_back(fmt::format("profile={} {}", outputs[k], model.profiles()[outputs[k]].name));
    const std::unique_ptr<TrackWriter> track =
        make_track_writer(path, track_format(path), fasta.contigs(), verb.head_of(path, own));
    write_attribution(*track, region, attribution.values[k]);
    track->close();
  }
  tracks.commit();
}

void add_options(Verb& verb, AttributeCommand& options) {
  verb.add_required("-m,--model MODEL", options.models,
                    "Model folder of promoter finetune or chromatin finetune; several are averaged")
      ->take_all()
      ->expected(1);
  verb.add_required("-f,--fasta-ref FASTA", options.fasta, "Genome");
  verb.add_required(
      "-r,--region REGION", options.region,
      "Region whose bases are attributed to, 1-based; longer than the window, it is cut into tiles of half a window");
  verb.add_option("--method {gradient-x-input,integrated-gradients}", options.method,
                  "Method: gradient-x-input (gxi), at the tokens only, one pass, or integrated-gradients "
                  "(ig), from a baseline to the tokens, so that the values add up");
  verb.add_count("--ig-steps COUNT", options.attribution.steps,
                 "Points between baseline and tokens (Gauss-Legendre), a forward and a backward pass each",
                 CLI::Range(1, 1 << 16));
  verb.add_option(
      "--ig-baseline {zero,mean,n,pad,mask}", options.baseline,
      "Word vector that the path starts from: zero; mean of all pieces; n, pad or mask: the pieces N, [PAD] and [MASK]");
  options.scoring.add(
      verb, {.strands = usual_strands, .profiles = "the only one", .offset = true, .batch_tokens = 1});
  verb.with_word(
      verb.add_count("--window", options.window,
                     "Bases of the window, its target in the middle (default: as in the model's folder)",
                     CLI::NonNegativeNumber),
      "auto", "0");
  verb.add_option("-o,--output FILE", options.output,
                  "Track: bigWig for .bw, bedGraph for other names; - is stdout. Several profiles: "
                  "NAME.INDEX.bedgraph or NAME.INDEX.bw each");
  verb.add_threads();
  verb.add_device();
  verb.add_random_mode();
}

}  // namespace

int cmd_attribute(int argc, char** argv) {
  Verb verb("attribute",
            "Spread a logit over the bases of a region: gradient x input or integrated gradients.",
            {("bigbird attribute -m demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz "
              "-r chr1:20,001-20,400 --profiles 0 -o attribution.bedgraph"),
             ("bigbird attribute -m demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz "
              "-r chr1:20,001-20,400 --profiles 0,2 -o attribution.bw"),
             ("bigbird attribute -m demo-output/finetune/final -f demo-output/genome/genome.fa.gz -r "
              "chr1:20,001-20,400 --method ig --ig-steps 64 -o ig.bedgraph")});
  AttributeCommand options;
  add_options(verb, options);
  if (!verb.parse(argc, argv)) return 0;
  const AttributionOptions method = method_of(verb, options);

  Fasta fasta(options.fasta);
  const Region region = parse_region(options.region, ContigNames(fasta.contigs()));
  // All are checked before the first one's weights are read.
  std::vector<FinetunedModel> models;
  for (const std::string& folder : options.models) {
    models.emplace_back(folder);
    models.back().require_like(models.front());
  }
  const auto backend = verb.make_backend();
  const FinetunedModel& model = models.front();
  const std::vector<std::size_t> outputs = outputs_of(model, options);
  const ModelWindow window = window_of(model, options);
  const Strands strands = model.strands_of(options.scoring.strands());
  BaseAttributor attributor(models, outputs, method, options.scoring.batch(), *backend);
  const Attribution attribution = attribute_region(attributor, fasta, region, window, strands);

  const std::int64_t bases = region.end - region.begin;
  tell(attribution, options.fasta, fasta, window, bases);
  tell_completeness(attribution, outputs);
  std::vector<std::string> comments;
  if (verb.provenance()) {
    Provenance provenance = verb.made_from(options.fasta);
    for (const FinetunedModel& one : models)
      provenance.inputs.push_back(model_input(one.path(), one.folder().weights_digest()));
    comments = provenance_lines(provenance);
    comments.push_back(description(method));
  }
  write_tracks(verb, options.output, fasta, region, model, attribution, outputs, comments);
  verb.set_throughput(static_cast<double>(bases) * static_cast<double>(outputs.size()), "bp");
  return 0;
}

}  // namespace bigbird::apps
