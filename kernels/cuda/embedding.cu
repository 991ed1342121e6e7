// Embedding tables: rows looked up and summed; gradients by sorting the tokens and summing runs of equal
// keys.
#include "kernels/cuda/launchers.h"

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr int warps_per_block = 8;

// A warp for each token.
template <class Table, class T, int N>
struct EmbeddingForward {
  static constexpr int threads = 32 * warps_per_block;
  static constexpr int blocks_per_sm = 4;
  const std::int32_t* ids;
  const std::int32_t* types;
  const std::int32_t* positions;
  const Table* word;
  const Table* type;  // may be null, as the next
  const Table* position;
  float word_scale;
  const float* word_scales;  // may be null
  T* y;
  Index tokens;
  Index width;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index token = Index{thread.block()} * warps_per_block + thread.warp();
    if (token >= tokens) return;
    const float scale = word_scales == nullptr ? word_scale : word_scale * word_scales[token];
    const Table* const of_word = word + Index{ids[token]} * width;
    const Table* const of_type = type == nullptr ? nullptr : type + Index{types[token]} * width;
    const Table* const of_position =
        position == nullptr ? nullptr : position + Index{positions[token]} * width;
#pragma unroll 2
    for (Index column = thread.lane() * N; column < width; column += 32 * N) {
      float values[N], more[N] = {};
      load_floats(of_word + column, values);
      if (of_type != nullptr) load_floats(of_type + column, more);
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] = values[i] * scale + more[i];
      if (of_position != nullptr) {
        load_floats(of_position + column, more);
#pragma unroll
        for (int i = 0; i < N; ++i) values[i] += more[i];
      }
      store_floats(y + token * width + column, values);
    }
  }
};

// A warp for each token.
template <class Table, class T, int N>
struct NeighboursForward {
  static constexpr int threads = 32 * warps_per_block;
  static constexpr int blocks_per_sm = 4;
  const std::int32_t* rows;
  const Table* weight;
  const Table* bias;
  T* y;
  Index tokens;
  Index neighbours;
  Index vocabulary;
  Index width;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index token = Index{thread.block()} * warps_per_block + thread.warp();
    if (token >= tokens) return;
    for (Index column = thread.lane() * N; column < width; column += 32 * N) {
      float values[N];
      load_floats(bias + column, values);
      for (Index k = 0; k < neighbours; ++k) {
        const std::int32_t row = rows[k * tokens + token];  // of all lanes
        if (row < 0) continue;
        float more[N];
        load_floats(weight + (k * vocabulary + row) * width + column, more);
#pragma unroll
        for (int i = 0; i < N; ++i) values[i] += more[i];
      }
      store_floats(y + token * width + column, values);
    }
  }
};

// --- sorting tokens by key: counting sorts over eight bits at a time, lowest first; each keeps the order of
// equals

constexpr int digit_bits = 8;
constexpr int digits = 1 << digit_bits;
constexpr Index chunk_tokens = 512;  // of a warp

// Keys of tokens; negative ones come behind all others.
struct Keys {
  const std::int32_t* keys;
  std::int32_t key_count;
  BIGBIRD_DEVICE std::int32_t of(Index token) const { return keys[token] < 0 ? key_count : keys[token]; }
};

BIGBIRD_DEVICE int count_bits(unsigned bits) {
  bits -= bits >> 1 & 0x55555555u;
  bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0fu;
  return static_cast<int>(bits * 0x01010101u >> 24);
}

constexpr std::size_t counter_bytes = warps_per_block * digits * sizeof(std::int32_t);

// A warp walks a chunk of the tokens, 32 at a time, with a counter for each digit in shared memory: here it
// counts, in the next pass but one it places each token behind those of its digit that came before.
template <bool Place>
struct SortChunks {
  static constexpr int threads = 32 * warps_per_block;
  static constexpr int blocks_per_sm = 2;
  Keys keys;
  const std::int32_t* order;  // tokens in the order so far; null: as they are
  int shift;
  Index tokens;
  Index chunks;
  std::int32_t* counts;  // [digits, chunks]: Place reads in it where the tokens of a chunk begin
  std::int32_t* placed;  // tokens in the new order

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index chunk = Index{thread.block()} * warps_per_block + thread.warp();
    if (chunk >= chunks) return;
    const auto counters = thread.shared<std::int32_t>(thread.warp() * (digits * 4), digits);
    for (int digit = thread.lane(); digit < digits; digit += 32) {
      counters[digit] = Place ? counts[digit * chunks + chunk] : 0;
    }
    thread.warp_barrier();
    const Index last = (chunk + 1) * chunk_tokens < tokens ? (chunk + 1) * chunk_tokens : tokens;
    for (Index first = chunk * chunk_tokens; first < last; first += 32) {
      const Index at = first + thread.lane();
      const bool there = at < last;
      const std::int32_t token = !there ? 0 : order == nullptr ? static_cast<std::int32_t>(at) : order[at];
      const int digit = there ? keys.of(token) >> shift & (digits - 1) : 0;
      // The lanes that have the same digit.
      unsigned same = thread.ballot(there);
#pragma unroll
      for (int bit = 0; bit < digit_bits; ++bit) {
        const bool set = (digit >> bit & 1) != 0;
        const unsigned have = thread.ballot(set);
        same &= set ? have : ~have;
      }
      const int before = count_bits(same & ((1u << thread.lane()) - 1u));
      const int all = count_bits(same);
      const std::int32_t counter = counters[digit];
      if (Place && there) placed[counter + before] = token;
      thread.warp_barrier();
      if (there && before == all - 1) counters[digit] = counter + all;
      thread.warp_barrier();
    }
    if constexpr (!Place) {
      for (int digit = thread.lane(); digit < digits; digit += 32) {
        counts[digit * chunks + chunk] = counters[digit];
      }
    }
  }
};

// Each count becomes the sum of those before it. One block.
struct SumCounts {
  static constexpr int threads = 1024;
  static constexpr int blocks_per_sm = 1;
  static constexpr std::size_t shared_bytes = threads / 32 * sizeof(std::int32_t);
  std::int32_t* counts;
  Index count;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index each = (count + threads - 1) / threads;
    const Index first = thread.index() * each;
    const Index last = first + each < count ? first + each : count;
    std::int32_t sum = 0;
    for (Index i = first; i < last; ++i) sum += counts[i];
    // Sums of the lanes before, then of the warps before.
    std::int32_t including = sum;
#pragma unroll
    for (int delta = 1; delta < 32; delta *= 2) {
      const std::int32_t other = thread.shuffle(including, (thread.lane() - delta) & 31);
      if (thread.lane() >= delta) including += other;
    }
    const auto warps = thread.shared<std::int32_t>(0, threads / 32);
    if (thread.lane() == 31) warps[thread.warp()] = including;
    thread.barrier();
    std::int32_t before = including - sum;
    for (int warp = 0; warp < thread.warp(); ++warp) before += warps[warp];
    for (Index i = first; i < last; ++i) {
      const std::int32_t here = counts[i];
      counts[i] = before;
      before += here;
    }
  }
};

// --- sums over runs of equal keys

constexpr Index piece_tokens = 64;

// The sorted tokens, cut into pieces.
struct SortedTokens {
  Keys keys;
  const std::int32_t* order;
  Index tokens;

  BIGBIRD_DEVICE std::int32_t key(Index at) const { return keys.of(order[at]); }
  BIGBIRD_DEVICE Index begin(Index piece) const { return piece * piece_tokens; }
  BIGBIRD_DEVICE Index end(Index piece) const {
    return begin(piece + 1) < tokens ? begin(piece + 1) : tokens;
  }
};

template <int N>
BIGBIRD_DEVICE void add_scaled(float* to, float scale, const float (&sum)[N]) {
  float values[N];
  load_floats(to, values);
#pragma unroll
  for (int i = 0; i < N; ++i) values[i] += scale * sum[i];
  store_floats(to, values);
}

// A warp sums the runs of one piece, over 32 N columns. A run within the piece goes to the table; one that
// goes on from the piece before is left in head[piece], one that begins here and goes on behind in
// tail[piece].
template <class T, int N>
struct SumRuns {
  static constexpr int threads = 32 * warps_per_block;
  static constexpr int blocks_per_sm = 3;
  const T* dy;
  SortedTokens sorted;
  const float* scales;  // of tokens; may be null
  float scale;
  float* table;
  float* head;
  float* tail;
  Index width;
  Index pieces;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index piece = Index{thread.block()} * warps_per_block + thread.warp();
    const Index column = (Index{thread.block_y()} * 32 + thread.lane()) * N;
    if (piece >= pieces || column >= width) return;
    const Index begin = sorted.begin(piece), end = sorted.end(piece);
    const std::int32_t before = begin > 0 ? sorted.key(begin - 1) : -1;
    const std::int32_t behind = end < sorted.tokens ? sorted.key(end) : -1;

    constexpr int together = 4;
    float sum[N] = {};
    std::int32_t key = sorted.key(begin);
    bool from_begin = true;
    for (Index first = begin; first < end; first += together) {
      float rows[together][N];
      std::int32_t keys[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        if (first + i < end) {
          const std::int32_t token = sorted.order[first + i];
          keys[i] = sorted.keys.of(token);
          load_floats(dy + Index{token} * width + column, rows[i]);
          if (scales != nullptr) {
            const float factor = scales[token];
#pragma unroll
            for (int j = 0; j < N; ++j) rows[i][j] *= factor;
          }
        }
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        if (first + i < end) {
          if (keys[i] != key) {
            give(key, from_begin && key == before ? head + piece * width : nullptr, column, sum);
            key = keys[i];
            from_begin = false;
#pragma unroll
            for (int j = 0; j < N; ++j) sum[j] = 0.0f;
          }
#pragma unroll
          for (int j = 0; j < N; ++j) sum[j] += rows[i][j];
        }
      }
    }
    float* const partial = from_begin && key == before ? head + piece * width
                           : key == behind             ? tail + piece * width
                                                       : nullptr;
    give(key, partial, column, sum);
  }

  BIGBIRD_DEVICE void give(std::int32_t key, float* partial, Index column, const float (&sum)[N]) const {
    if (key == sorted.keys.key_count) return;
    if (partial != nullptr) return store_floats(partial + column, sum);
    add_scaled(table + Index{key} * width + column, scale, sum);
  }
};

// The runs over several pieces, by the warps of the piece that they begin in.
template <int N>
struct JoinRuns {
  static constexpr int threads = 32 * warps_per_block;
  static constexpr int blocks_per_sm = 3;
  SortedTokens sorted;
  float scale;
  float* table;
  const float* head;
  const float* tail;
  Index width;
  Index pieces;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index piece = Index{thread.block()} * warps_per_block + thread.warp();
    const Index column = (Index{thread.block_y()} * 32 + thread.lane()) * N;
    if (piece + 1 >= pieces || column >= width) return;
    const std::int32_t key = sorted.key(sorted.end(piece) - 1);
    const bool goes_on = sorted.key(sorted.begin(piece + 1)) == key;
    const bool begins_here = piece == 0 || sorted.key(sorted.begin(piece) - 1) != key;
    if (!goes_on || !begins_here || key == sorted.keys.key_count) return;
    // The first piece that does not begin with the key.
    Index low = piece + 2, high = pieces;
    while (low < high) {
      const Index middle = (low + high) / 2;
      if (sorted.key(sorted.begin(middle)) == key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    float sum[N];
    load_floats(tail + piece * width + column, sum);
#pragma unroll 8
    for (Index other = piece + 1; other < low; ++other) {
      float more[N];
      load_floats(head + other * width + column, more);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += more[i];
    }
    add_scaled(table + Index{key} * width + column, scale, sum);
  }
};

// So that key_count itself, which stands for negative keys, is told apart.
int sorting_passes(Index key_count) {
  int passes = 1;
  while (key_count >> (passes * digit_bits) != 0) ++passes;
  return passes;
}

// Parts of the workspace, in bytes from its start; each 16-byte aligned.
struct Workspace {
  std::size_t counts, order, other_order, head, tail, bytes;

  Workspace(Index tokens, Index width, Index key_count) {
    const auto place = [this](Index count) {
      const std::size_t start = bytes;
      bytes += (static_cast<std::size_t>(count) * 4 + 15) / 16 * 16;
      return start;
    };
    bytes = 0;
    counts = place(digits * blocks_for(tokens, chunk_tokens));
    order = place(tokens);
    other_order = place(sorting_passes(key_count) > 1 ? tokens : 0);
    head = place(blocks_for(tokens, piece_tokens) * width);
    tail = place(blocks_for(tokens, piece_tokens) * width);
  }
};

// Returns the sorted order, which is in one of the two buffers.
const std::int32_t* sort_tokens(const Keys& keys, Index tokens, std::int32_t* counts, std::int32_t* to,
                                std::int32_t* other, Stream stream) {
  const Index chunks = blocks_for(tokens, chunk_tokens);
  const std::int32_t* order = nullptr;
  for (int pass = 0; pass < sorting_passes(keys.key_count); ++pass) {
    const int shift = pass * digit_bits;
    const LaunchShape shape{.blocks = blocks_for(chunks, warps_per_block), .shared_bytes = counter_bytes};
    launch(SortChunks<false>{keys, order, shift, tokens, chunks, counts, nullptr}, shape, stream);
    launch(SumCounts{counts, digits * chunks}, {.blocks = 1, .shared_bytes = SumCounts::shared_bytes},
           stream);
    launch(SortChunks<true>{keys, order, shift, tokens, chunks, counts, to}, shape, stream);
    order = to;
    std::swap(to, other);
  }
  return order;
}

}  // namespace

void embedding_forward(const EmbeddingIndices& indices, const TableValues& tables, float word_scale, Values y,
                       Index width, Stream stream) {
  const auto& [word, type, position] = tables;
  assert((type == nullptr || type.type() == word.type()) &&
         (position == nullptr || position.type() == word.type()));
  const bool vectors = width % vector_elements<bf16> == 0 &&
                       aligned_to_vectors(word.data(), type.data(), position.data(), y.data());
  with_types(word.type(), y.type(), [&](auto table_type, auto y_type) {
    using Table = decltype(table_type);
    using T = decltype(y_type);
    with_access<Table, T>(vectors, [&](auto n) {
      launch(EmbeddingForward<Table, T, n()>{indices.ids, indices.types, indices.positions,
                                             tables.word.as<Table>(), tables.type.as<Table>(),
                                             tables.position.as<Table>(), word_scale, indices.word_scales,
                                             y.as<T>(), indices.tokens, width},
             {.blocks = blocks_for(indices.tokens, warps_per_block)}, stream);
    });
  });
}

void neighbours_forward(const NeighbourRows& rows, const NeighbourTables& sizes, ConstValues weight,
                        ConstValues bias, Values y, Stream stream) {
  assert(weight.type() == bias.type());
  const bool vectors =
      sizes.width % vector_elements<bf16> == 0 && aligned_to_vectors(weight.data(), bias.data(), y.data());
  with_types(weight.type(), y.type(), [&](auto table_type, auto y_type) {
    using Table = decltype(table_type);
    using T = decltype(y_type);
    with_access<Table, T>(vectors, [&](auto n) {
      launch(NeighboursForward<Table, T, n()>{rows.rows, weight.as<Table>(), bias.as<Table>(), y.as<T>(),
                                              rows.tokens, sizes.neighbours, sizes.vocabulary, sizes.width},
             {.blocks = blocks_for(rows.tokens, warps_per_block)}, stream);
    });
  });
}

std::size_t rows_by_key_workspace(Index tokens, Index width, Index key_count) {
  return Workspace(tokens, width, key_count).bytes;
}

void add_rows_by_key(ConstValues dy, const TokenKeys& by, float scale, float* table, Index width,
                     void* workspace, Stream stream) {
  const Index tokens = by.tokens, key_count = by.key_count;
  if (tokens == 0) return;
  const Workspace parts(tokens, width, key_count);
  std::byte* const start = static_cast<std::byte*>(workspace);
  const auto integers = [&](std::size_t at) { return reinterpret_cast<std::int32_t*>(start + at); };
  const Keys all{by.keys, static_cast<std::int32_t>(key_count)};
  const std::int32_t* const order =
      by.order != nullptr ? by.order
                          : sort_tokens(all, tokens, integers(parts.counts), integers(parts.order),
                                        integers(parts.other_order), stream);
  const SortedTokens sorted{all, order, tokens};
  float* const head = reinterpret_cast<float*>(start + parts.head);
  float* const tail = reinterpret_cast<float*>(start + parts.tail);
  const Index pieces = blocks_for(tokens, piece_tokens);
  with_type(dy.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 && aligned_to_vectors(dy.data(), table, workspace);
    with_access<T>(vectors, [&](auto n) {
      const LaunchShape shape{.blocks = blocks_for(pieces, warps_per_block),
                              .blocks_y = blocks_for(width, Index{32} * n())};
      launch(SumRuns<T, n()>{dy.as<T>(), sorted, by.scales, scale, table, head, tail, width, pieces}, shape,
             stream);
      launch(JoinRuns<n()>{sorted, scale, table, head, tail, width, pieces}, shape, stream);
    });
  });
}

}  // namespace bigbird::kernels::cuda
