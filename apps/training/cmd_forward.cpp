// bigbird forward: one forward pass of a model on given token ids, everything written out.
#include "apps/command_line.h"
#include "apps/summary_options.h"
#include "lib/core/cancel.h"
#include "lib/inference/forward_pass.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {

int cmd_forward(int argc, char** argv) {
  Verb verb(
      "forward",
      "Run a model once on given token ids and write every hidden state, logit, loss and gradient.",
      {"bigbird forward -m model -i batch.safetensors -o result.safetensors",
       "bigbird forward -m model -i batch.safetensors -o result.safetensors --hidden-states --gradients"});
  std::string model, input, output;
  RandomModeOptions random_mode;
  ForwardPassOptions options;
  verb.add_required("-m,--model", model, "Model folder");
  verb.add_required("-i,--input", input,
                    "Inputs: safetensors with input_ids, attention_mask, token_type_ids (B x T) and the "
                    "labels of the model's head; of a Longformer global_attention_mask, instead of its own "
                    "global tokens; of a model with a decoder decoder_input_ids, labels or both (B x T')");
  verb.add_required("-o,--output", output, "Outputs: safetensors to write");
  verb.add_flag("--hidden-states", options.hidden_states,
                "Write also hidden_states.0 (embeddings) to .L; of a decoder decoder_hidden_states");
  verb.add_flag("--gradients", options.gradients, "Write also grad.NAME of every parameter (needs labels)");
  SmoothingOptions smoothing;
  smoothing.add(verb, options.smoothing);
  random_mode.add(verb, "Random blocks of attention (default: the model's own)");
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  stop_anywhere(true);
  smoothing.apply(options.smoothing);
  random_mode.apply(options.random_mode, options.plan);

  const ModelFolder folder(model);
  const auto backend = verb.make_backend();
  std::map<std::string, std::string> metadata;
  if (verb.provenance()) {
    Provenance provenance = verb.made_from();
    provenance.inputs.push_back(model_input(model, folder.weights_digest()));
    provenance.inputs.push_back({"input", input, sha256_file(input)});
    if (!random_mode.plan().empty()) {
      provenance.inputs.push_back({"plan", random_mode.plan(), sha256_file(random_mode.plan())});
    }
    metadata["provenance"] = provenance_json(provenance);
  }
  const std::int64_t tokens = run_forward_pass(*backend, folder, input, output, options, metadata);
  verb.set_throughput(static_cast<double>(tokens), "tokens");
  return 0;
}

}  // namespace bigbird::apps
