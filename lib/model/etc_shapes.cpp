// See etc_shapes.h.
#include "lib/model/etc_shapes.h"

#include <fmt/format.h>

#include <initializer_list>

namespace bigbird {
namespace {

class EtcTable {
 public:
  explicit EtcTable(const EtcShapes& shapes) : of_(shapes) {
    embeddings();
    for (std::int64_t layer = 0; layer < of_.num_hidden_layers; ++layer) encoder_layer(layer);
  }
  std::vector<EtcTensor> take() { return std::move(tensors_); }

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    tensors_.push_back({"etc." + name, std::move(shape)});
  }
  void norm(const std::string& name) {
    add(name + ".weight", {of_.hidden_size});
    add(name + ".bias", {of_.hidden_size});
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }

  void embeddings() {
    add("embeddings.word_embeddings.weight", {of_.vocab_size, of_.hidden_size});
    add("embeddings.token_type_embeddings.weight", {of_.segment_vocab_size, of_.hidden_size});
    for (const char* side : {"long", "global"}) {
      if (of_.max_absolute_position_embeddings == 0) break;
      add(fmt::format("embeddings.{}_position_embeddings.weight", side),
          {of_.max_absolute_position_embeddings, of_.hidden_size});
    }
    norm("embeddings.long_layer_norm");
    norm("embeddings.global_layer_norm");
  }

  void encoder_layer(std::int64_t number) {
    const std::string layer = fmt::format("encoder.layer.{}.", number);
    const std::string attention = layer + "attention.";
    const std::int64_t width = of_.num_attention_heads * of_.att_size_per_head;
    using Names = std::vector<const char*>;
    const Names queries = of_.share_qkv_projections ? Names{"long"} : Names{"long", "global"};
    Names keys{"l2l", "l2g", "g2g", "g2l"};
    if (of_.share_kv_projections) keys = {"l2l", "g2g"};
    if (of_.share_qkv_projections) keys = {"l2l"};
    for (const char* side : queries)
      linear(fmt::format("{}{}_query", attention, side), width, of_.hidden_size);
    for (const char* part : {"key", "value"}) {
      for (const char* side : keys)
        linear(fmt::format("{}{}_{}", attention, side, part), width, of_.hidden_size);
    }
    const Names outputs = of_.share_att_output_projection ? Names{"long"} : Names{"long", "global"};
    for (const char* side : outputs)
      linear(fmt::format("{}{}_output", attention, side), of_.hidden_size, width);
    for (const char* side : {"long", "global"}) {
      if (of_.relative_pos_max_distance == 0) break;
      const std::string table = fmt::format("{}{}_relative", attention, side);
      add(table + ".weight", {of_.relative_vocab_size, of_.num_attention_heads, of_.att_size_per_head});
      add(table + ".bias", {of_.relative_vocab_size, of_.num_attention_heads});
    }
    norm(layer + "long_attention_norm");
    norm(layer + "global_attention_norm");
    const Names sides = of_.share_feed_forward_params ? Names{""} : Names{"long_", "global_"};
    for (const char* side : sides) {
      linear(fmt::format("{}{}intermediate.dense", layer, side), of_.intermediate_size, of_.hidden_size);
      linear(fmt::format("{}{}output.dense", layer, side), of_.hidden_size, of_.intermediate_size);
      norm(fmt::format("{}{}output_norm", layer, side));
    }
  }

  const EtcShapes& of_;
  std::vector<EtcTensor> tensors_;
};

}  // namespace

std::int64_t EtcShapes::labels(bool multi_hop) const {
  if (relative_pos_max_distance == 0) return 0;
  return 2 * relative_pos_max_distance + (multi_hop ? 4 : 3);
}

std::int64_t EtcTensor::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

std::vector<EtcTensor> etc_tensors(const EtcShapes& shapes) {
  return EtcTable(shapes).take();
}

std::int64_t etc_parameters(const EtcShapes& shapes) {
  std::int64_t sum = 0;
  for (const EtcTensor& tensor : etc_tensors(shapes)) sum += tensor.count();
  return sum;
}

}  // namespace bigbird
