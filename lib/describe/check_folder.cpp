// See check_folder.h.
#include "lib/describe/check_folder.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "lib/calibration/calibration_file.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/inference/probabilities.h"
#include "lib/io/files/file.h"
#include "lib/model/quantization.h"
#include "lib/model_folder/model_folder.h"
#include "lib/model_folder/self_test.h"
#include "lib/quantization/data.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// Findings as they are made.
class Findings {
 public:
  void ok(const std::string& check, const std::string& detail) { findings_.push_back({check, "ok", detail}); }
  void skipped(const std::string& check, const std::string& detail) {
    findings_.push_back({check, "skipped", detail});
  }
  void failed(const std::string& check, const std::string& detail) {
    findings_.push_back({check, "failed", detail});
    passed_ = false;
  }
  // Runs a check whose Error is its failure; false then.
  template <typename Work>
  bool attempt(const std::string& check, const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input && error.kind() != ErrorKind::runtime) throw;
      failed(check, error.message());
      return false;
    }
  }
  bool passed() const { return passed_; }

  FolderReport take() && { return {passed_, std::move(findings_)}; }

 private:
  std::vector<FolderReport::Finding> findings_;
  bool passed_ = true;
};

// Every tensor with a value that is not finite, and how many it has.
void check_finite(const LoadedModel& model, bool allow_nan, Findings& report) {
  std::string bad;
  const ParameterLayout layout(model.config);
  for (const TensorSpec& spec : layout.tensors()) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < spec.count; ++i) {
      count += std::isfinite(model.parameters[static_cast<std::size_t>(spec.offset + i)]) ? 0 : 1;
    }
    if (count > 0) bad += fmt::format("{}{} ({} values)", bad.empty() ? "" : ", ", spec.name, count);
  }
  if (bad.empty()) {
    report.ok("finite", fmt::format("{} values", layout.count()));
  } else if (allow_nan) {
    report.skipped("finite", "NaN or infinity allowed in: " + bad);
  } else {
    report.failed("finite", "NaN or infinity in: " + bad);
  }
}

void check_tokenizer(const ModelFolder& folder, Findings& report) {
  if (!folder.has_tokenizer()) {
    report.skipped("tokenizer", "there is none in the folder");
    return;
  }
  report.attempt("tokenizer", [&] {
    const Tokenizer& tokenizer = folder.tokenizer();
    const std::int64_t pad = folder.config().pad_token_id;
    if (static_cast<std::int64_t>(tokenizer.special().pad) != pad) {
      throw_bad_input(
          fmt::format("the tokenizer pads with id {}, config.json has {}", tokenizer.special().pad, pad));
    }
    report.ok("tokenizer", fmt::format("{} pieces, pad id {}", tokenizer.vocab_size(), pad));
  });
}

// Whether it can be used with the weights that are there. Folders without one are not told so.
void check_calibration(const ModelFolder& folder, Findings& report) {
  report.attempt("calibration", [&] {
    const std::optional<Calibration> calibration =
        read_calibration(folder.path(), outputs_of(folder.config()));
    if (!calibration) return;
    if (calibration->weights != folder.weights_digest())
      throw_bad_input(std::string(calibration_file_name) + " was made for other weights");
    report.ok("calibration",
              fmt::format("{} of {} outputs fitted on {} windows, strands {}", calibration->fitted(),
                          calibration->outputs.size(), calibration->windows, name_of(calibration->strands)));
  });
}

// What `quantize` measured, and whether it comes out again. Folders without int8 layers are not told so.
void check_int8(const CheckOptions& options, const LoadedModel& model, kernels::Backend& backend,
                Findings& report) {
  if (model.config.quantization == nullptr) return;
  const Quantization& stored = *model.config.quantization;
  const QuantizationLoss& loss = stored.measured;
  const bool auroc = loss.measure == "auroc";
  const std::string before = fmt::format(
      "{} layers int8, {} kept; {} {:.6g} before, {:.6g} with int8 on {} {}, loss {:.3g} of {:g} allowed",
      stored.int8.size(), stored.kept.size(), auroc ? "mean AUROC" : "nats for each masked token", loss.full,
      loss.quantized, loss.examples, auroc ? "windows" : "tokens", loss.loss, loss.most);
  const std::string& place = options.data.empty() ? loss.data : options.data;
  if (!folder_exists(place) && !file_exists(place) && !file_exists(place + ".json")) {
    report.skipped("int8",
                   before + "; not repeated, " + place + " is not there: " + message("`data` names it"));
    return;
  }
  report.attempt("int8", [&] {
    const RepeatedLoss again = repeat_quantization_loss(options.folder, options.data, options.fasta, backend);
    const std::string detail = fmt::format("{}; again {:.6g}", before, again.quantized);
    const bool same = std::abs(again.quantized - loss.quantized) <= loss.most / 2 + 1e-9;
    if (same && again.loss <= loss.most + 1e-9) {
      report.ok("int8", detail);
    } else {
      report.failed("int8", detail);
    }
  });
}

void check_self_test(const CheckOptions& options, const LoadedModel& model, kernels::Backend& backend,
                     Findings& report) {
  const std::string& folder = options.folder;
  std::optional<SelfTest> stored;
  if (!report.attempt("self-test", [&] { stored = read_self_test(folder); })) return;
  if (!stored) {
    report.skipped("files", "no self_test.json");
    report.skipped("self-test", message("no self_test.json; `write_digest` writes one"));
    return;
  }
  if (const std::vector<std::string> changed = changed_files(folder, *stored); !changed.empty()) {
    report.failed("files",
                  fmt::format("changed since self_test.json was written: {}", fmt::join(changed, ", ")));
  } else {
    report.ok("files", fmt::format("{} files have their digest", stored->files.size()));
  }
  report.attempt("self-test", [&] {
    const double difference = self_test_difference(backend, model.config, model.parameters, *stored);
    const std::string detail = fmt::format("{} tokens, relative difference {:.2g}, allowed {:g}",
                                           stored->input_ids.size(), difference, self_test_tolerance);
    if (difference <= self_test_tolerance) {
      report.ok("self-test", detail);
    } else {
      report.failed("self-test", detail);
    }
  });
}

}  // namespace

std::string FolderReport::text() const {
  std::string lines = "#check\tstatus\tdetail\n";
  for (const Finding& finding : findings)
    lines += fmt::format("{}\t{}\t{}\n", finding.check, finding.status, finding.detail);
  return lines;
}

std::string FolderReport::json(const Provenance* provenance) const {
  nlohmann::ordered_json json{{"passed", passed}, {"checks", nlohmann::ordered_json::array()}};
  for (const Finding& finding : findings) {
    json["checks"].push_back(
        {{"check", finding.check}, {"status", finding.status}, {"detail", finding.detail}});
  }
  if (provenance != nullptr) json["provenance"] = nlohmann::ordered_json::parse(provenance_json(*provenance));
  return json_text(json, 2) + "\n";
}

FolderReport check_folder(const CheckOptions& options,
                          const std::function<std::unique_ptr<kernels::Backend>()>& make_backend) {
  Findings report;
  LoadedModel model;
  LoadOptions load;
  load.allow_nan = true;  // so that all are named
  const bool loaded = report.attempt("tensors", [&] {
    model = load_model(options.folder, load);
    report.ok("tensors",
              fmt::format("{} tensors of {} values, shapes and ties as in config.json",
                          ParameterLayout(model.config).tensors().size(), model.parameters.size()));
  });
  if (loaded) {
    check_finite(model, options.allow_nan, report);
    const ModelFolder folder(options.folder);
    check_tokenizer(folder, report);
    check_calibration(folder, report);
    if (options.write_digest && report.passed()) {
      const auto backend = kernels::make_cpu_backend();
      write_self_test(options.folder, run_self_test(*backend, model.config, model.parameters));
    }
    const auto backend = make_backend();
    check_self_test(options, model, *backend, report);
    check_int8(options, model, *backend, report);
  }
  return std::move(report).take();
}

}  // namespace bigbird
