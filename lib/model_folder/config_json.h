// config.json of a model folder: read, checked and written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

// Attention instead of the models' own, for the whole process: set once before the first folder is opened
// (--random-mode, --plan, --attention and its options), and every config that read_config() reads has it.
struct AttentionChoice {
  std::optional<AttentionPattern> attention;   // none: the model's own
  std::map<std::string, std::string> options;  // as they were typed, by AttentionOption::flag()
  std::optional<RandomMode> random_mode;
  std::shared_ptr<const PlanTable> plan;  // random mode file; without one, the folder's
  // What two runs with other choices differ in; empty without a choice.
  std::string identity() const;
};
AttentionChoice& chosen_attention();
// What was chosen of `attention` and `options`: another system begins with its defaults, a config's own keeps
// what is not given. Error{usage} for an option of another system, and for a value that an option does not
// take.
void apply_attention(const AttentionChoice& chosen, ModelConfig& config);
// Another system of attention with its options; a plan that was written down goes with bigbird alone.
void take_attention(AttentionPattern attention, const AttentionOptions& options, ModelConfig& config);

// config.json: read (missing required field, wrong type or absurd value -> Error naming file and field; an
// activation that is not gelu is refused) and written (Hugging Face keys; our own under "bigbird"). BERT's,
// RoBERTa's and GENA-LM's own config.json are translated (dialect.h). A plan (random_mode file) is read from
// plan_file where one is given (and then it is the model's), else from attention_plan.json beside
// config.json, else from the layouts in the weights there.
ModelConfig read_config(const std::string& file, const std::string& plan_file = {});
// The text of a config.json in our own form or big_bird's, neither validated nor with its plan.
ModelConfig parse_config(const std::string& text, const std::string& file);
// Where the value of one key goes.
struct JsonField {
  const char* key;
  std::variant<std::int64_t*, double*, bool*, std::string*> value;
};
// The fields of a config of another kind, from its text, which holds one object without further ones; what is
// missing or null leaves its value. Returns the keys that were given one. Error{bad_input} naming `file` and
// the key: a value of another type, a key that is not in the table, `required` that is not given.
std::set<std::string> read_json_fields(const std::string& text, const std::string& file,
                                       const std::vector<JsonField>& fields, const std::string& required);
// The class of transformers that has this head: "BigBirdForMaskedLM"; for our own one a name that it lacks.
std::string architecture_name(HeadType head);
// And of this model, whatever the family.
std::string architecture_name(const ModelConfig& config);
// Of the feed-forward layers, as config.json spells it: "gelu_new".
std::string activation_name(Activation activation);
// torch_dtype: of the tensors beside it, as PyTorch names it.
std::string config_json(const ModelConfig& config, const std::string& torch_dtype = "float32");
// The same in our own form, which big_bird shares, of every model.
std::string own_config_json(const ModelConfig& config, const std::string& torch_dtype);
// Of those, what the forms of longformer and esm have no field for, a JSON object that they hold as
// "bigbird".
std::string fields_without_a_place(const ModelConfig& config);
// Every field of config_json as "model.<key>" -> JSON text: what must not change when a training run goes on.
std::map<std::string, std::string> config_fields(const ModelConfig& config);

}  // namespace bigbird
