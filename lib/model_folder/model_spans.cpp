// See model_spans.h.
#include "lib/model_folder/model_spans.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/model/network/adaptive_span.h"
#include "lib/model/network/layout.h"

namespace bigbird {

std::vector<HeadSpan> spans_of_heads(const ModelFolder& folder) {
  const ModelConfig& of = folder.config();
  if (!has_spans(of)) {
    throw_bad_input(fmt::format("{}: attention {} has no spans", folder.path(), name_of(of.attention)),
                    "only heads of adaptive-span learn how far back they look");
  }
  if (has_dynamic_spans(of)) {
    throw_bad_input(folder.path() + ": with dynamic_span on no head has a span of its own",
                    "every token has others; span_loss in metrics.tsv follows their mean in training");
  }
  const LoadedModel loaded = folder.load();
  const float* const z =
      loaded.parameters.data() + ParameterLayout(loaded.config).offset("bert.encoder.spans");
  const SpanOptions& options = loaded.config.attention_options.spans;
  std::vector<HeadSpan> spans;
  for (std::int64_t layer = 0; layer < loaded.config.num_hidden_layers; ++layer) {
    for (std::int64_t head = 0; head < loaded.config.num_attention_heads; ++head) {
      const float fraction = z[layer * loaded.config.num_attention_heads + head];
      spans.push_back(
          {layer, head, fraction, span_tokens(options, fraction), span_reach(options, fraction, false)});
    }
  }
  return spans;
}

}  // namespace bigbird
