// Folders of etcmodel (google-research): etc_config.json, and how the variables of its checkpoints are named.
// etc_names.cpp has the table, docs/specification.md 2.8 what holds of all names.
#pragma once

#include <optional>
#include <string>

#include "lib/io/weights/stored_tensor.h"
#include "lib/model/config.h"

namespace bigbird {

inline constexpr const char* etc_config_name = "etc_config.json";

// The model of etc_config.json, without a head. Error{bad_input} naming `file` and the key: what is no number
// or out of range, a key that is not known, a pre-activation order, an activation other than gelu (its tanh
// form), embeddings or heads of another width, fewer rows of relative tables than labels, rows without
// labels. What the file does not know is as the released models were used: sequences of 4,096 tokens, blocks
// of 64.
ModelConfig parse_etc_config(const std::string& text, const std::string& file);
// Error{bad_input} naming `file` where the relative tables have fewer rows than a task of documents with
// several parts (HotpotQA, WikiHop) tells apart.
void require_multi_hop_labels(const ModelConfig& config, const std::string& file);

// What a variable of a checkpoint is in our layout. Whatever its scope: "etc_document_bert/" is that of the
// released ones.
struct EtcName {
  std::string name;  // of ParameterLayout, or of a head: "heads.answer_type.weight"; empty: no parameter
                     // (slots of an optimizer, global_step)
  bool transposed = false;  // stored as [in, out]
};
// Nothing for a name that is not known.
std::optional<EtcName> etc_layout_name(const std::string& variable);
// The tensor of a file under its name in our layout: a view with the axes turned where it is stored
// transposed.
StoredTensor etc_tensor(const StoredTensor& stored, const EtcName& name);
// The other way, as the released files have it; nothing for a name that is not in the table.
std::optional<std::string> etc_variable_name(const std::string& layout_name, bool shared_feed_forward = true);

}  // namespace bigbird
