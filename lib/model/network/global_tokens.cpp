// See global_tokens.h.
#include "lib/model/network/global_tokens.h"

#include <algorithm>

#include "lib/core/error.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"

namespace bigbird {
namespace {

// One sequence's entries behind those of the sequences before it, which had `before` rows. A vector that
// nobody has given so far stays empty; one that some give is `otherwise` for the others.
template <typename Value>
void append_entries(std::vector<Value>& to, const std::vector<Value>& entries, std::size_t before,
                    std::size_t rows, Value otherwise) {
  if (to.empty() && entries.empty()) return;
  to.resize(before, otherwise);
  to.insert(to.end(), entries.begin(), entries.end());
  to.resize(before + rows, otherwise);
}

void require_as_many(std::size_t size, std::size_t tokens, const char* what) {
  if (size != 0 && size != tokens) throw_runtime(std::string("a sequence has another number of ") + what);
}

void check_inputs(const TwoInputs& inputs) {
  const std::size_t longs = inputs.ids.size(), globals = inputs.global_ids.size();
  if (longs == 0 || globals == 0) throw_runtime("a sequence of two inputs has a token of each");
  require_as_many(inputs.types.size(), longs, "token types");
  require_as_many(inputs.global_types.size(), globals, "types of global tokens");
  for (const auto& column : inputs.links) {
    require_as_many(column.size(), longs, "links");
    for (const std::int32_t link : column) {
      if (link < -1 || link >= static_cast<std::int32_t>(globals))
        throw_runtime("a link to a global token that is not there");
    }
  }
  require_as_many(inputs.segments.size(), longs, "segments");
  require_as_many(inputs.parts.size(), globals, "parts");
  require_as_many(inputs.examples.size(), longs, "numbers of examples");
  require_as_many(inputs.global_examples.size(), globals, "numbers of examples");
  if (inputs.examples.empty() != inputs.global_examples.empty()) throw_runtime("only examples of one input");
  require_as_many(inputs.free.size(), longs, "free tokens");
  require_as_many(inputs.global_free.size(), globals, "free global tokens");
}

}  // namespace

std::vector<std::int32_t> numbers_of_marks(const std::vector<std::uint8_t>& marks) {
  std::vector<std::int32_t> numbers(marks.size());
  std::int32_t seen = 0;
  for (std::size_t i = marks.size(); i-- > 0;) {
    seen += marks[i] != 0 ? 1 : 0;
    numbers[i] = seen;
  }
  return numbers;
}

void GlobalTokens::append(const TwoInputs& inputs, std::int64_t long_rows, std::int64_t multiple,
                          std::int32_t pad_id) {
  check_inputs(inputs);
  const std::size_t longs = static_cast<std::size_t>(long_rows);
  const auto length = static_cast<std::int64_t>(inputs.global_ids.size());
  const std::int64_t rows = (length + multiple - 1) / multiple * multiple;
  const auto before = static_cast<std::size_t>(tokens());
  const auto globals = static_cast<std::size_t>(rows);
  ids.insert(ids.end(), inputs.global_ids.begin(), inputs.global_ids.end());
  ids.resize(before + globals, pad_id);
  types.insert(types.end(), inputs.global_types.begin(), inputs.global_types.end());
  types.resize(before + globals, 0);
  for (std::size_t column = 0; column < links.size(); ++column)
    append_entries(links[column], inputs.links[column], long_tokens_, longs, -1);
  append_entries(segments, inputs.segments, long_tokens_, longs, 0);
  append_entries(examples, inputs.examples, long_tokens_, longs, 0);
  append_entries(free, inputs.free, long_tokens_, longs, std::uint8_t{0});
  append_entries(parts, inputs.parts, before, globals, 0);
  append_entries(global_examples, inputs.global_examples, before, globals, 0);
  append_entries(global_free, inputs.global_free, before, globals, std::uint8_t{0});
  long_tokens_ += longs;
  token_offsets.push_back(tokens() + rows);
  lengths.push_back(length);
}

void with_fixed_globals(const ModelConfig& config, std::int64_t multiple, Batch& batch) {
  const EtcOptions& options = config.attention_options.etc;
  const auto most_type = static_cast<std::int32_t>(std::max<std::int64_t>(config.type_vocab_size, 1) - 1);
  batch.globals = {};
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t length = batch.lengths[s];
    const std::int64_t stretch = fixed_stretch(options, length);
    TwoInputs inputs;
    inputs.ids.resize(static_cast<std::size_t>(length));
    inputs.global_ids.assign(static_cast<std::size_t>(fixed_globals(options, length)), etc_sentence_token);
    for (std::int64_t i = 0; i < length; ++i)
      inputs.links[0].push_back(static_cast<std::int32_t>(i / stretch));
    batch.globals.append(inputs, batch.token_offsets[s + 1] - batch.token_offsets[s], multiple,
                         static_cast<std::int32_t>(config.pad_token_id));
  }
  for (std::int32_t& type : batch.types) type = std::min(type + 1, most_type);
}

std::int64_t fixed_stretch(const EtcOptions& options, std::int64_t length) {
  return std::max(options.stretch, (length + options.globals - 1) / options.globals);
}

std::int64_t fixed_globals(const EtcOptions& options, std::int64_t length) {
  const std::int64_t stretch = fixed_stretch(options, length);
  return (length + stretch - 1) / stretch;
}

}  // namespace bigbird
