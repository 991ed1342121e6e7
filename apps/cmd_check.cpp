// bigbird check: everything about a model folder that can be found wrong without data.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/command_line.h"
#include "apps/quantization_data.h"
#include "apps/verbs.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/model/folder/model_folder.h"
#include "lib/model/folder/self_test.h"
#include "lib/model/quantization.h"
#include "lib/tasks/calibration_file.h"
#include "lib/tasks/probabilities.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird::apps {
namespace {

struct Finding {
  std::string check;
  std::string status;  // "ok", "failed", "skipped"
  std::string detail;
};

class Report {
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

  std::string text() const {
    std::string lines = "#check\tstatus\tdetail\n";
    for (const Finding& finding : findings_) {
      lines += fmt::format("{}\t{}\t{}\n", finding.check, finding.status, finding.detail);
    }
    return lines;
  }
  nlohmann::ordered_json json() const {
    nlohmann::ordered_json json{{"passed", passed_}, {"checks", nlohmann::ordered_json::array()}};
    for (const Finding& finding : findings_) {
      json["checks"].push_back(
          {{"check", finding.check}, {"status", finding.status}, {"detail", finding.detail}});
    }
    return json;
  }

 private:
  std::vector<Finding> findings_;
  bool passed_ = true;
};

// Every tensor with a value that is not finite, and how many it has.
void check_finite(const LoadedModel& model, bool allow_nan, Report& report) {
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

void check_tokenizer(const ModelFolder& folder, Report& report) {
  if (!folder.has_tokenizer()) {
    report.skipped("tokenizer", "there is none in the folder");
    return;
  }
  report.attempt("tokenizer", [&] {
    const Tokenizer& tokenizer = folder.tokenizer();
    const std::int64_t pad = folder.config().pad_token_id;
    if (static_cast<std::int64_t>(tokenizer.special().pad) != pad) {
      throw_bad_input(
          fmt::format("the tokenizer pads with id {}, config.json says {}", tokenizer.special().pad, pad));
    }
    report.ok("tokenizer", fmt::format("{} pieces, pad id {}", tokenizer.vocab_size(), pad));
  });
}

// Whether it can be used with the weights that are there. Folders without one are not told so.
void check_calibration(const ModelFolder& folder, Report& report) {
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
void check_int8(const std::string& folder, const LoadedModel& model, const std::string& data,
                const std::string& fasta, kernels::Backend& backend, Report& report) {
  if (model.config.quantization == nullptr) return;
  const Quantization& stored = *model.config.quantization;
  const QuantizationLoss& loss = stored.measured;
  const bool auroc = loss.measure == "auroc";
  const std::string before = fmt::format(
      "{} layers int8, {} kept; {} {:.6g} before, {:.6g} with int8 on {} {}, loss {:.3g} of {:g} allowed",
      stored.int8.size(), stored.kept.size(), auroc ? "mean AUROC" : "nats for each masked token", loss.full,
      loss.quantized, loss.examples, auroc ? "windows" : "tokens", loss.loss, loss.most);
  const std::string& place = data.empty() ? loss.data : data;
  if (!folder_exists(place) && !file_exists(place) && !file_exists(place + ".json")) {
    report.skipped("int8", before + "; not repeated, " + place + " is not there: --data names it");
    return;
  }
  report.attempt("int8", [&] {
    const RepeatedLoss again = repeat_quantization_loss(folder, data, fasta, backend);
    const std::string detail = fmt::format("{}; again {:.6g}", before, again.quantized);
    const bool same = std::abs(again.quantized - loss.quantized) <= loss.most / 2 + 1e-9;
    if (same && again.loss <= loss.most + 1e-9) {
      report.ok("int8", detail);
    } else {
      report.failed("int8", detail);
    }
  });
}

void check_self_test(const std::string& folder, const LoadedModel& model, kernels::Backend& backend,
                     Report& report) {
  std::optional<SelfTest> stored;
  if (!report.attempt("self-test", [&] { stored = read_self_test(folder); })) return;
  if (!stored) {
    report.skipped("files", "no self_test.json");
    report.skipped("self-test", "no self_test.json; --write-digest writes one");
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

int cmd_check(int argc, char** argv) {
  Verb verb("check", "Check a model folder: tensors, numbers, tokenizer, files, and a self-test.",
            {"bigbird check model", "bigbird check model --json", "bigbird check model --write-digest",
             "bigbird check model --device cuda", "bigbird check int8 --data promoters"});
  std::string folder, data, fasta;
  bool allow_nan = false, write_digest = false, as_json = false;
  CLI::App& app = verb.app();
  app.add_option("MODEL", folder, "Model folder")->required();
  app.add_flag("--allow-nan", allow_nan, "NaN and infinities are no failure");
  app.add_flag("--write-digest", write_digest,
               "Write self_test.json for the model as it stands, then check it");
  app.add_option("--data", data,
                 "Data that the loss of int8 layers is measured on once more, when they are no longer where "
                 "quantize had them")
      ->type_name("DATA");
  app.add_option("-f,--fasta-ref", fasta, "Genome of --data, instead of the data set's own")
      ->type_name("FASTA");
  app.add_flag("--json", as_json, "The report as JSON");
  verb.add_threads();
  verb.add_device();
  if (!verb.parse(argc, argv)) return 0;
  stop_anywhere(true);

  Report report;
  LoadedModel model;
  LoadOptions load;
  load.allow_nan = true;  // so that all are named
  const bool loaded = report.attempt("tensors", [&] {
    model = load_model(folder, load);
    report.ok("tensors",
              fmt::format("{} tensors of {} values, shapes and ties as config.json says",
                          ParameterLayout(model.config).tensors().size(), model.parameters.size()));
  });
  if (loaded) {
    check_finite(model, allow_nan, report);
    check_tokenizer(ModelFolder(folder), report);
    check_calibration(ModelFolder(folder), report);
    if (write_digest && report.passed()) {
      const auto backend = kernels::make_cpu_backend();
      write_self_test(folder, run_self_test(*backend, model.config, model.parameters));
    }
    const auto backend = verb.make_backend();
    check_self_test(folder, model, *backend, report);
    check_int8(folder, model, data, fasta, *backend, report);
  }
  OutputStream out("-");
  if (as_json) {
    nlohmann::ordered_json json = report.json();
    if (verb.provenance()) {
      json["provenance"] =
          nlohmann::ordered_json::parse(provenance_json({bigbird_version(), verb.command(), {}, {}, {}}));
    }
    out.write(json_text(json, 2) + "\n");
  } else {
    out.write(report.text());
  }
  out.close();
  return report.passed() ? 0 : 1;
}

}  // namespace bigbird::apps
