// Model folders written anew; see convert.h.
#include "lib/quantization/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/calibration/calibration_file.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/inference/model_task.h"
#include "lib/inference/probabilities.h"
#include "lib/inference/sentence_settings.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/model_card.h"
#include "lib/model_folder/self_test.h"
#include "lib/text/summarize/generation_defaults.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// One line about the tokenizer that is copied; the digest goes into the config. A tokenizer that this program
// cannot read is copied as it is.
std::string take_tokenizer(const std::string& folder, Dialect dialect, ModelConfig& config) {
  if (tokenizer_files(folder).empty()) {
    log_warning(folder + ": no tokenizer is there to be copied");
    return {};
  }
  std::unique_ptr<Tokenizer> tokenizer;
  try {
    tokenizer = load_tokenizer(folder);
  } catch (const Error& error) {
    log_warning(error.message() + "; its files are copied as they are");
    return "copied, not understood by bigbird";
  }
  // The first ids of an original Pegasus are not in its file: the others lie behind them.
  if (dialect == Dialect::original_pegasus &&
      static_cast<std::int64_t>(tokenizer->vocab_size()) < config.vocab_size) {
    log_warning(
        message("{}: its {} pieces are numbered otherwise than the model's {}, and are not copied; "
                "take a BigBird-Pegasus's spiece.model, whose texts have the same ids "
                "(`tokenizer` FOLDER)",
                folder, tokenizer->vocab_size(), config.vocab_size));
    return {};
  }
  check_tokenizer_agrees(config, static_cast<std::int64_t>(tokenizer->vocab_size()), tokenizer->digest(),
                         folder, folder);
  config.tokenizer_digest = tokenizer->digest();
  return fmt::format("{}, {} pieces, sha256 {}", tokenizer->is_dna() ? "DNA" : "text",
                     tokenizer->vocab_size(), tokenizer->digest());
}

// A calibration goes along with weights of the same values, whose digest it then names; of others it says
// nothing.
void take_calibration(const std::string& from, const std::string& to, bool same_model,
                      const ModelConfig& config) {
  std::optional<Calibration> calibration = read_calibration(from, outputs_of(config));
  if (!calibration) return;
  if (!same_model || calibration->weights != weights_digest(from)) {
    log_warning(
        fmt::format("{}: is not copied, for it is of other weights or another plan; calibrate the new model",
                    calibration_path(from)));
    return;
  }
  calibration->weights = weights_digest(to);
  write_calibration(to, *calibration);
}

// The pieces that begin and end a text: <s> and </s> where the vocabulary has them at 2 and 1, as the
// published code wants them; [CLS] and [SEP] of any other.
void choose_ends(const std::string& tokenizer_folder, ModelConfig& config) {
  std::int64_t begin = 2, end = 1;
  if (!tokenizer_files(tokenizer_folder).empty()) {
    const auto tokenizer = load_tokenizer(tokenizer_folder);
    if (tokenizer->is_dna())
      throw_bad_input(tokenizer_folder + ": a decoder for DNA", "decoders write text: take a model of text");
    if (tokenizer->piece(2) != "<s>" || tokenizer->piece(1) != "</s>") {
      begin = tokenizer->special().cls;
      end = tokenizer->special().sep;
    }
  }
  config.decoder.start_token_id = begin;
  config.bos_token_id = begin;
  config.eos_token_id = end;
}

// "bert.encoder.layer.3.output" -> "bert.encoder.layer.*.output"
std::string without_layer(const std::string& name) {
  const std::size_t word = name.find(".layer");
  const std::size_t begin = word == std::string::npos ? name.size() : name.find_first_of("0123456789", word);
  if (begin >= name.size() || name[begin - 1] != '.') return name;
  return name.substr(0, begin) + "*" + name.substr(std::min(name.find('.', begin), name.size()));
}

// Where every tensor comes from: rows of tensors that differ in their layer alone.
std::string origin_table(const LoadedModel& model, std::uint64_t seed) {
  const ParameterLayout layout(model.config);
  const auto holds = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  struct Row {
    std::string name, from;
    std::int64_t tensors = 0, values = 0;
  };
  std::vector<Row> rows;
  for (const TensorSpec& spec : layout.tensors()) {
    const bool fresh = holds(model.fresh, spec.name);
    const std::string drawn = spec.init == Init::normal  ? fmt::format("random, seed {}", seed)
                              : spec.init == Init::zeros ? "zeros"
                                                         : "ones";
    const std::string from = fresh ? drawn : holds(model.adapted, spec.name) ? "read and extended" : "read";
    const std::string name = without_layer(stored_name(spec.name, model.config, Dialect::huggingface));
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const Row& one) { return one.name == name && one.from == from; });
    if (row == rows.end()) row = rows.insert(rows.end(), {name, from, 0, 0});
    ++row->tensors;
    row->values += spec.count;
  }
  std::string text = "tensor\tfrom\ttensors\tvalues\n";
  for (const Row& row : rows)
    text += fmt::format("{}\t{}\t{}\t{}\n", row.name, row.from, row.tensors, row.values);
  return text;
}

// An encoder gets one, which is then to be trained.
void give_decoder(const std::string& folder, bool coupled, LoadOptions& load) {
  const ModelConfig stored = read_config(config_file(folder), load.plan_file);
  if (stored.has_decoder())
    throw_bad_input(folder + ": the model has a decoder already", "give one to an encoder");
  load.head = HeadType::generation;
  load.decoder = decoder_like(stored);
  load.decoder->coupled = coupled;
}

// All but the calibration and the self-test, which are of the weights as they were written.
void write_converted(const ConvertOptions& options, bool with_decoder, LoadedModel& model,
                     const AtomicFolder& folder) {
  const std::string& tokenizer = options.tokenizer.empty() ? options.from : options.tokenizer;
  if (with_decoder) choose_ends(tokenizer, model.config);
  WriteOptions write = options.write;
  Conversion conversion{options.from, options.with_provenance ? options.provenance.command : "", {},
                        model.notes,  take_tokenizer(tokenizer, model.dialect, model.config),    write};
  Provenance provenance = options.provenance;
  for (const std::string& file : model.files) {
    provenance.inputs.push_back({"weights", file, sha256_file(file)});
    conversion.source_files.push_back(fmt::format("`{}` (sha256 {})", file, provenance.inputs.back().sha256));
  }
  if (options.with_provenance) write.metadata["provenance"] = provenance_json(provenance);
  write.tokenizer = tokenizer_options(read_text_settings(options.from));
  write.source = options.from;
  write_model_files(folder.path(), model.config, ParameterLayout(model.config), model.parameters,
                    conversion.tokenizer.empty() ? "" : tokenizer,
                    model_card(converted_card(model.config, conversion)), write);
  copy_model_task(options.from, folder.path());
  if (!model.config.has_decoder()) {
    copy_sentence_settings(options.from, folder.path());
    return;
  }
  if (const std::string search = generation_config_text(options.from); !search.empty())
    write_text_atomic(folder.file("generation_config.json"), search);
}

}  // namespace

ConvertedFolder convert_folder(const ConvertOptions& options) {
  LoadOptions load = options.load;
  if (options.coupled_decoder) give_decoder(options.from, *options.coupled_decoder, load);
  AtomicFolder folder(options.to, options.replace);
  LoadedModel model = load_model(options.from, load);
  leave_int8(model);
  write_converted(options, load.decoder.has_value(), model, folder);
  ConvertedFolder converted;
  if (load.decoder || model.dialect == Dialect::original_pegasus)
    converted.origins = origin_table(model, load.seed);
  bool same_model = !options.other_plan && load.allow_missing.empty();
  // What was rounded is what the self-test has to see.
  if (options.write.type != TensorType::f32) {
    LoadOptions again;
    again.allow_nan = load.allow_nan;
    LoadedModel rounded = load_model(folder.path(), again);
    same_model = same_model && rounded.parameters == model.parameters;
    model = std::move(rounded);
  }
  take_calibration(options.from, folder.path(), same_model, model.config);
  const auto backend = kernels::make_cpu_backend();
  write_self_test(folder.path(), run_self_test(*backend, model.config, model.parameters));
  folder.commit();
  converted.parameters = model.parameters.size();
  return converted;
}

}  // namespace bigbird
