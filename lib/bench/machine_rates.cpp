// See machine_rates.h.
#include "lib/bench/machine_rates.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "lib/bench/machine_products.h"
#include "lib/bench/machine_scoring.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/progress.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/model/network/model.h"
#include "lib/model/network/model_operations.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/model_folder.h"
#include "lib/model_folder/open_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/memory_plan.h"
#include "lib/training/optimizer.h"
#include "lib/training/pretraining.h"
#include "lib/training/update.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<MachineSize, const char*>, 2> size_names{
    {{MachineSize::small, "small"}, {MachineSize::base, "base"}}};

// Lengths of the forward passes; of the training step the last.
constexpr std::array<std::int64_t, 3> lengths_measured{512, 1024, 4096};
constexpr std::int64_t product_rows = 4096;
constexpr LinearProduct::Shape common_product{4096, 3 * 768, 768};
constexpr double mask_share = 0.15;
constexpr std::int64_t tokens_of_scoring = 8192;  // at once, as the scoring verbs have it

std::string model_shape(const ModelConfig& config) {
  return fmt::format("{} x {}", config.num_hidden_layers, config.hidden_size);
}

constexpr const char* what_ratios_are_worth =
    "the same virtual machine differs by 1.4 within a day, and more with other work running: such ratios show how large a machine is, not which program is faster";

// One sequence of random tokens; `labels`: of both pretraining losses.
Batch random_batch(const ModelConfig& config, std::int64_t length, bool labels) {
  CounterRng rng(1, Purpose::test, static_cast<std::uint64_t>(length));
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < length; ++i)
    ids.push_back(static_cast<std::int32_t>(
        rng.between(std::min<std::int64_t>(5, config.vocab_size - 1), config.vocab_size - 1)));
  Batch batch;
  batch.append(ids, {}, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
  if (!labels) return batch;
  const auto masked = static_cast<std::int64_t>(mask_share * static_cast<double>(length));
  for (std::int64_t i = 0; i < masked; ++i) {
    const std::int64_t row = i * length / masked;
    batch.masked_rows.push_back(static_cast<std::int32_t>(row));
    batch.masked_labels.push_back(ids[static_cast<std::size_t>(row)]);
  }
  if (pretraining_head(config) == HeadType::pretraining) batch.sequence_labels.push_back(0);
  return batch;
}

BatchLimits limits_of(const Batch& batch) {
  return {batch.tokens(), 1, static_cast<std::int64_t>(batch.masked_rows.size()), batch.tokens()};
}

ModelConfig with_head(ModelConfig config, HeadType head) {
  config.head = head;
  return config;
}

class MachineMeasurement {
 public:
  MachineMeasurement(const MachineRatesOptions& options, kernels::Backend& backend, const SecondsClock& clock)
      : options_(options), backend_(backend), clock_(clock) {
    if (options.model.empty()) {
      config_ = machine_model(options.size);
      result_.model = fmt::format("{}, random weights", find_name(size_names, options.size));
    } else {
      folder_.emplace(options.model);
      config_ = folder_->config();
      result_.model = options.model;
      if (config_.has_decoder()) {
        throw_bad_input(options.model + ": a model with a decoder; only encoders are measured",
                        message("leave `model` out, and `size` sets how large a model of random weights is"));
      }
    }
    std::int64_t most = config_.max_position_embeddings / config_.block_size * config_.block_size;
    if (config_.plan != nullptr) most = std::min(most, config_.plan->blocks() * config_.block_size);
    for (const std::int64_t length : lengths_measured) {
      if (length <= most) lengths_.push_back(length);
    }
    if (lengths_.empty()) lengths_.push_back(most);
  }

  MachineRates take() {
    announce();
    Progress progress("bench", count_, "measurements");
    progress_ = &progress;
    measure_products();
    attempt("forward", [this] { measure_forward(); });
    attempt("training step", [this] { measure_step(); });
    attempt("genomics", [this] { measure_genomics(); });
    return std::move(result_);
  }

 private:
  std::vector<LinearProduct::Shape> products() const {
    const kernels::Index width = config_.hidden_size, inner = config_.intermediate_size;
    std::vector<LinearProduct::Shape> shapes{common_product};
    for (const LinearProduct::Shape& own : {LinearProduct::Shape{product_rows, 3 * width, width},
                                            LinearProduct::Shape{product_rows, inner, width},
                                            LinearProduct::Shape{product_rows, width, inner}}) {
      const bool known = std::any_of(shapes.begin(), shapes.end(),
                                     [&](const auto& shape) { return shape.text() == own.text(); });
      if (!known) shapes.push_back(own);
    }
    return shapes;
  }

  TrainingMemory forward_memory(std::int64_t length) const {
    const ModelConfig config = with_head(config_, HeadType::encoder);
    return plan_inference_memory(
        plan_model_memory(config, limits_of(random_batch(config, length, false)), {}, backend_), backend_,
        memory_before(backend_, 0));
  }
  TrainingMemory step_memory(bool keep_activated = false) const {
    const ModelConfig config = with_head(config_, pretraining_head(config_));
    return plan_training_memory(config, limits_of(random_batch(config, lengths_.back(), true)),
                                training_options(false, keep_activated), backend_,
                                memory_before(backend_, 0));
  }
  // As a run has it (training_run.h).
  ModelOptions step_options() const {
    const TrainingMemory keeping = step_memory(true);
    return training_options(false, keeping.on_device() && keeping.places.front().fits());
  }
  TrainingMemory scoring_memory() const {
    BatchLimits limits{tokens_of_scoring, tokens_of_scoring / config_.block_size, 0,
                       std::min(tokens_of_scoring, config_.max_position_embeddings)};
    return plan_inference_memory(
        plan_model_memory(with_head(config_, HeadType::classification), limits, {}, backend_), backend_,
        memory_before(backend_, 0));
  }

  // What will be measured, how long at least, and in how much memory.
  void announce() {
    count_ = products().size() + lengths_.size() + 4;
    log_info(fmt::format(
        "{}: {} layers of width {}, {} measurements, each of {:g} s and {} runs or more: "
        "at least {:.0f} s",
        result_.model, config_.num_hidden_layers, config_.hidden_size, count_, options_.rates.seconds,
        options_.rates.repeats, static_cast<double>(count_) * options_.rates.seconds));
    const auto peak = [](const TrainingMemory& memory) { return format_bytes(memory.places.front().total); };
    log_info(
        fmt::format("{} planned at the most: {} for {} tokens forward, {} for a training step, {} for "
                    "scores",
                    step_memory().places.front().where, peak(forward_memory(lengths_.back())),
                    lengths_.back(), peak(step_memory()), peak(scoring_memory())));
    require_memory(forward_memory(lengths_.front()), {});
  }

  // Once the products are known: the rest at their speed, with as much again for what is no product.
  void foretell(double operations_a_second) const {
    const double token = 2.0 * linear_operations_of_a_token(config_) / operations_a_second;
    const auto runs = static_cast<double>(options_.rates.repeats);
    double seconds = 0;
    const auto add = [&](double of_a_run) {
      seconds += of_a_run + std::max(options_.rates.seconds + of_a_run / 2, runs * of_a_run);
    };
    for (const std::int64_t length : lengths_) add(token * static_cast<double>(length));
    add(training_passes * token * static_cast<double>(lengths_.back()));
    constexpr double tokens_of_a_chunk = 10'000, making_the_genome = 3;
    for (int scoring = 0; scoring < 2; ++scoring) add(token * tokens_of_a_chunk);
    add(0.5);
    log_info(fmt::format("about {:.0f} s to go, by the speed of the products", seconds + making_the_genome));
  }

  void measure(const std::string& what, const std::string& shape, const std::string& unit,
               const std::function<double()>& work) {
    const Rate rate = measure_rate(work, options_.rates, clock_);
    result_.rates.push_back({what, shape, unit, rate});
    progress_->advance(1, fmt::format("{} {}: {:.4g} {}", what, shape, rate.median, unit));
    log_debug(fmt::format("{} {}: {:.4g} {}", what, shape, rate.median, unit));
  }
  void skip(const std::string& what, const std::string& reason) {
    log_info(what + ": not measured: " + reason);
    result_.skipped.push_back({what, reason});
    progress_->advance(1, what + " skipped");
  }
  // What a model cannot be asked for (a head that it cannot be given, more tokens than its attention plan is
  // for) is said, and the rest measured.
  void attempt(const std::string& what, const std::function<void()>& measurements) {
    try {
      measurements();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      skip(what, error.message());
    }
  }
  // Whether there is room; else it is said.
  bool has_room(const std::string& what, const TrainingMemory& memory) {
    for (const MemoryPlan& plan : memory.places) {
      if (plan.fits()) continue;
      skip(what,
           fmt::format("it needs {} of {}, of which {} are left", format_bytes(plan.total - plan.reclaimable),
                       plan.where, format_bytes(plan.limit)));
      return false;
    }
    return true;
  }

  void measure_products() {
    double operations_a_second = 0;
    for (const LinearProduct::Shape& shape : products()) {
      LinearProduct product(backend_, shape);
      measure("product", shape.text(), "GFLOP/s", [&] {
        product.run();
        return shape.operations() / 1e9;
      });
      operations_a_second = result_.rates.back().rate.median * 1e9;
    }
    foretell(operations_a_second);
  }

  // The folder's, or one of random weights; for `batch`, which is made for it.
  std::unique_ptr<Model> open(HeadType head, std::int64_t length, const ModelOptions& options, Batch& batch) {
    ModelPurpose purpose{backend_,
                         [&](const ModelConfig& config) {
                           batch = random_batch(config, length, options.training);
                           return limits_of(batch);
                         },
                         options};
    purpose.load.head = head;
    purpose.load.seed = options_.seed;
    if (folder_) return open_model(*folder_, purpose).model;
    const ModelConfig config = with_head(config_, head);
    return open_model(config, initial_parameters(ParameterLayout(config), config, options_.seed), purpose);
  }

  void measure_forward() {
    for (const std::int64_t length : lengths_) {
      const std::string what = "forward", shape = shape_of(length);
      if (!has_room(what + " " + shape, forward_memory(length))) continue;
      Batch batch;
      const std::unique_ptr<Model> model = open(HeadType::encoder, length, {}, batch);
      measure(what, shape, "tokens/s", [&] {
        model->forward(batch, {});
        backend_.synchronize();
        return static_cast<double>(length);
      });
    }
  }

  std::string shape_of(std::int64_t length) const {
    return fmt::format("{}, {} tokens", model_shape(config_), length);
  }

  // One update of pretraining: its losses, dropout, backward, AdamW.
  void measure_step() {
    const std::string what = "training step", shape = shape_of(lengths_.back());
    if (!has_room(what, step_memory())) return;
    Batch batch;
    const std::unique_ptr<Model> opened =
        open(pretraining_head(config_), lengths_.back(), step_options(), batch);
    Model& model = *opened;
    model.make_ready(batch);
    Optimizer optimizer(backend_, model.layout(), {});
    UpdateOptions update;
    update.schedule = {ScheduleForm::huggingface, 1e-5, 0, std::uint64_t{1} << 40};
    update.seed = options_.seed;
    Updater updater(model, optimizer, 1, update);
    std::uint64_t step = 0;
    measure(what, shape, "tokens/s", [&] {
      if (!updater.update(step++, [&] { return std::vector<Batch>{batch}; })) throw_if_cancelled();
      backend_.synchronize();
      return static_cast<double>(lengths_.back());
    });
  }

  // Why the folder cannot score DNA; empty when it can.
  std::string no_dna() const {
    if (!folder_) return {};
    if (!folder_->has_tokenizer()) return options_.model + " has no tokenizer";
    return folder_->alphabet() == Alphabet::dna ? "" : options_.model + " reads text";
  }

  void measure_genomics() {
    if (const std::string reason = no_dna(); !reason.empty()) {
      for (const char* what : {"tokenization", "variants", "scan"}) skip(what, reason);
      return;
    }
    const MachineGenome genome(options_.scratch, options_.seed);
    const std::string tokenizer_folder = folder_ ? options_.model : genome.train_vocabulary();
    const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(tokenizer_folder);
    measure("tokenization", fmt::format("DNA, {} pieces", tokenizer->vocab_size()), "bases/s",
            [&] { return genome.tokenize(*tokenizer); });
    if (!has_room("variants", scoring_memory())) {
      skip("scan", result_.skipped.back().reason);
      return;
    }
    const bool scores = folder_ && folder_->config().head == HeadType::classification &&
                        folder_->config().problem_type != ProblemType::regression;
    ModelConfig config = config_;
    config.vocab_size = static_cast<std::int64_t>(tokenizer->vocab_size());
    config.sep_token_id = tokenizer->special().sep;
    config.pad_token_id = tokenizer->special().pad;
    config.tokenizer_digest = tokenizer->digest();
    const std::string model = scores ? options_.model
                                     : write_machine_classifier(options_.scratch, config, options_.model,
                                                                tokenizer_folder, options_.seed);
    MachineScorer scorer(genome, model, backend_);
    const std::string shape =
        fmt::format("{}, windows of {} bp, both strands", model_shape(config_), scorer.window());
    measure("variants", shape, "variants/s", [&] { return scorer.score_variants(); });
    measure("scan", fmt::format("{}, step {}", shape, machine_scan_step), "bases/s",
            [&] { return scorer.scan(); });
  }

  const MachineRatesOptions& options_;
  kernels::Backend& backend_;
  const SecondsClock& clock_;
  std::optional<ModelFolder> folder_;
  ModelConfig config_;
  std::vector<std::int64_t> lengths_;
  std::uint64_t count_ = 0;
  Progress* progress_ = nullptr;
  MachineRates result_;
};

// Runs that a clock sees nothing of would go on for ever.
constexpr int most_runs_without_time = 1000;

}  // namespace

SecondsClock steady_seconds() {
  return [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
}

Rate measure_rate(const std::function<double()>& work, const RateOptions& options,
                  const SecondsClock& clock) {
  work();
  Rate rate;
  std::vector<double> rates;
  int without_time = 0;
  while (rate.seconds < options.seconds || rate.repeats < options.repeats) {
    throw_if_cancelled();
    const double begin = clock();
    const double amount = work();
    const double seconds = clock() - begin;
    if (!(seconds > 0)) {
      if (++without_time == most_runs_without_time)
        throw_runtime("the clock does not move: nothing can be timed with it");
      continue;
    }
    rate.seconds += seconds;
    rate.repeats += 1;
    rates.push_back(amount / seconds);
  }
  throw_if_cancelled();
  std::sort(rates.begin(), rates.end());
  const std::size_t middle = rates.size() / 2;
  rate.median = rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
  rate.best = rates.back();
  rate.spread = rate.median > 0 ? (rates.back() - rates.front()) / rate.median : 0;
  return rate;
}

MachineSize parse_machine_size(const std::string& name) {
  return parse_name(size_names, name, "size of a model");
}

ModelConfig machine_model(MachineSize size) {
  ModelConfig config;
  const bool base = size == MachineSize::base;
  config.num_hidden_layers = base ? 12 : 4;
  config.hidden_size = base ? 768 : 256;
  config.num_attention_heads = base ? 12 : 4;
  config.intermediate_size = base ? 3072 : 1024;
  config.vocab_size = base ? 32000 : 4096;
  validate(config, "bench");
  return config;
}

std::string common_product_shape() {
  return common_product.text();
}

MachineRates measure_machine(const MachineRatesOptions& options, kernels::Backend& backend,
                             const SecondsClock& clock) {
  return MachineMeasurement(options, backend, clock).take();
}

std::string machine_rates_tsv(const MachineRates& rates, const std::vector<std::string>& comments) {
  std::string text;
  for (const std::string& comment : comments) text += "##" + comment + "\n";
  text += "what\tshape\tmedian\tbest\tunit\trepeats\tspread\tseconds\n";
  for (const MachineRate& row : rates.rates) {
    text +=
        fmt::format("{}\t{}\t{:.5g}\t{:.5g}\t{}\t{}\t{:.3f}\t{:.3f}\n", row.what, row.shape, row.rate.median,
                    row.rate.best, row.unit, row.rate.repeats, row.rate.spread, row.rate.seconds);
  }
  return text;
}

std::string processor_name() {
  try {
    LineReader lines("/proc/cpuinfo");
    for (std::string_view line; lines.next(line);) {
      const std::size_t colon = line.find(": ");
      if (line.starts_with("model name") && colon != std::string_view::npos)
        return std::string(line.substr(colon + 2));
    }
  } catch (const Error&) {
    // A system without it has no name to give.
  }
  return "unknown";
}

int processor_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// Numbers come from the tables of benchmarks/speed.md: tokens over seconds, and 2 m n k over the milliseconds
// of a product.
const std::vector<KnownRate>& known_rates() {
  static const char* const tiles = "2 virtual cores, Sapphire Rapids 2.6 GHz, AMX";
  static const char* const no_tiles = "2 virtual cores, Sapphire Rapids, AMX switched off";
  static const char* const zen5 = "2 virtual cores, Zen 5, whole process with loading";
  static const std::vector<KnownRate> rates = {
      {"product", "4096 x 2304 x 768", "fp32", 775, "GFLOP/s", tiles},
      {"product", "4096 x 2304 x 768", "fp32", 439, "GFLOP/s", no_tiles},
      {"product", "4096 x 2304 x 768", "bf16", 2416, "GFLOP/s", tiles},
      {"forward", "12 x 768, 4096 tokens", "fp32", 2498, "tokens/s", tiles},
      {"forward", "12 x 768, 4096 tokens", "fp32", 1862, "tokens/s", no_tiles},
      {"forward", "12 x 768, 4096 tokens", "fp32", 845, "tokens/s", zen5},
      {"forward", "12 x 768, 4096 tokens", "bf16", 6113, "tokens/s", tiles},
      {"forward", "12 x 768, 4096 tokens", "bf16", 1575, "tokens/s", no_tiles},
      {"forward", "12 x 768, 4096 tokens", "bf16", 1128, "tokens/s", zen5},
      {"training step", "12 x 768, 4096 tokens", "fp32", 648, "tokens/s", tiles},
  };
  return rates;
}

std::vector<std::string> beside_known_machines(const MachineRates& rates, const std::string& precision) {
  std::vector<std::string> lines;
  for (const KnownRate& known : known_rates()) {
    if (known.precision != precision) continue;
    for (const MachineRate& own : rates.rates) {
      if (own.what != known.what || own.shape != known.shape || own.unit != known.unit) continue;
      lines.push_back(fmt::format("  {:<14} {:<22} {:>8.0f} here, {:>6.0f} {} ({:.2f}x)  {}", known.what,
                                  known.shape, own.rate.median, known.value, known.unit,
                                  own.rate.median / known.value, known.machine));
    }
  }
  if (lines.empty())
    return {"benchmarks/speed.md has no machine measured in " + precision + " to compare with"};
  lines.insert(lines.begin(), "compared with the machines of benchmarks/speed.md, in " + precision + ":");
  lines.emplace_back(what_ratios_are_worth);
  return lines;
}

}  // namespace bigbird
