// Predictions into files; see predict_run.h.
#include "lib/tasks/genomics/chromatin/predict_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/tasks/chunk_bytes.h"
#include "lib/tasks/chunk_run.h"
#include "lib/tasks/model_identity.h"

namespace bigbird {
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

std::string to_bytes(const PredictedChunk& chunk) {
  ChunkBytesWriter bytes;
  bytes.put_count(chunk.rows.size());
  for (const PredictedRow& row : chunk.rows) {
    bytes.put_text(row.chrom);
    bytes.put_text(row.name);
    for (const std::int64_t place : {row.begin, row.end, row.window_begin, row.window_end, row.shift})
      bytes.put(place);
    bytes.put(row.n_share);
    bytes.put(std::uint8_t{row.cut});
    bytes.put(static_cast<std::uint8_t>(row.status));
    bytes.put(std::uint64_t{row.contig});
  }
  bytes.put_all(chunk.values);
  return bytes.take();
}

PredictedChunk predicted_chunk(std::string_view bytes, const std::string& path) {
  ChunkBytesReader reader(bytes, path);
  PredictedChunk chunk;
  chunk.rows.resize(reader.take_count(1));
  for (PredictedRow& row : chunk.rows) {
    reader.take_text(row.chrom);
    reader.take_text(row.name);
    for (std::int64_t* place : {&row.begin, &row.end, &row.window_begin, &row.window_end, &row.shift})
      reader.take(*place);
    reader.take(row.n_share);
    std::uint8_t cut = 0, status = 0;
    std::uint64_t contig = 0;
    reader.take(cut);
    reader.take(status);
    reader.take(contig);
    row.cut = cut != 0;
    row.status = static_cast<PredictionStatus>(status);
    row.contig = static_cast<std::size_t>(contig);
  }
  reader.take_all(chunk.values);
  return chunk;
}

// What the outputs are like, for a merge that has neither model nor genome.
struct OutputFacts {
  PredictionFormat format = PredictionFormat::tsv;
  PredictionColumns columns;
  std::vector<Contig> contigs;
  std::vector<std::string> variants;  // names of further matrices
  std::vector<std::string> comments;
};

std::string facts_json(const OutputFacts& facts) {
  Json json;
  json["format"] = name_of(facts.format);
  json["profiles"] = Json::array();
  for (const Profile& profile : facts.columns.profiles)
    json["profiles"].push_back({profile.name, profile.group});
  json["selected"] = facts.columns.selected;
  json["contigs"] = Json::array();
  for (const Contig& contig : facts.contigs) json["contigs"].push_back({contig.name, contig.length});
  json["variants"] = facts.variants;
  json["comments"] = facts.comments;
  return json_text(json);
}

OutputFacts facts_of(const std::string& text, const std::string& path) {
  OutputFacts facts;
  try {
    const Json json = Json::parse(text);
    facts.format = parse_prediction_format(json.at("format").get<std::string>());
    for (const Json& profile : json.at("profiles"))
      facts.columns.profiles.push_back({profile.at(0).get<std::string>(), profile.at(1).get<std::string>()});
    facts.columns.selected = json.at("selected").get<std::vector<std::size_t>>();
    for (const Json& contig : json.at("contigs"))
      facts.contigs.push_back({contig.at(0).get<std::string>(), contig.at(1).get<std::int64_t>()});
    facts.variants = json.at("variants").get<std::vector<std::string>>();
    facts.comments = json.at("comments").get<std::vector<std::string>>();
    for (const std::size_t profile : facts.columns.selected) {
      if (profile >= facts.columns.profiles.size())
        throw_bad_input(fmt::format("{}: there is no profile {}", path, profile), "run this shard again");
    }
  } catch (const Json::exception& error) {
    throw_bad_input(fmt::format("{}: not written by bigbird: {}", path, json_problem(error)),
                    "run this shard again");
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
    main_ = make_prediction_sink(facts.format, output, facts.columns, facts.contigs, facts.comments);
  }

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

// The rows of one chunk, as targets.
class ChunkTargets : public PredictionTargets {
 public:
  explicit ChunkTargets(const std::vector<Contig>& contigs) : contigs_(contigs) {}

  // Up to `size` of them; false at the end.
  bool fill(PredictionTargets& from, std::uint64_t size) {
    rows_.clear();
    next_ = 0;
    PredictedRow row;
    std::string sequence;
    while (rows_.size() < size && from.next(row, sequence))
      rows_.emplace_back(std::move(row), std::move(sequence));
    return !rows_.empty();
  }
  std::uint64_t size() const { return rows_.size(); }
  std::string digest() const {
    Sha256 digest;
    for (const auto& [row, sequence] : rows_) {
      const std::string line =
          fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", row.chrom.size(), row.chrom, row.begin, row.end,
                      row.name.size(), row.name, row.window_begin, row.window_end, sequence.size());
      digest.update(line.data(), line.size());
      digest.update(sequence.data(), sequence.size());
    }
    return digest.finish();
  }
  bool next(PredictedRow& row, std::string& sequence) override {
    if (next_ == rows_.size()) return false;
    std::tie(row, sequence) = std::move(rows_[next_++]);
    return true;
  }
  const std::vector<Contig>& contigs() const override { return contigs_; }

 private:
  const std::vector<Contig>& contigs_;
  std::vector<std::pair<PredictedRow, std::string>> rows_;
  std::size_t next_ = 0;
};

// A chunk whose predictions are on their way, or there.
struct BegunChunk {
  ChunkRun::Chunk place;
  std::uint64_t rows = 0;  // that it will have
  PredictedChunk made;
  bool is_whole() const { return !place.is_wanted || made.rows.size() == rows; }
};

// The rows of all chunks that are to be predicted, each chunk begun when its first row is asked for. Their
// end is that of a chunk where nothing runs beside the program, which is whole, and kept, before the next one
// is begun; else that of the input.
class BegunTargets : public PredictionTargets {
 public:
  // `write` is called for each chunk that was finished by the run before.
  BegunTargets(PredictionTargets& all, ChunkRun& run, std::deque<BegunChunk>& begun,
               std::function<void()> write, bool works_ahead)
      : all_(all),
        run_(run),
        begun_(begun),
        write_(std::move(write)),
        works_ahead_(works_ahead),
        chunk_(all.contigs()) {}

  // Whether there are more rows; begins the next chunk.
  bool more() { return next_chunk(); }
  bool next(PredictedRow& row, std::string& sequence) override {
    if (chunk_.next(row, sequence)) return true;
    return works_ahead_ && next_chunk() && chunk_.next(row, sequence);
  }
  const std::vector<Contig>& contigs() const override { return all_.contigs(); }

 private:
  // The next chunk that is wanted; false at the end.
  bool next_chunk() {
    while (chunk_.fill(all_, run_.chunk_size())) {
      throw_if_cancelled();
      std::optional<ChunkRun::Chunk> place = run_.open(chunk_.size(), chunk_.digest());
      if (!place) continue;
      BegunChunk& chunk = begun_.emplace_back();
      chunk.place = std::move(*place);
      chunk.rows = chunk_.size();
      if (chunk.place.is_wanted) return true;
      write_();
    }
    return false;
  }

  PredictionTargets& all_;
  ChunkRun& run_;
  std::deque<BegunChunk>& begun_;
  std::function<void()> write_;
  bool works_ahead_;
  ChunkTargets chunk_;
};

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
  header.output = facts_json(facts);
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
  ChunkRun run(options.output, header_of(options, facts, scorer, calibrated), options.input, options.work);
  if (run.is_whole()) return counts;
  std::optional<PredictionFiles> files;
  if (!run.is_shard()) files.emplace(options.output, facts);
  Progress progress("chromatin predict", 0, "windows");
  std::deque<BegunChunk> begun;
  // In the order of the input.
  const auto write_whole_ones = [&] {
    for (; !begun.empty() && begun.front().is_whole(); begun.pop_front()) {
      ChunkRun::Chunk& place = begun.front().place;
      if (place.is_wanted) place.bytes = to_bytes(begun.front().made);
      run.finish(place);
      const PredictedChunk predicted = predicted_chunk(place.bytes, run.path(place));
      const std::uint64_t scored_before = counts.scored;
      for (const PredictedRow& row : predicted.rows) counts.add(row);
      if (place.is_wanted) counts.predicted += counts.scored - scored_before;
      if (files) files->write(predicted, run.path(place));
    }
  };
  const auto take_row = [&](const PredictedRow& row, const SequenceScores* scores) {
    // What is at the front and finished already has no rows to come.
    write_whole_ones();
    PredictedChunk& made = begun.front().made;
    made.rows.push_back(row);
    if (scores != nullptr) {
      for (const Ensemble& ensemble : ensembles)
        add_means(*scores, calibrated, ensemble, options.columns.selected, made.values);
    }
    write_whole_ones();
  };
  BegunTargets stream(targets, run, begun, write_whole_ones, scorer.works_ahead());
  while (stream.more()) predict_chromatin(stream, scorer, options.max_n, progress, take_row);
  write_whole_ones();
  if (run.records() == 0) throw_bad_input(options.input + ": there is nothing to predict");
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
    const PredictedChunk predicted = predicted_chunk(bytes, path);
    for (const PredictedRow& row : predicted.rows) counts.add(row);
    files.write(predicted, path);
  });
  counts.require_scored(output);
  close_together(files.paths(), [&] { files.close(); });
  return counts;
}

}  // namespace bigbird
