// Predictions into files; see predict_run.h.
#include "lib/genomics/chromatin/predict_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/inference/model_identity.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/parts/chunked_numbers.h"
#include "lib/parts/json_fields.h"

namespace bigbird {

template <typename Bytes>
void pass(Bytes& bytes, PredictedRow& row) {
  bytes(row.chrom, row.name, row.begin, row.end, row.window_begin, row.window_end, row.shift, row.n_share,
        row.cut, row.status, row.contig);
}

template <typename Json>
void to_json(Json& json, const Profile& profile) {
  json = Json::array({profile.name, profile.group});
}
template <typename Json>
void from_json(const Json& json, Profile& profile) {
  json.at(0).get_to(profile.name);
  json.at(1).get_to(profile.group);
}
template <typename Json>
void to_json(Json& json, const PredictionFormat& format) {
  json = name_of(format);
}
template <typename Json>
void from_json(const Json& json, PredictionFormat& format) {
  format = parse_prediction_format(json.template get<std::string>());
}

namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// One matrix beside the main one: fewer models, or fewer strands. The main one is the last.
struct Ensemble {
  std::string name;  // of its file; empty for the main output
  std::size_t models = 1;
  std::size_t strands = 1;
};

std::vector<Ensemble> ensembles_of(bool variants, const SequenceScorer& scorer) {
  std::vector<Ensemble> all;
  if (variants) all.push_back({"single", 1, 1});
  if (variants && scorer.strands() > 1) all.push_back({"rc", 1, 2});
  all.push_back({"", scorer.models(), scorer.strands()});
  return all;
}

// "p.npy" -> "p.single.npy"
std::string beside(const std::string& output, const std::string& variant) {
  return output.substr(0, output.rfind('.')) + "." + variant + ".npy";
}

void add_means(const SequenceScores& scores, const CalibratedScores& calibrated, const Ensemble& of,
               const std::vector<std::size_t>& selected, std::vector<float>& values) {
  for (const std::size_t output : selected)
    values.push_back(static_cast<float>(calibrated.mean(scores, of.models, of.strands, output)));
}

// What is known of a chunk: its rows, and of those that were scored the values, [ensembles, selected] each.
struct PredictedChunk {
  std::vector<PredictedRow> rows;
  std::vector<float> values;
};

template <typename Bytes>
void pass(Bytes& bytes, PredictedChunk& chunk) {
  bytes(chunk.rows, chunk.values);
}

// What the outputs are like, for a merge that has neither model nor genome.
struct OutputFacts {
  PredictionFormat format = PredictionFormat::tsv;
  PredictionColumns columns;
  std::vector<Contig> contigs;
  std::vector<std::string> variants;  // names of further matrices
  std::vector<std::string> comments;
};

template <typename Fields>
void pass_fields(Fields& fields, OutputFacts& facts) {
  fields("format", facts.format);
  fields("profiles", facts.columns.profiles);
  fields("selected", facts.columns.selected);
  fields("contigs", facts.contigs);
  fields("variants", facts.variants);
  fields("comments", facts.comments);
}

OutputFacts facts_of(const std::string& text, const std::string& path) {
  const auto facts = facts_of_text<OutputFacts, Json>(text, path);
  for (const std::size_t profile : facts.columns.selected) {
    if (profile >= facts.columns.profiles.size())
      throw_bad_input(fmt::format("{}: there is no profile {}", path, profile), "run this shard again");
  }
  return facts;
}

// All files of a run.
class PredictionFiles {
 public:
  PredictionFiles(const std::string& output, const OutputFacts& facts)
      : output_(output), facts_(facts), width_(facts.columns.selected.size()) {
    for (const std::string& name : facts.variants) {
      variants_.push_back(make_matrix_sink(beside(output, name), facts.columns));
    }
    main_ = make_prediction_sink(facts.format, output, facts.columns, facts_.contigs, facts.comments);
  }
  PredictionFiles(const PredictionFiles&) = delete;  // its tracks refer to its contigs
  PredictionFiles& operator=(const PredictionFiles&) = delete;

  // `path` names the chunk in errors.
  void write(const PredictedChunk& chunk, const std::string& path) {
    std::span<const float> left = chunk.values;
    for (const PredictedRow& row : chunk.rows) {
      const bool scored = row.status == PredictionStatus::scored;
      if (is_track(facts_.format) && row.contig >= facts_.contigs.size())
        throw_bad_input(path + ": predictions of a contig that is not there", "run this shard again");
      const auto values = [&] {
        if (scored && left.size() < width_) {
          throw_bad_input(path + ": the part is cut short", "remove it and resume again");
        }
        const std::span<const float> here = left.first(scored ? width_ : 0);
        left = left.subspan(here.size());
        return here;
      };
      for (const auto& variant : variants_) variant->add(row, values());
      main_->add(row, values());
    }
  }
  void close() {
    for (const auto& variant : variants_) variant->close();
    main_->close();
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths = prediction_files(facts_.format, output_, facts_.columns);
    for (const std::string& name : facts_.variants) paths.push_back(beside(output_, name));
    return paths;
  }

 private:
  std::string output_;
  OutputFacts facts_;
  std::size_t width_;
  std::vector<std::unique_ptr<PredictionSink>> variants_;
  std::unique_ptr<PredictionSink> main_;
};

// With the sequence of its window; and those of a chunk.
using TargetRow = std::pair<PredictedRow, std::string>;
using TargetRows = std::vector<TargetRow>;

class ChunkTargets : public PredictionTargets {
 public:
  ChunkTargets(TargetRows& rows, const std::vector<Contig>& contigs) : rows_(rows), contigs_(contigs) {}

  bool next(PredictedRow& row, std::string& sequence) override {
    if (next_ == rows_.size()) return false;
    std::tie(row, sequence) = std::move(rows_[next_++]);
    return true;
  }
  const std::vector<Contig>& contigs() const override { return contigs_; }

 private:
  TargetRows& rows_;
  const std::vector<Contig>& contigs_;
  std::size_t next_ = 0;
};

void add_target(Sha256& digest, const TargetRow& target) {
  const auto& [row, sequence] = target;
  const std::string line =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", row.chrom.size(), row.chrom, row.begin, row.end,
                  row.name.size(), row.name, row.window_begin, row.window_end, sequence.size());
  digest.update(line.data(), line.size());
  digest.update(sequence.data(), sequence.size());
}

ShardHeader header_of(const ChromatinPredictOptions& options, const OutputFacts& facts,
                      SequenceScorer& scorer, const CalibratedScores& calibrated) {
  ShardHeader header;
  header.kind = chromatin_predict_kind;
  header.identity = scorer_identity(scorer);
  header.identity["calibrated"] = calibrated.identity();
  header.identity["max_n"] = fmt::format("{}", options.max_n);
  header.identity["profiles"] = sha256_bytes(fmt::format("{}", fmt::join(options.columns.selected, ",")));
  header.identity["variants"] = options.variants ? "true" : "false";
  header.identity["format"] = name_of(options.format);
  header.output = text_of_facts<Json>(facts);
  return header;
}

}  // namespace

PredictionCounts run_chromatin_predict(const ChromatinPredictOptions& options, PredictionTargets& targets,
                                       SequenceScorer& scorer, const CalibratedScores& calibrated) {
  const std::vector<Ensemble> ensembles = ensembles_of(options.variants, scorer);
  OutputFacts facts{options.format, options.columns, {}, {}, options.comments};
  if (is_track(options.format)) facts.contigs = targets.contigs();
  for (const Ensemble& ensemble : ensembles) {
    if (!ensemble.name.empty()) facts.variants.push_back(ensemble.name);
  }
  PredictionCounts counts;
  ChunkedNumbers run(options.output, header_of(options, facts, scorer, calibrated), options.input,
                     options.work);
  if (run.is_whole()) return counts;
  scorer.open();
  std::optional<PredictionFiles> files;
  if (!run.is_shard()) files.emplace(options.output, facts);
  Progress progress("chromatin predict", 0, "windows");
  TargetScorer target_scorer(scorer, options.max_n, progress);
  PartSteps<TargetRows, PredictedChunk> steps;
  steps.works_ahead = scorer.works_ahead();
  steps.read = [&](TargetRows& chunk) {
    return read_records(chunk, options.work.chunk,
                        [&](TargetRow& row) { return targets.next(row.first, row.second); });
  };
  steps.key = [](const TargetRows& chunk) { return key_of_records(chunk, add_target); };
  steps.begin = [&](TargetRows& chunk, const std::function<void(PredictedChunk)>& done) {
    ChunkTargets rows(chunk, targets.contigs());
    const auto take = [&, made = std::make_shared<PredictedChunk>(), size = chunk.size(), done](
                          PredictedRow& row, const SequenceScores* scores) {
      made->rows.push_back(std::move(row));
      if (scores != nullptr) {
        for (const Ensemble& ensemble : ensembles)
          add_means(*scores, calibrated, ensemble, options.columns.selected, made->values);
      }
      if (made->rows.size() == size) done(std::move(*made));
    };
    target_scorer.add(rows, take);
  };
  steps.finish = [&] { target_scorer.finish(); };
  steps.write = [&](TargetRows&, const PredictedChunk& predicted, const ChunkPlace& place) {
    const std::uint64_t scored_before = counts.scored;
    for (const PredictedRow& row : predicted.rows) counts.add(row);
    if (place.is_new) counts.predicted += counts.scored - scored_before;
    if (files) files->write(predicted, place.path);
  };
  run.parts().run(steps);
  if (run.parts().records() == 0) throw_bad_input(options.input + ": there is nothing to predict");
  run.close(files ? files->paths() : std::vector<std::string>{}, [&] {
    if (!files) return;
    counts.require_scored(options.input);
    files->close();
  });
  return counts;
}

PredictionCounts merge_chromatin_predictions(const std::vector<std::string>& shards,
                                             const std::string& output) {
  const MergedShards merged(shards);
  PredictionFiles files(output, facts_of(merged.header().output, shards.front()));
  PredictionCounts counts;
  merged.for_each([&](std::string_view bytes, const std::string& path) {
    const auto predicted = from_chunk_bytes<PredictedChunk>(bytes, path);
    for (const PredictedRow& row : predicted.rows) counts.add(row);
    files.write(predicted, path);
  });
  counts.require_scored(output);
  close_together(files.paths(), [&] { files.close(); });
  return counts;
}

}  // namespace bigbird
