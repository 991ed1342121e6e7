// See extracts.h.
#include "lib/text/hibert/extracts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/progress.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/open_model.h"
#include "lib/text/hibert/extract_labels.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

constexpr const char* extraction_file = "extraction.json";
constexpr std::size_t evaluated_at_once = 64;

std::string extract_row(SummaryForm form, const std::string& id, const RankedDocument& document,
                        const std::vector<std::size_t>& taken) {
  std::string text = extract_of(document.sentences, taken);
  std::vector<std::size_t> numbers;
  for (const std::size_t at : taken) numbers.push_back(document.numbers[at]);
  if (form == SummaryForm::tsv) {
    return fmt::format("{}\t{}\t{}\n", escape_controls(id), escape_controls(text), fmt::join(numbers, ","));
  }
  if (form == SummaryForm::lines) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text + "\n";
  }
  nlohmann::ordered_json json;
  json["id"] = id;
  json["summary"] = text;
  json["sentences"] = numbers;
  for (const std::size_t at : taken) json["probabilities"].push_back(document.probabilities[at]);
  return json_text(json) + "\n";
}

std::string head_of(const SummaryPredictionOptions& options) {
  if (options.form != SummaryForm::tsv) return {};
  std::string head;
  for (const std::string& comment : options.comments) head += "##" + comment + "\n";
  return head + "id\tsummary\tsentences\n";
}

// The first of a document.
std::vector<std::size_t> first_sentences(const RankedDocument& document, std::int64_t count) {
  std::vector<std::size_t> numbers(
      std::min(document.sentences.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

std::vector<std::size_t> taken_by(const std::vector<std::int32_t>& labels) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 1) numbers.push_back(i);
  }
  return numbers;
}

// ROUGE of documents, of which the model's by number of sentences.
struct ScoredExtracts {
  std::vector<std::vector<std::vector<RougeScore>>> model;  // [number - 1][document][type]
  std::vector<std::vector<RougeScore>> lead, oracle;

  void add(const std::vector<RankedDocument>& documents, const std::vector<SummaryPair>& pairs,
           const std::vector<std::int64_t>& numbers, const RougeOptions& rouge_options) {
    throw_if_cancelled();
    const std::size_t before = lead.size();
    model.resize(numbers.size());
    for (auto& scores : model) scores.resize(before + pairs.size());
    lead.resize(before + pairs.size());
    oracle.resize(before + pairs.size());
    kernels::parallel_for(pairs.size(), [&](std::size_t i) {
      const RankedDocument& document = documents[i];
      const std::vector<std::string>& summaries = pairs[i].summaries;
      const auto score = [&](const std::vector<std::size_t>& taken) {
        return rouge(summaries, extract_of(document.sentences, taken), rouge_options);
      };
      for (std::size_t n = 0; n < numbers.size(); ++n)
        model[n][before + i] = score(document.best(numbers[n]));
      lead[before + i] = score(first_sentences(document, usual_extract));
      oracle[before + i] = score(taken_by(extract_labels(document.sentences, summaries.front())));
    });
  }
};

nlohmann::ordered_json summary_json(const RougeSummary& summary) {
  const auto of = [](const RougeScore& score) {
    return nlohmann::ordered_json{{"precision", score.precision}, {"recall", score.recall}, {"f1", score.f1}};
  };
  nlohmann::ordered_json json = of(summary.mean);
  json["low"] = of(summary.low);
  json["mid"] = of(summary.mid);
  json["high"] = of(summary.high);
  return json;
}

}  // namespace

std::int64_t read_extract_size(const std::string& folder) {
  const std::string path = folder + "/" + extraction_file;
  if (!file_exists(path)) return usual_extract;
  std::int64_t sentences = 0;
  try {
    nlohmann::json::parse(read_file(path)).at("sentences").get_to(sentences);
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: is damaged ({})", path, json_problem(error)),
                    "copy it again from the folder that finetune wrote");
  }
  if (sentences < 1) {
    throw_bad_input(fmt::format("{}: {} sentences", path, sentences),
                    "copy it again from the folder that finetune wrote");
  }
  return sentences;
}

void write_extract_size(const std::string& folder, std::int64_t sentences, const std::string& chosen_on) {
  const nlohmann::ordered_json json{{"sentences", sentences}, {"chosen_on", chosen_on}};
  write_text_atomic(folder + "/" + extraction_file, json_text(json, 2) + "\n");
}

std::vector<std::size_t> RankedDocument::best(std::int64_t count) const {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  std::sort(order.begin(), order.end());
  return order;
}

Extractor::Extractor(const ExtractorOptions& options, kernels::Backend& backend)
    : folder_(options.model), options_(options), backend_(backend) {
  const ModelConfig& config = folder_.config();
  require_hibert(config, options.model);
  if (config.writes_sentences()) {
    throw_bad_input(
        fmt::format("{}: the model was pretrained, and has no labels of sentences", options.model),
        "bigbird text hibert finetune gives it some");
  }
  folder_.require(Alphabet::text);
  if (options_.sentences == 0)
    options_.sentences = std::min(read_extract_size(options.model), config.documents.sentences);
  if (options_.sentences < 1 || options_.sentences > config.documents.sentences) {
    throw_usage(fmt::format("extracts of {} sentences: {} reads {} of a document", options_.sentences,
                            options.model, config.documents.sentences));
  }
}

Extractor::~Extractor() = default;

BatchLimits Extractor::limits(std::int64_t documents) const {
  const ModelConfig& config = folder_.config();
  const std::int64_t block = config.block_size;
  BatchLimits limits;
  limits.longest = (config.documents.sentence_length + block - 1) / block * block;
  limits.sequences = documents * config.documents.sentences;
  limits.tokens = limits.sequences * limits.longest;
  return limits;
}

void Extractor::prepare() {
  const MemoryBefore before = memory_before(backend_, 0);
  const auto plan_of = [&](std::int64_t documents) {
    return plan_inference_memory(plan_model_memory(folder_.config(), limits(documents), {}, backend_),
                                 backend_, before);
  };
  const TrainingMemory plan = plan_of(options_.documents);
  log_memory(plan);
  SmallerRuns smaller(1);
  for (std::int64_t less = options_.documents / 2; less >= 1; less /= 2) {
    smaller[0].push_back(
        {fmt::format("{} {}", setting_name("batch"), less), [&, less] { return plan_of(less); }});
  }
  require_memory(plan, smaller);
  model_ =
      open_model(folder_, {backend_, [&](const ModelConfig&) { return limits(options_.documents); }}).model;
}

void Extractor::run(std::vector<RankedDocument*>& documents, std::vector<DocumentSentences>& encoded) {
  if (documents.empty()) return;
  Batch batch;
  for (const DocumentSentences& sentences : encoded) append_document(batch, model_->config(), sentences.ids);
  model_->forward(batch, {});
  const std::vector<float> logits = model_->sequence_logits();
  std::size_t row = 0;
  for (RankedDocument* const document : documents) {
    for (std::size_t s = 0; s < document->sentences.size(); ++s, ++row) {
      const double other = static_cast<double>(logits[2 * row]),
                   own = static_cast<double>(logits[2 * row + 1]);
      if (!std::isfinite(other) || !std::isfinite(own))
        throw_runtime(folder_.path() + ": the model gives values that are not finite", "see bigbird check");
      document->probabilities.push_back(1.0 / (1.0 + std::exp(other - own)));
    }
  }
  documents.clear();
  encoded.clear();
}

std::vector<RankedDocument> Extractor::rank(const std::vector<std::string>& texts) {
  const ModelConfig& config = folder_.config();
  const Tokenizer& tokenizer = folder_.tokenizer();
  const auto most = static_cast<std::size_t>(config.documents.sentences);
  std::vector<RankedDocument> ranked(texts.size());
  std::vector<DocumentSentences> all(texts.size());
  kernels::parallel_for(texts.size(), [&](std::size_t i) {
    const std::vector<std::string> sentences = sentences_of(texts[i]);
    all[i] = encode_sentences(tokenizer, config, sentences);
    ranked[i].cut = all[i].ids.size() > most;
    if (ranked[i].cut) {
      all[i].ids.resize(most);
      all[i].numbers.resize(most);
    }
    ranked[i].numbers = all[i].numbers;
    for (const std::size_t number : all[i].numbers) ranked[i].sentences.push_back(sentences[number]);
  });
  std::vector<RankedDocument*> documents;
  std::vector<DocumentSentences> encoded;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (ranked[i].sentences.empty()) continue;
    documents.push_back(&ranked[i]);
    encoded.push_back(std::move(all[i]));
    if (static_cast<std::int64_t>(documents.size()) == options_.documents) run(documents, encoded);
  }
  run(documents, encoded);
  return ranked;
}

SummaryTally predict_extracts(const SummaryPredictionOptions& options, Extractor& extractor) {
  SummaryPairs pairs(options.input, options.pairs);
  RunIdentity identity = model_identity(extractor.folder(), TextSettings(), options.precision);
  identity["sentences"] = std::to_string(extractor.sentences());
  const char* const kind = options.form == SummaryForm::tsv     ? "tsv"
                           : options.form == SummaryForm::lines ? "lines"
                                                                : "jsonl";
  ChunkedOutputs outputs({{options.output, kind, ChunkForm::lines, head_of(options)}}, identity,
                         options.input, options.work);
  SummaryTally tally;
  if (outputs.are_whole()) return tally;
  extractor.prepare();
  Progress progress("text hibert predict", 0, "documents");
  outputs.run<SummaryPair>(
      [&](SummaryPair& pair) { return pairs.next(pair); },
      [](Sha256& digest, const SummaryPair& pair) {
        add_to_digest(digest, pair.id);
        add_to_digest(digest, pair.document);
      },
      [&](const std::vector<SummaryPair>& chunk) {
        std::vector<std::string> texts;
        for (const SummaryPair& pair : chunk) texts.push_back(pair.document);
        const std::vector<RankedDocument> ranked = extractor.rank(texts);
        for (std::size_t i = 0; i < chunk.size(); ++i) {
          if (ranked[i].sentences.empty()) {
            const std::string what = chunk[i].place + ": a document without a sentence";
            if (!options.pairs.skip_bad)
              throw_bad_input(what,
                              message("take it out, or count and pass over such records with `skip_bad`"));
            if (tally.skipped++ == 0) tally.first_skipped = what;
            continue;
          }
          const std::vector<std::size_t> taken = ranked[i].best(extractor.sentences());
          ++tally.documents;
          tally.cut += ranked[i].cut ? 1 : 0;
          tally.tokens += static_cast<std::int64_t>(taken.size());
          outputs.write(0, extract_row(options.form, chunk[i].id, ranked[i], taken));
          progress.advance(1);
        }
      },
      {options.input + ": there are no documents", "give one at least"});
  if (pairs.skipped() > 0) {
    tally.first_skipped = pairs.first_skipped();
    tally.skipped += pairs.skipped();
  }
  return tally;
}

std::int64_t ExtractScores::best_sentences() const {
  const auto sum = [](const std::array<double, 3>& f1) { return f1[0] + f1[1] + f1[2]; };
  const auto best = std::max_element(by_sentences.begin(), by_sentences.end(),
                                     [&](const auto& a, const auto& b) { return sum(a) < sum(b); });
  return best - by_sentences.begin() + 1;
}

ExtractScores evaluate_extracts(const ExtractEvaluationOptions& options, Extractor& extractor, bool choose) {
  RougeOptions rouge_options;
  rouge_options.types = {"rouge1", "rouge2", "rougeLsum"};
  std::vector<std::int64_t> numbers{extractor.sentences()};
  if (choose) {
    numbers.resize(
        static_cast<std::size_t>(std::min(most_extracted, extractor.folder().config().documents.sentences)));
    std::iota(numbers.begin(), numbers.end(), std::int64_t{1});
  }
  ExtractScores result;
  result.types = rouge_options.types;
  SummaryPairOptions of_data = options.pairs;
  of_data.parts = SummaryParts::both;
  SummaryPairs rows(options.data, of_data);
  ScoredExtracts scored;
  std::vector<SummaryPair> chunk;
  const auto score = [&] {
    std::vector<std::string> texts;
    for (const SummaryPair& pair : chunk) texts.push_back(pair.document);
    scored.add(extractor.rank(texts), chunk, numbers, rouge_options);
    chunk.clear();
  };
  for (SummaryPair pair; rows.next(pair);) {
    if (sentences_of(pair.document).empty()) {
      const std::string what = pair.place + ": a document without a sentence";
      if (!of_data.skip_bad)
        throw_bad_input(what, message("take it out, or count and pass over such records with `skip_bad`"));
      if (result.skipped++ == 0) result.first_skipped = what;
      continue;
    }
    chunk.push_back(std::move(pair));
    if (chunk.size() == evaluated_at_once) score();
  }
  if (!chunk.empty()) score();
  if (scored.lead.empty())
    throw_bad_input(options.data + ": there are no documents", "give one with its summary at least");
  if (rows.skipped() > 0) {
    result.first_skipped = rows.first_skipped();
    result.skipped += rows.skipped();
  }
  for (const auto& of_number : scored.model) {
    std::array<double, 3> f1{};
    for (const std::vector<RougeScore>& of_document : of_number) {
      for (std::size_t type = 0; type < f1.size(); ++type)
        f1[type] += of_document[type].f1 / static_cast<double>(of_number.size());
    }
    result.by_sentences.push_back(f1);
  }
  const auto place = choose ? static_cast<std::size_t>(result.best_sentences()) - 1 : std::size_t{0};
  result.sentences = numbers[place];
  result.documents = scored.lead.size();
  const auto summary = [&](const std::vector<std::vector<RougeScore>>& scores) {
    return summarize_rouge(scores, options.bootstrap_seed, options.draws);
  };
  result.model = summary(scored.model[place]);
  result.lead = summary(scored.lead);
  result.oracle = summary(scored.oracle);
  return result;
}

std::vector<std::string> extract_score_lines(const ExtractScores& scores) {
  const auto line = [&](const std::string& name, const std::vector<RougeSummary>& of) {
    std::string text = name + ":";
    for (std::size_t type = 0; type < scores.types.size(); ++type) {
      text += fmt::format("{} {} {:.4f} ({:.4f} to {:.4f})", type == 0 ? "" : ",", scores.types[type],
                          of[type].mean.f1, of[type].low.f1, of[type].high.f1);
    }
    return text;
  };
  return {line(fmt::format("model, {} sentences", scores.sentences), scores.model),
          line(fmt::format("lead-{}", usual_extract), scores.lead), line("oracle", scores.oracle)};
}

std::string extract_scores_json(const ExtractScores& scores, const std::string& provenance_json) {
  nlohmann::ordered_json json;
  json["documents"] = scores.documents;
  json["sentences"] = scores.sentences;
  const auto add = [&](const char* name, const std::vector<RougeSummary>& of) {
    for (std::size_t type = 0; type < scores.types.size(); ++type)
      json["rouge"][name][scores.types[type]] = summary_json(of[type]);
  };
  add("model", scores.model);
  add("lead", scores.lead);
  add("oracle", scores.oracle);
  json["bad_records_skipped"] = scores.skipped;
  if (!provenance_json.empty()) json["provenance"] = nlohmann::ordered_json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
