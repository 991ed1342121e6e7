// The model: arenas on the device, the order of a pass, and results back on the host; see model.h.
#include "lib/model/network/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/adaptive_span.h"
#include "lib/model/network/attention_content.h"
#include "lib/model/network/attention_etc.h"
#include "lib/model/network/attention_recurrent.h"
#include "lib/model/network/attention_rows.h"
#include "lib/model/network/attention_windowed.h"
#include "lib/model/network/contrast.h"
#include "lib/model/network/decoder.h"
#include "lib/model/network/encoder.h"
#include "lib/model/network/head_rows.h"
#include "lib/model/network/heads.h"
#include "lib/model/network/hierarchy.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/random_features.h"
#include "lib/model/network/stem.h"
#include "lib/model/network/tensors.h"

namespace bigbird {
namespace {

// Numbers of models, for pass_key().
std::atomic<std::uint64_t> models_made{0};

}  // namespace

struct Model::Impl {
  Impl(kernels::Backend& on, const ModelConfig& of, const BatchLimits& up_to, const ModelOptions& how)
      : backend(on),
        given_config(of),
        config(trunk_config(of)),
        given_limits(up_to),
        limits(trunk_limits(of, up_to)),
        options(how),
        layout(config),
        plans(config),
        decoder_plans(of.has_documents() ? of.num_attention_heads : of.decoder.num_attention_heads),
        window_plans(of.num_attention_heads),
        etc_plans(config),
        lists(config),
        recurrent_plans(of.num_attention_heads),
        streams(on, of, is_recurrent(of) ? up_to.streams : 0),
        spans(of, how.training),
        memory(on, model_bytes(on, of, up_to, how)) {
    Arena arena(memory.bytes(), backend);
    held = plan_model(arena, given_config, given_limits, options, backend);
    const kernels::AttentionLimits attention = attention_limits(given_config, given_limits, options);
    slots = attention.slots;
    first_slot = backend.reserve_scratch(attention);
    parameter_tensors = model_tensors(config, layout, held.parameters);
    const std::int64_t behind = floats_behind_parameters(config, backend);
    if (layout.count() < (config.vocab_size + behind) * config.hidden_size)
      throw_runtime("too few parameters after the word table for padded rows of logits");
    const std::size_t bytes = parameter_bytes() + static_cast<std::size_t>(behind) * sizeof(float);
    options.training ? backend.zero(held.parameters, bytes) : backend.clear(held.parameters, bytes);
    if (!options.training) packed = packed_layers(config, parameter_tensors, backend);
    if (options.training) {
      gradient_tensors = first_gradient_tensors = model_tensors(config, layout, held.gradients);
      ranges = mark_written_once(config, held.gradients, layout.count(), first_gradient_tensors);
      backend.zero(held.gradients, parameter_bytes());
    }
    fill_rotary_table(backend, config, limits.longest, held.activations.rotations);
    fill_recurrent(backend, config, held.activations.recurrent);
    fill_sinusoids(backend, config, held.activations.sinusoids, parameter_tensors);
    streams.place(held.activations.recurrent.remembered);
    if (held.working_weights != nullptr) {
      backend.bind_weights(held.parameters, layout.count() + behind, held.working_weights);
      backend.refresh_weights(held.parameters);
    }
    int8 = std::make_unique<Int8Layers>(backend, config, layout, held.parameters);
    int8_names = Int8Layers::names_for(backend, config, options.training);
    int8_asked = !int8_names.empty();
  }
  ~Impl() {
    backend.release_slots(first_slot, slots);
    if (held.working_weights != nullptr) backend.unbind_weights(held.parameters);
    for (const PackedLayer& part : packed) backend.unbind_packed_weight(part.layer.weight);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Weights are packed when they are there, before the first pass.
  void take_int8() {
    if (!int8_asked) return;
    int8_asked = false;
    if (packed_weights == nullptr) int8->use(int8_names);
  }

  std::size_t parameter_bytes() const { return static_cast<std::size_t>(layout.count()) * sizeof(float); }

  PassContext pass() {
    PassContext of{backend, config, batch, runs};
    of.masked_rows = masked_rows_of_pass(backend, static_cast<std::int64_t>(batch.masked_rows.size()),
                                         batch.tokens() * config.tokens_of_a_row());
    of.training = dropout_on;
    of.dropout_seed = held.activations.scalars.dropout_seed;
    of.decoder = &decoder;
    if (has_windows(config)) of.windowed = &windowed;
    if (config.attention == AttentionPattern::etc) of.etc = &etc;
    if (config.attention == AttentionPattern::bpt) of.lists = &lists;
    if (is_recurrent(config)) of.recurrent = &recurrent;
    see_content(content, of);
    if (config.has_stem()) of.stem = &stem;
    if (config.has_documents()) of.documents = &documents;
    of.smoothing = smoothing;
    of.dropped = dropped;
    of.scale_known = taken.has_value();
    return of;
  }

  void stage(const PassContext& pass, std::uint64_t dropout_seed) {
    const Activations& kept = held.activations;
    kernels::UploadsTogether uploads(backend);
    if (taken) upload_scale(*taken);
    backend.upload(kept.scalars.dropout_seed, &dropout_seed, sizeof dropout_seed);
    embeddings_stage(pass, kept.embeddings);
    head_rows_stage(pass, kept.head_rows);
    head_stage(pass, kept);
    if (pass.windowed != nullptr) windowed_stage(pass, kept.windowed);
    if (pass.etc != nullptr) etc_stage(pass, kept.etc);
    if (pass.lists != nullptr) rows_stage(pass, kept.lists, lists);
    if (pass.recurrent != nullptr) recurrent_stage(pass, spans, kept.recurrent);
    content_stage(pass, kept, content);
    for (const auto* stack : {&runs, &documents.runs, &decoder.runs, &decoder.cross_runs}) {
      for (const std::vector<AttentionRun>& layer : *stack) {
        for (const AttentionRun& run : layer) backend.prepare_attention(run.call());
      }
    }
    uploads.bring();
    lists.staged = lists.on_their_way;
  }

  // The gradient of what the head reads, before the head adds to it.
  void zero_gradient(const PassContext& pass) const {
    const kernels::Values gradient = held.activations.workspace.gradient;
    const kernels::Index values = at_head_rows(pass, held.activations.head_rows).rows() * pass.head_width();
    backend.zero(gradient.data(), static_cast<std::size_t>(values) * kernels::size_of(gradient.type()));
  }

  void upload_scale(LossScale scale) const {
    const LossScale weights = answer_weights(config);
    for (std::size_t loss = 0; loss < scale.all.size(); ++loss) scale.all[loss] *= weights.all[loss];
    backend.upload(held.activations.scalars.loss_scales, scale.all.data(), sizeof scale.all);
    recurrent_bring_scale(backend, config, scale, spans, recurrent, held.activations.recurrent);
    routing_bring_scale(backend, config, scale, held.activations.routing);
  }

  // What streams remember is that of all passes so far; the last one cannot go back any more.
  void remember_last() {
    if (!std::exchange(remembers_last, false)) return;
    backward_possible = false;
    recurrent_remember(pass(), held.activations, streams);
  }

  // Gradients that zero_gradients() left to the next backward(): zeros after all.
  void clear_written() {
    if (unwritten) backend.zero_ranges(held.gradients, ranges.written);
    unwritten = false;
  }

  void require_parameters() const {
    if (without_floats) throw_runtime("the weights of this model are packed: there are no floats of them");
  }

  std::vector<float> download(kernels::ConstValues from, std::int64_t count) const {
    std::vector<float> host(static_cast<std::size_t>(count));
    backend.download_values(host.data(), from, count);
    return host;
  }
  // The same for what only some heads have.
  std::vector<float> output(kernels::ConstValues from, std::int64_t count, const char* what) const {
    if (from == nullptr)
      throw_runtime(fmt::format("a model with the {} head has no {}", name_of(config.head), what));
    return download(from, count);
  }

  // Rows over the vocabulary, without what they are padded with.
  std::vector<float> vocabulary_rows(kernels::ConstValues from, std::int64_t rows, const char* what) const {
    const std::int64_t stride = backend.row_stride(config.vocab_size);
    return without_padding(output(from, rows * stride, what), config.vocab_size, stride);
  }

  const std::uint64_t number = ++models_made;
  kernels::Backend& backend;
  ModelConfig given_config;
  ModelConfig config;  // this and the next are the trunk's (stem.h)
  BatchLimits given_limits;
  BatchLimits limits;
  ModelOptions options;
  ParameterLayout layout;
  PlanCache plans;
  DecoderPlans decoder_plans;
  WindowPlans window_plans;
  EtcPlans etc_plans;
  RowsPass lists;
  RecurrentPlans recurrent_plans;
  StreamMemory streams;
  Spans spans;
  bool remembers_last = false;  // what the last pass read is still to be kept
  DeviceMemory memory;
  ModelMemory held;
  ModelTensors parameter_tensors;
  ModelTensors gradient_tensors;
  ModelTensors first_gradient_tensors;  // the same, of the first backward() after zero_gradients()
  GradientRanges ranges;                // written by that one, and all others, of the gradients
  bool unwritten = false;               // what is there in ranges.written is of no update
  std::vector<PackedLayer> packed;
  std::shared_ptr<const std::byte> packed_weights;
  bool without_floats = false;  // of what is packed
  // The last pass, for backward().
  Batch batch;
  std::vector<std::vector<AttentionRun>> runs;
  DecoderPass decoder;
  WindowedPass windowed;
  EtcPass etc;
  RecurrentPass recurrent;
  ContentPass content;
  StemPass stem;
  DocumentPass documents;
  std::vector<float> contrast_gradients;  // of the sum of that loss
  kernels::Index first_slot = 0;
  kernels::Index slots = 0;
  bool dropout_on = false;
  LabelSmoothing smoothing;
  std::vector<std::uint8_t> dropped;
  bool backward_possible = false;
  std::unique_ptr<Int8Layers> int8;
  std::vector<std::string> int8_names;  // what is to be computed so
  bool int8_asked = false;              // and is not yet
  std::optional<LossScale> taken;       // what forward() took the gradient of logits with
};

Model::Model(kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
             const ModelOptions& options)
    : impl_(std::make_unique<Impl>(backend, config, limits, options)) {}
Model::~Model() = default;

const ModelConfig& Model::config() const {
  return impl_->given_config;
}
const ParameterLayout& Model::layout() const {
  return impl_->layout;
}
kernels::Backend& Model::backend() {
  return impl_->backend;
}
float* Model::parameters() {
  return impl_->held.parameters;
}
float* Model::gradients() {
  impl_->clear_written();
  return impl_->held.gradients;
}

bool Model::wants_whole_blocks() const {
  return always_pads(impl_->config, impl_->options) || impl_->backend.wants_whole_blocks();
}

void Model::set_parameters(const std::vector<float>& host) {
  if (static_cast<std::int64_t>(host.size()) != layout().count()) {
    throw_runtime(fmt::format("{} values for a model of {} parameters", host.size(), layout().count()));
  }
  impl_->require_parameters();
  impl_->spans.forget();
  impl_->int8->forget();
  impl_->int8_asked = !impl_->int8_names.empty();
  impl_->backend.upload(impl_->held.parameters, host.data(), impl_->parameter_bytes());
  if (impl_->held.working_weights != nullptr) impl_->backend.refresh_weights(impl_->held.parameters);
}

float* Model::parameters_on_host() {
  impl_->spans.forget();
  const bool host = impl_->backend.in_host_memory() && impl_->held.working_weights == nullptr;
  return host ? impl_->held.parameters : nullptr;
}

std::size_t Model::packed_bytes() const {
  return bigbird::packed_bytes(impl_->packed);
}
std::string Model::packed_layout() const {
  return layout_of(impl_->packed, impl_->backend);
}
bool Model::packs(const TensorSpec& tensor) const {
  return holds(impl_->packed, impl_->held.parameters + tensor.offset);
}
void Model::pack_weights(std::byte* to) {
  impl_->require_parameters();
  impl_->without_floats = !impl_->packed.empty();
  for (const PackedLayer& part : impl_->packed) {
    impl_->backend.pack_weight(part.layer, part.form, to + part.offset);
    impl_->backend.clear(const_cast<float*>(part.layer.weight),
                         static_cast<std::size_t>(part.layer.in * part.layer.out) * sizeof(float));
  }
}

void Model::use_packed_weights(std::shared_ptr<const std::byte> packed) {
  impl_->without_floats = !impl_->packed.empty();
  impl_->packed_weights = std::move(packed);
  for (const PackedLayer& part : impl_->packed) {
    impl_->backend.bind_packed_weight(part.layer, part.form, impl_->packed_weights.get() + part.offset);
  }
}

void Model::after_update(std::uint64_t updates, std::uint64_t seed) {
  impl_->spans.limit(impl_->backend, impl_->parameter_tensors.spans);
  redraw_features(impl_->backend, impl_->config, layout(), impl_->held.parameters, updates, seed);
}

std::vector<float> Model::host_parameters() const {
  impl_->require_parameters();
  return impl_->download(impl_->held.parameters, layout().count());
}

HostValues Model::parameters_to_read() const {
  impl_->require_parameters();
  return {impl_->backend, impl_->held.parameters, layout().count()};
}

std::vector<float> Model::host_gradients() const {
  if (!impl_->options.training) throw_runtime("this model was built without gradients");
  impl_->clear_written();
  return impl_->download(impl_->held.gradients, layout().count());
}

void Model::zero_gradients() {
  if (!impl_->options.training) return;
  impl_->backend.zero_ranges(impl_->held.gradients, impl_->ranges.added_to);
  impl_->unwritten = !impl_->ranges.written.empty();
}

bool Model::compute_in_int8(const std::vector<std::string>& layers) {
  if (impl_->options.training) throw_runtime("a model that keeps gradients computes nothing in int8");
  impl_->require_parameters();
  impl_->int8_asked = false;
  impl_->int8_names = layers;
  return impl_->int8->use(layers);
}

bool Model::computes_in_int8() const {
  return !impl_->int8_names.empty();
}

void Model::make_ready(Batch& batch) const {
  if (impl_->held.activations.embeddings.orders != nullptr)
    batch.row_orders = embedding_orders(impl_->config, batch);
}

ForwardResult Model::forward(const Batch& given, const ForwardOptions& options) {
  start_forward(given, options);
  return read_result();
}

void Model::start_forward(const Batch& given, const ForwardOptions& options) {
  impl_->take_int8();
  impl_->remember_last();
  impl_->backward_possible = false;
  impl_->batch = given;
  Batch& batch = impl_->batch;
  complete_batch(impl_->config, wants_whole_blocks(), batch);
  check_batch(batch, impl_->given_config, impl_->given_limits, wants_whole_blocks());
  if (impl_->config.has_stem()) {
    stem_pass(impl_->config, batch, impl_->stem);
    batch = trunk_batch(impl_->config, batch);
  }
  const Activations& kept = impl_->held.activations;
  if (!batch.embedding_offsets.empty() && kept.embeddings.offsets == nullptr)
    throw_runtime("this model was built without offsets of embeddings");
  impl_->dropout_on = options.training;
  impl_->runs.clear();
  if (!is_recurrent(impl_->config))
    impl_->runs = attention_runs(impl_->config, impl_->plans, impl_->batch, options.training,
                                 kept.scalars.dropout_seed, impl_->first_slot);
  kernels::Index behind = impl_->first_slot + impl_->slots;
  behind = later_stacks(impl_->config, impl_->decoder_plans, impl_->batch, options.training,
                        kept.scalars.dropout_seed, behind, impl_->documents, impl_->decoder);
  if (has_windows(impl_->config)) {
    windowed_pass(impl_->config, impl_->batch, wants_whole_blocks(), options.training,
                  kept.scalars.dropout_seed, impl_->window_plans, behind - windowed_slots(impl_->config),
                  kept.windowed, impl_->runs, impl_->windowed);
  }
  if (impl_->config.attention == AttentionPattern::etc) {
    etc_pass(impl_->config, impl_->batch, options.training, kept.scalars.dropout_seed, impl_->etc_plans,
             behind - etc_slots(impl_->config), kept.etc, impl_->parameter_tensors.layers, impl_->runs,
             impl_->etc);
  }
  rows_pass(impl_->config, impl_->batch, kept.lists, impl_->lists);
  content_pass(impl_->config, impl_->limits, batch, options.training, options.dropout_seed, impl_->content);
  if (is_recurrent(impl_->config)) {
    impl_->spans.read(impl_->backend, impl_->parameter_tensors.spans);
    recurrent_pass(impl_->config, batch, impl_->streams, wants_whole_blocks(), options.training,
                   !impl_->options.training, kept.scalars.dropout_seed, impl_->recurrent_plans,
                   behind - recurrent_slots(impl_->config), kept, impl_->spans, impl_->recurrent);
    impl_->recurrent.key_weights = options.key_weights;
  }
  impl_->smoothing = options.smoothing;
  impl_->dropped = drawn_layers(impl_->config, options.training, options.dropout_seed);
  const bool in_pieces = impl_->options.training && impl_->options.logits_in_pieces;
  impl_->taken = impl_->options.training ? options.scale : std::nullopt;
  const PassContext pass = impl_->pass();
  impl_->stage(pass, options.dropout_seed);
  StateListener of_tokens = options.hidden_state;
  if (of_tokens && impl_->config.has_stem()) {
    of_tokens = [&](std::int64_t state, const std::vector<float>& rows) {
      options.hidden_state(state, repeated_rows(impl_->config, rows));
    };
  }
  const auto work = [&] {
    encoder_forward(pass, impl_->parameter_tensors, kept, of_tokens);
    head_forward(pass, impl_->parameter_tensors,
                 in_pieces && impl_->taken ? &impl_->gradient_tensors : nullptr, kept,
                 kept.last_hidden_state(), options.decoder_hidden_state);
  };
  if (options.hidden_state || options.decoder_hidden_state || options.key_weights) {
    work();
  } else {
    const Phase phase = impl_->taken ? Phase::forward_backward : Phase::forward;
    impl_->backend.replay(pass_key(pass, impl_->number, phase), work);
  }
  impl_->backward_possible = impl_->options.training && (!in_pieces || impl_->taken);
  impl_->remembers_last = is_recurrent(impl_->config);
  if (!impl_->options.training) impl_->remember_last();
}

ForwardResult Model::read_result() {
  const PassContext pass = impl_->pass();
  const Activations& kept = impl_->held.activations;
  const LabelCounts labels = label_counts(impl_->batch, impl_->config);
  ForwardResult result;
  for (std::size_t loss = 0; loss < labels.all.size(); ++loss) result.all[loss].count = labels.all[loss];
  head_result(pass, kept, result);
  if (impl_->config.has_contrast()) contrast_result(pass, kept.contrast, result, impl_->contrast_gradients);
  recurrent_losses(pass, labels, impl_->spans, kept.recurrent, result);
  content_losses(pass, labels, kept, result);
  return result;
}

ForwardResult Model::forward_backward(const Batch& batch, const ForwardOptions& options) {
  if (!options.scale) throw_runtime("forward_backward() needs the scale of the losses");
  start_forward(batch, options);
  if (impl_->config.has_contrast()) {  // whose gradient the host makes of what is read
    ForwardResult result = read_result();
    backward(*options.scale);
    return result;
  }
  backward(*options.scale);
  return read_result();
}

void Model::backward(const LossScale& scale) {
  if (!impl_->backward_possible)
    throw_runtime("backward() needs a model built for training and one forward() before it");
  if (impl_->taken && *impl_->taken != scale)
    throw_runtime("backward() with another scale than the forward() before it");
  if (impl_->config.head == HeadType::encoder)
    throw_runtime("an encoder without a head has no loss to derive");
  impl_->backward_possible = false;
  const Activations& kept = impl_->held.activations;
  if (!impl_->taken) impl_->upload_scale(scale);
  const PassContext pass = impl_->pass();
  if (impl_->config.has_contrast())
    contrast_stage_backward(pass, kept.contrast, impl_->contrast_gradients, scale[Loss::contrast]);
  // Layers that are not gone through write nothing.
  const bool through_all = at_head_rows(pass, kept.head_rows).rows() > 0 &&
                           std::count(impl_->dropped.begin(), impl_->dropped.end(), 0) ==
                               static_cast<std::ptrdiff_t>(impl_->dropped.size());
  if (!through_all) impl_->clear_written();
  const bool first = std::exchange(impl_->unwritten, false);
  const ModelTensors& gradients = first ? impl_->first_gradient_tensors : impl_->gradient_tensors;
  impl_->backend.replay(pass_key(pass, impl_->number, first ? Phase::first_backward : Phase::backward), [&] {
    impl_->zero_gradient(pass);
    head_backward(pass, impl_->parameter_tensors, gradients, kept, impl_->options.grad_checkpoint);
    encoder_backward(pass, impl_->parameter_tensors, gradients, kept, impl_->options.grad_checkpoint);
    backward_of_span_loss(pass, gradients.spans, kept.recurrent);
  });
}

std::vector<float> Model::input_gradients(const std::vector<float>& weights) {
  if (!impl_->backward_possible)
    throw_runtime("input_gradients() needs a model built for training and one forward() before it");
  if (impl_->config.head != HeadType::classification)
    throw_runtime(
        fmt::format("a model with the {} head has no logits to derive", name_of(impl_->config.head)));
  const std::int64_t logits = impl_->batch.outputs() * impl_->config.num_labels;
  if (static_cast<std::int64_t>(weights.size()) != logits)
    throw_runtime(fmt::format("{} weights for {} logits", weights.size(), logits));
  if (impl_->config.has_stem()) throw_runtime("a single token of a model with a stem has no vector");
  impl_->backward_possible = false;
  kernels::Backend& backend = impl_->backend;
  const Activations& kept = impl_->held.activations;
  const kernels::Values dlogits = kept.sequence.dlogits;
  backend.upload_values(dlogits, weights.data(), logits);
  const PassContext pass = impl_->pass();
  impl_->zero_gradient(pass);
  classification_logits_backward(pass, impl_->parameter_tensors.classification,
                                 impl_->gradient_tensors.classification, kept);
  encoder_backward(pass, impl_->parameter_tensors, impl_->gradient_tensors, kept,
                   impl_->options.grad_checkpoint);
  return impl_->download(kept.workspace.gradient, impl_->batch.tokens() * pass.width());
}

std::vector<float> Model::last_hidden_state() const {
  if (impl_->held.activations.head_rows.tokens != nullptr)
    throw_runtime("this model computes its last hidden state at the rows that the head reads");
  return repeated_rows(impl_->config, impl_->download(impl_->held.activations.last_hidden_state(),
                                                      impl_->batch.tokens() * head_width(impl_->config)));
}

std::vector<float> Model::global_hidden_state() const {
  const std::int64_t width = impl_->config.hidden_size;
  return impl_->download(impl_->held.activations.last_hidden_state() + impl_->batch.tokens() * width,
                         impl_->batch.globals.tokens() * width);
}

std::vector<float> Model::sentence_states() const {
  const DocumentActivations& documents = impl_->held.activations.documents;
  return impl_->output(documents.states.empty() ? nullptr : documents.last_state(),
                       impl_->batch.sequences() * impl_->config.hidden_size, "state of sentences");
}

const Batch& Model::last_batch() const {
  return impl_->batch;
}

std::vector<float> Model::pooler_output() const {
  return impl_->output(impl_->held.activations.pooled.pooled,
                       impl_->batch.sequences() * impl_->config.hidden_size, "pooled output");
}

std::vector<float> Model::sequence_logits() const {
  const std::int64_t classes = impl_->config.head == HeadType::pretraining ? 2 : impl_->config.num_labels;
  return impl_->output(impl_->held.activations.sequence.logits, impl_->batch.outputs() * classes,
                       "sequence logits");
}

std::vector<float> Model::masked_logits() const {
  if (impl_->held.activations.masked.logits_in_pieces)
    throw_runtime("this model does not keep the logits of next tokens");
  if (impl_->taken && (impl_->config.has_mlm() || impl_->config.predicts_next()))
    throw_runtime("the logits of masked tokens have turned into their gradient");
  const std::int64_t rows = static_cast<std::int64_t>(impl_->batch.masked_rows.size());
  return impl_->vocabulary_rows(impl_->held.activations.masked.logits, rows, "logits of masked tokens");
}

std::vector<float> Model::start_logits() const {
  return impl_->output(impl_->held.activations.question.start, impl_->batch.tokens(), "start logits");
}

std::vector<float> Model::end_logits() const {
  return impl_->output(impl_->held.activations.question.end, impl_->batch.tokens(), "end logits");
}

std::vector<float> Model::decoder_hidden_state() const {
  const DecoderActivations& decoder = impl_->held.activations.decoder;
  return impl_->output(decoder.states.empty() ? nullptr : decoder.last_hidden_state(),
                       impl_->batch.targets.tokens() * impl_->config.hidden_size,
                       "hidden state of a decoder");
}

std::vector<float> Model::target_logits() const {
  if (impl_->options.logits_in_pieces) throw_runtime("this model does not keep the logits of its targets");
  return impl_->vocabulary_rows(impl_->held.activations.decoder.logits, impl_->batch.targets.tokens(),
                                "logits of targets");
}

StreamMemory& Model::streams() {
  impl_->remember_last();
  return impl_->streams;
}

DecoderView Model::decoder_view() const {
  return {impl_->backend, impl_->parameter_tensors.decoder, impl_->held.activations.last_hidden_state(),
          impl_->batch};
}

const ModelTensors& Model::tensors() {
  impl_->take_int8();
  return impl_->parameter_tensors;
}

std::vector<float> Model::token_logits(std::size_t score) const {
  const std::vector<TokenScoreActivations>& scores = impl_->held.activations.answers;
  return impl_->output(score < scores.size() ? scores[score].logits : nullptr, impl_->batch.rows(),
                       "such scores of tokens");
}

}  // namespace bigbird
