// bigbird convert: a model folder of any kind that is read, written as one of ours.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/calibration/calibration_file.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/inference/model_task.h"
#include "lib/inference/probabilities.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/folder/config_json.h"
#include "lib/model/folder/model_card.h"
#include "lib/model/folder/self_test.h"
#include "lib/text/summarize/generation_defaults.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<TensorType, const char*>, 3> weight_type_names{
    {{TensorType::f32, "fp32"}, {TensorType::bf16, "bf16"}, {TensorType::f16, "fp16"}}};

// The decoder that an encoder gets: of its own weights, or coupled to the encoder's.
constexpr std::array<std::pair<bool, const char*>, 2> decoder_names{{{false, "new"}, {true, "coupled"}}};

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

struct ConvertCommand {
  std::string from, to, dtype = "fp32", dialect = "hf", decoder, tokenizer;
  LoadOptions load;
};

void add_options(Verb& verb, ConvertCommand& typed) {
  verb.add_required(
      "FROM", typed.from,
      "Model folder: config.json with model.safetensors or pytorch_model.bin, whole or in shards; "
      "BigBird, BigBird-Pegasus, GENA-LM, BERT, RoBERTa or Pegasus");
  verb.add_required("TO", typed.to, "Model folder to write");
  verb.add_option("--dtype", typed.dtype, "Numbers of the weights: fp32, bf16 or fp16");
  verb.add_option("--to-dialect", typed.dialect,
                  "hf (Hugging Face's, and ours) or gena (GENA-LM's own code)");
  verb.add_random_mode();
  verb.add_option(
      "--decoder", typed.decoder,
      "Give an encoder a decoder, to be trained: new (layers like the encoder's, all random) or coupled "
      "(the encoder's own layers, only attention to the document random)");
  verb.add_count("--positions", typed.load.positions,
                 "Positions of a BigBird made of an original Pegasus; its sinusoids go on. 0: those it has",
                 CLI::NonNegativeNumber);
  verb.add_option("--tokenizer", typed.tokenizer,
                  "Folder whose tokenizer is copied, instead of the model's own");
  verb.add_option("--allow-missing PATTERN", typed.load.allow_missing,
                  "Tensors that may be missing and then start from random values, as a pattern: 'cls.*'");
  verb.add_flag("--allow-nan", typed.load.allow_nan, "Take NaN and infinities as they are");
  verb.add_seed();
  verb.add_threads();
  verb.add_force();
}

// An encoder gets one, which is then to be trained.
void give_decoder(ConvertCommand& typed) {
  const ModelConfig stored = read_config(typed.from + "/config.json", typed.load.plan_file);
  if (stored.has_decoder())
    throw_bad_input(typed.from + ": the model has a decoder already", "give one to an encoder");
  typed.load.head = HeadType::generation;
  typed.load.decoder = decoder_like(stored);
  typed.load.decoder->coupled = parse_name(decoder_names, typed.decoder, "decoder");
}

// All but the calibration and the self-test, which are of the weights as they were written.
void write_converted(const Verb& verb, const ConvertCommand& typed, WriteOptions write, LoadedModel& model,
                     const AtomicFolder& folder) {
  const std::string& tokenizer = typed.tokenizer.empty() ? typed.from : typed.tokenizer;
  if (typed.load.decoder) choose_ends(tokenizer, model.config);
  Conversion conversion{typed.from,
                        verb.provenance() ? verb.command() : "",
                        {},
                        model.notes,
                        take_tokenizer(tokenizer, model.dialect, model.config),
                        write};
  Provenance provenance = verb.made_from();
  for (const std::string& file : model.files) {
    provenance.inputs.push_back({"weights", file, sha256_file(file)});
    conversion.source_files.push_back(fmt::format("`{}` (sha256 {})", file, provenance.inputs.back().sha256));
  }
  if (verb.provenance()) write.metadata["provenance"] = provenance_json(provenance);
  write.tokenizer = tokenizer_options(read_text_settings(typed.from));
  write_model_files(folder.path(), model.config, ParameterLayout(model.config), model.parameters,
                    conversion.tokenizer.empty() ? "" : tokenizer,
                    model_card(converted_card(model.config, conversion)), write);
  copy_model_task(typed.from, folder.path());
  if (!model.config.has_decoder()) return;
  if (const std::string search = generation_config_text(typed.from); !search.empty())
    write_text_atomic(folder.file("generation_config.json"), search);
}

}  // namespace

int cmd_convert(int argc, char** argv) {
  Verb verb("convert", "Write a model folder anew: other weights format, number type, dialect or plan.",
            {"bigbird convert google-bigbird-base model", "bigbird convert gena-lm-sparse model --dtype bf16",
             "bigbird convert bert-base-uncased warm-start", "bigbird convert model gena --to-dialect gena",
             "bigbird convert bigbird-roberta-base summarizer --decoder coupled",
             "bigbird convert pegasus-large summarizer --positions 4096 --tokenizer bigbird-pegasus"});
  ConvertCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  stop_anywhere(true);
  LoadOptions& load = typed.load;
  load.seed = verb.seed();
  load.plan_file = verb.random_mode().plan();
  WriteOptions write;
  write.type = parse_name(weight_type_names, typed.dtype, "type that weights are written in");
  write.dialect = parse_written_dialect(typed.dialect);
  if (!typed.decoder.empty()) give_decoder(typed);

  AtomicFolder folder(typed.to, verb.force());
  LoadedModel model = load_model(typed.from, load);
  leave_int8(model);
  write_converted(verb, typed, write, model, folder);
  const bool warm_start = load.decoder || model.dialect == Dialect::original_pegasus;
  const std::string origins = warm_start ? origin_table(model, verb.seed()) : "";
  bool same_model = !verb.random_mode().given() && load.allow_missing.empty();
  // What was rounded is what the self-test has to see.
  if (write.type != TensorType::f32) {
    LoadOptions again;
    again.allow_nan = load.allow_nan;
    LoadedModel rounded = load_model(folder.path(), again);
    same_model = same_model && rounded.parameters == model.parameters;
    model = std::move(rounded);
  }
  take_calibration(typed.from, folder.path(), same_model, model.config);
  const auto backend = kernels::make_cpu_backend();
  write_self_test(folder.path(), run_self_test(*backend, model.config, model.parameters));
  folder.commit();
  if (warm_start) {
    write_output("-", origins);
  }
  verb.set_throughput(static_cast<double>(model.parameters.size()), "parameters");
  return 0;
}

}  // namespace bigbird::apps
