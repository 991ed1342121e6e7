// The host's side of attention: what the device cannot do, the workspace, schedules and batches in device
// memory, and the choice of the kernel; see attention.h.
#include "kernels/cuda/attention/attention.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/cuda/attention/launch.h"

namespace bigbird::kernels::cuda {
namespace {

constexpr std::size_t alignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t floats(Index count) {
  return static_cast<std::size_t>(count) * sizeof(float);
}

// Where the vectors of one direction lie behind one another.
struct ListOffsets {
  std::size_t tiles, pieces, cuts, end;
  ListOffsets(const AttentionLists& lists, std::size_t begin)
      : tiles(begin),
        pieces(aligned(tiles + lists.tiles.size() * sizeof(ListedTile))),
        cuts(aligned(pieces + lists.pieces.size() * sizeof(AttentionPiece))),
        end(aligned(cuts + lists.cuts.size() * sizeof(CutTile))) {}
};

template <class T>
void put(std::byte* to, const std::vector<T>& from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof(T));
}

DeviceLists put_lists(const AttentionLists& lists, const ListOffsets& offsets, std::byte* image,
                      std::byte* device) {
  put(image + offsets.tiles, lists.tiles);
  put(image + offsets.pieces, lists.pieces);
  put(image + offsets.cuts, lists.cuts);
  return {reinterpret_cast<const ListedTile*>(device + offsets.tiles),
          reinterpret_cast<const AttentionPiece*>(device + offsets.pieces),
          reinterpret_cast<const CutTile*>(device + offsets.cuts)};
}

// The sums over sequences of query_slots_per_head and key_slots_per_head, whatever their lengths.
Index most_query_slots(const AttentionLimits& limits) {
  const Index tiles = limits.tokens / attention_tile_rows(limits.block_size);
  return limits.heads * ((tiles + 11 * limits.sequences) / 6);
}
Index most_key_slots(const AttentionLimits& limits) {
  const Index tiles = limits.tokens / attention_tile_rows(limits.block_size);
  return limits.training ? limits.heads * ((5 * tiles + 7 * limits.sequences) / 8) : 0;
}

// Counters of a prepared batch: query pieces, query cuts, key pieces, key cuts.
constexpr Index counter_kinds = 4;

std::size_t counters_offset(Index sequences) {
  return aligned(static_cast<std::size_t>(sequences) * sizeof(AttentionSequence));
}

// What is brought to the device: sequences and counters.
std::size_t image_bytes(Index sequences) {
  return counters_offset(sequences) +
         aligned(static_cast<std::size_t>(counter_kinds * (sequences + 1)) * sizeof(std::int32_t));
}

std::int32_t narrow(Index value) {
  if (value > INT32_MAX) throw std::length_error("attention batch of too many pieces");
  return static_cast<std::int32_t>(value);
}

float* workspace_part(const AttentionCall& call, std::size_t offset) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(call.workspace_memory) + offset);
}

std::int32_t distance(Index limit) {
  return limit < 0 ? -1 : static_cast<std::int32_t>(std::min<Index>(limit, INT32_MAX / 2));
}

PairView pair_view(const AttentionCall& call, Index queries, Index keys) {
  const AttentionBatch& batch = call.batch;
  const PairRule rule = batch.rule != nullptr ? *batch.rule : PairRule{};
  PairView view;
  view.queries = queries;
  view.keys = keys;
  view.before = distance(rule.before);
  view.after = batch.causal ? 0 : distance(rule.after);
  view.link_columns = static_cast<std::int32_t>(rule.link_columns);
  view.needed_links = static_cast<std::int32_t>(rule.needed_links);
  view.hidden = rule.hidden;
  view.free_queries = rule.free_queries;
  view.query_groups = rule.query_groups;
  view.key_groups = rule.key_groups;
  view.query_links = rule.query_links;
  view.key_links = rule.key_links;
  view.self_last = rule.self_last && !rule.no_self;
  view.no_self = rule.no_self;
  if (batch.relative == nullptr) return view;
  const RelativeTerm& term = *batch.relative;
  view.by_links = term.by_links;
  view.behind = term.behind;
  view.labels = static_cast<std::int32_t>(term.labels);
  view.most = static_cast<std::int32_t>(term.most);
  if (!term.by_links) {
    view.query_parts = term.query_parts;
    view.key_parts = term.key_parts;
  }
  view.weight = term.weight;
  view.bias = term.bias;
  view.heads = static_cast<std::int32_t>(batch.heads);
  view.columns = static_cast<std::int32_t>(call.label_columns > 0 ? call.label_columns : batch.head_size);
  view.terms = workspace_part(call, call.workspace.terms);
  return view;
}

// Fills what the arguments of both passes name alike.
template <class Arguments>
Arguments common_arguments(const AttentionCall& call, const QueryKeyValue& inputs) {
  const AttentionBatch& batch = call.batch;
  Arguments arguments;
  arguments.view = call.prepared.view();
  arguments.q = inputs.q;
  arguments.k = inputs.k;
  arguments.v = inputs.v;
  arguments.tokens = batch.token_offsets[batch.sequences];
  arguments.keys = batch.key_offsets != nullptr ? batch.key_offsets[batch.sequences] : arguments.tokens;
  arguments.causal = batch.causal;
  arguments.scale = batch.scale;
  arguments.exact = call.products == FloatProducts::fp32;
  arguments.partial_rows = workspace_part(call, call.workspace.partial_rows);
  arguments.drop_probability = batch.drop_probability;
  arguments.dropout_seed = batch.dropout_seed;
  arguments.dropout_site = batch.dropout_site;
  if (is_paired(batch)) arguments.pairs = pair_view(call, arguments.tokens, arguments.keys);
  return arguments;
}

}  // namespace

std::string attention_refusal(Index head_size, Index block_size, bool paired, Index labels) {
  // Blocks that are padded need a column beside the head's own (padding.h).
  const Index most = block_size % 16 == 0 ? 128 : 127;
  if (head_size > most) {
    return "CUDA attention has heads of at most " + std::to_string(most) + " columns" +
           (most == 128 ? "" : " for blocks of no multiple of 16 tokens") + ", not " +
           std::to_string(head_size);
  }
  if (paired && block_size % 16 != 0) {
    return "CUDA attention has pair rules, relative terms and queries behind a memory with blocks of a "
           "multiple of 16 tokens, not " +
           std::to_string(block_size);
  }
  if (labels > most_device_labels) {
    return "CUDA attention has relative terms of at most " + std::to_string(most_device_labels) +
           " labels, not " + std::to_string(labels);
  }
  return {};
}

bool warpgroups_serve(const AttentionBatch& batch, ElementType type) {
  return type == ElementType::bf16 && batch.head_size == 64 && attention_tile_rows(batch.block_size) == 64 &&
         batch.drop_probability == 0.0f && !batch.causal && !is_paired(batch);
}

AttentionWorkspace::AttentionWorkspace(const AttentionLimits& limits, bool deterministic) {
  const Index tile_rows = attention_tile_rows(limits.block_size);
  query_slots = most_query_slots(limits);
  key_slots = most_key_slots(limits);
  const Index tile_elements = tile_rows * limits.head_size;
  const auto take = [this](std::size_t size) {
    const std::size_t offset = bytes;
    bytes += aligned(size);
    return offset;
  };
  partial_rows = take(floats(query_slots * tile_elements));
  partial_statistics = take(floats(query_slots * 2 * tile_rows));
  output_products = take(limits.training ? floats(limits.heads * limits.tokens) : 0);
  partial_keys = take(floats(key_slots * 2 * tile_elements));
  query_gradients =
      take(limits.training && !deterministic ? floats(limits.tokens * limits.heads * limits.head_size) : 0);
  if (limits.labels == 0) return;
  terms = take(floats(limits.heads * limits.tokens * limits.labels));
  if (!limits.training) return;
  received = take(floats(limits.heads * limits.tokens * limits.labels));
  partial_labels = take(floats(query_slots * wide_labels * tile_rows));
  const Index chunks = (limits.tokens + label_chunk_rows - 1) / label_chunk_rows;
  label_sums = take(floats(chunks * limits.heads * limits.labels * (limits.head_size + 1)));
}

DeviceSchedule::DeviceSchedule(const BlockPlanView& plan, Index block_size, Stream stream)
    : host_(plan, block_size) {
  const ListOffsets by_query(host_.by_query, 0);
  const ListOffsets by_key(host_.by_key, by_query.end);
  const std::size_t bytes = std::max<std::size_t>(by_key.end, 1);
  struct Pinned {
    std::byte* data;
    explicit Pinned(std::size_t size) : data(static_cast<std::byte*>(allocate_pinned(size))) {}
    ~Pinned() { release_pinned(data); }
  } image(bytes);
  std::memset(image.data, 0, bytes);
  memory_ = allocate_device(bytes);
  by_query_ = put_lists(host_.by_query, by_query, image.data, static_cast<std::byte*>(memory_));
  by_key_ = put_lists(host_.by_key, by_key, image.data, static_cast<std::byte*>(memory_));
  try {
    copy_to_device(memory_, image.data, bytes, stream);
    synchronize(stream);
  } catch (...) {
    release_device(memory_);
    throw;
  }
}

DeviceSchedule::~DeviceSchedule() {
  release_device(memory_);
}

const DeviceSchedule& AttentionSchedules::schedule(const BlockPlanView& plan, Index block_size,
                                                   Stream stream) {
  std::unique_ptr<DeviceSchedule>& place = schedules_[{plan.identity, block_size}];
  if (place == nullptr) place = std::make_unique<DeviceSchedule>(plan, block_size, stream);
  return *place;
}

// A piece of each slot, and one of each tile whose list is whole.
PreparedSize PreparedSize::of(const AttentionLimits& limits) {
  const Index tiles = limits.heads * (limits.tokens / attention_tile_rows(limits.block_size));
  return {limits.sequences, tiles + most_query_slots(limits),
          limits.training ? tiles + most_key_slots(limits) : 0};
}

std::size_t PreparedSize::bytes() const {
  return image_bytes(sequences) + static_cast<std::size_t>(query_pieces + key_pieces) * sizeof(AttentionWork);
}

PreparedBatch::PreparedBatch(void* device, const PreparedSize& most) : device_(device), most_(most) {
  std::byte* const base = static_cast<std::byte*>(device);
  const auto* const counters = reinterpret_cast<const std::int32_t*>(base + counters_offset(most.sequences));
  const auto* const work = reinterpret_cast<const AttentionWork*>(base + image_bytes(most.sequences));
  const Index each = most.sequences + 1;
  view_ = {reinterpret_cast<const AttentionSequence*>(base),
           counters,
           counters + each,
           counters + 2 * each,
           counters + 3 * each,
           work,
           most.key_pieces > 0 ? work + most.query_pieces : nullptr,
           0};
}

void PreparedBatch::fill(const AttentionBatch& batch, AttentionSchedules& schedules, Stream stream) {
  std::vector<AttentionSequence> sequences;
  if (batch.sequences > most_.sequences) throw std::logic_error("attention slot is too small");
  const Index each = most_.sequences + 1;
  std::vector<std::int32_t> counters(static_cast<std::size_t>(counter_kinds * each), 0);
  Index totals[counter_kinds] = {0, 0, 0, 0};
  query_slots_ = 0;
  key_slots_ = 0;
  for (Index s = 0; s < batch.sequences; ++s) {
    const DeviceSchedule& schedule = schedules.schedule(*batch.plans[s], batch.block_size, stream);
    const AttentionLists& by_query = schedule.host().by_query;
    const AttentionLists& by_key = schedule.host().by_key;
    AttentionSequence sequence;
    std::memset(&sequence, 0, sizeof sequence);
    sequence.by_query = schedule.by_query();
    sequence.by_key = schedule.by_key();
    sequence.first_row = batch.token_offsets[s];
    sequence.first_key_row = batch.key_offsets != nullptr ? batch.key_offsets[s] : batch.token_offsets[s];
    sequence.length = narrow(batch.lengths[s]);
    sequence.query_length =
        narrow(batch.query_lengths != nullptr ? batch.query_lengths[s] : batch.lengths[s]);
    sequence.query_start = batch.query_starts != nullptr ? narrow(batch.query_starts[s]) : 0;
    sequence.first_query_slot = narrow(query_slots_);
    sequence.first_key_slot = narrow(key_slots_);
    sequences.push_back(sequence);
    const std::size_t sizes[counter_kinds] = {by_query.pieces.size(), by_query.cuts.size(),
                                              by_key.pieces.size(), by_key.cuts.size()};
    for (Index kind = 0; kind < counter_kinds; ++kind) {
      totals[kind] += static_cast<Index>(sizes[kind]);
      counters[static_cast<std::size_t>(kind * each + s + 1)] = narrow(totals[kind]);
    }
    query_slots_ += by_query.slots;
    key_slots_ += by_key.slots;
  }
  query_pieces_ = totals[0];
  query_cuts_ = totals[1];
  key_pieces_ = totals[2];
  key_cuts_ = totals[3];
  if (query_pieces_ > most_.query_pieces || (most_.key_pieces > 0 && key_pieces_ > most_.key_pieces))
    throw std::logic_error("attention slot is too small");
  view_.count = narrow(batch.sequences);
  tile_rows_ = attention_tile_rows(batch.block_size);
  causal_ = batch.causal;
  image_.assign(image_bytes(most_.sequences), std::byte{0});
  put(image_.data(), sequences);
  put(image_.data() + counters_offset(most_.sequences), counters);
}

void PreparedBatch::list_work(Stream stream) const {
  list_attention_work(view_, query_pieces_, view_.key_work != nullptr ? key_pieces_ : 0, tile_rows_, causal_,
                      stream);
}

void attention_forward(const AttentionCall& call, const QueryKeyValue& inputs, Rows out, float* log_sum_exp) {
  const AttentionBatch& batch = call.batch;
  if (batch.sequences == 0) return;
  if (call.prepared.query_slots() > call.workspace.query_slots) {
    throw std::logic_error("attention workspace is too small");
  }
  auto arguments = common_arguments<AttentionForwardArguments>(call, inputs);
  arguments.pieces = call.prepared.query_pieces();
  arguments.cuts = call.prepared.query_cuts();
  arguments.out = out;
  arguments.log_sum_exp = log_sum_exp;
  arguments.wanted_tiles =
      batch.wanted_blocks > 0
          ? narrow(batch.wanted_blocks * (batch.block_size / attention_tile_rows(batch.block_size)))
          : INT32_MAX;
  arguments.partial_statistics = workspace_part(call, call.workspace.partial_statistics);
  const int tile_rows = attention_tile_rows(batch.block_size);
  if (call.warpgroups && warpgroups_serve(batch, inputs.q.data.type()))
    return launch_warpgroup_forward(arguments, call.stream);
  if (batch.relative != nullptr) launch_label_terms(arguments, batch.head_size, call.stream);
  for_head_size(batch.head_size, [&](auto head_size) {
    const auto launch = is_paired(batch) ? launch_attention_forward<head_size(), true>
                                         : launch_attention_forward<head_size(), false>;
    launch(arguments, tile_rows, call.stream);
  });
  if (arguments.pairs.self_last) launch_lone_queries(arguments, batch.head_size, tile_rows, call.stream);
}

void attention_backward(const AttentionCall& call, const QueryKeyValue& inputs, ConstRows out,
                        const float* log_sum_exp, ConstRows dout, const QueryKeyValueGradients& gradients,
                        bool deterministic) {
  const AttentionBatch& batch = call.batch;
  if (batch.sequences == 0) return;
  if (call.prepared.query_slots() > call.workspace.query_slots ||
      call.prepared.key_slots() > call.workspace.key_slots) {
    throw std::logic_error("attention workspace is too small");
  }
  if (call.prepared.view().key_work == nullptr)
    throw std::logic_error("attention backward over a batch that was prepared for inference");
  auto arguments = common_arguments<AttentionBackwardArguments>(call, inputs);
  arguments.query_pieces = call.prepared.query_pieces();
  arguments.query_cuts = call.prepared.query_cuts();
  arguments.key_pieces = call.prepared.key_pieces();
  arguments.key_cuts = call.prepared.key_cuts();
  arguments.out = out;
  arguments.dout = dout;
  arguments.log_sum_exp = log_sum_exp;
  arguments.dq = gradients.q;
  arguments.dk = gradients.k;
  arguments.dv = gradients.v;
  arguments.heads = batch.heads;
  arguments.deterministic = deterministic || batch.causal || batch.key_offsets != nullptr;
  arguments.output_products = workspace_part(call, call.workspace.output_products);
  arguments.partial_keys = workspace_part(call, call.workspace.partial_keys);
  arguments.query_gradients = workspace_part(call, call.workspace.query_gradients);
  if (call.warpgroups && arguments.deterministic && warpgroups_serve(batch, inputs.q.data.type()))
    return launch_warpgroup_backward(arguments, call.stream);
  const bool narrow = inputs.q.data.type() == ElementType::bf16, paired = is_paired(batch);
  if (batch.relative != nullptr) {
    arguments.relative = gradients.relative;
    arguments.pairs.received = workspace_part(call, call.workspace.received);
    arguments.pairs.partial_labels = workspace_part(call, call.workspace.partial_labels);
    arguments.label_sums = workspace_part(call, call.workspace.label_sums);
    launch_label_terms(arguments, batch.head_size, call.stream);
    const Index numbers = batch.heads * arguments.tokens * batch.relative->labels;
    fill_zero(arguments.pairs.received, static_cast<std::size_t>(numbers) * sizeof(float), call.stream);
  }
  for_head_size(batch.head_size, [&](auto head_size) {
    const auto launch = narrow ? (paired ? launch_attention_backward<bf16, head_size(), true>
                                         : launch_attention_backward<bf16, head_size(), false>)
                               : (paired ? launch_attention_backward<float, head_size(), true>
                                         : launch_attention_backward<float, head_size(), false>);
    launch(arguments, attention_tile_rows(batch.block_size), call.stream);
  });
  if (batch.relative != nullptr) launch_label_gradients(arguments, batch.head_size, call.stream);
}

}  // namespace bigbird::kernels::cuda
