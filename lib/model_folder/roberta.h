// Folders of transformers' bert and roberta, written: which of the two holds a model, the names of its
// tensors and its config.json. dialect.h reads them; the rows in front of a table of positions are
// longformer.h's.
#pragma once

#include <string>

#include "lib/model/config.h"

namespace bigbird {

// Of a model that is_bert_architecture(): with one token type it is a RoBERTa, whose positions are counted
// from pad_token_id + 1 on, with more a BERT.
bool is_written_as_roberta(const ModelConfig& config);

// Whether the file of such a model has this tensor of the layout: neither class has a pooler that its head
// does not read.
bool has_bert_tensor(const std::string& layout_name, const ModelConfig& config);
// The name that transformers gives it. BERT's dense layer of a head for classes is its pooler.
std::string bert_stored_name(const std::string& layout_name);
std::string roberta_stored_name(const std::string& layout_name);

// transformers' class of such a model.
std::string bert_class(const ModelConfig& config);

// config.json as transformers reads it, of a model that is_bert_architecture(); what that has no field for is
// under "bigbird".
std::string bert_config_json(const ModelConfig& config, const std::string& torch_dtype);

}  // namespace bigbird
