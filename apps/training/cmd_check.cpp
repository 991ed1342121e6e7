// bigbird check: everything about a model folder that can be found wrong without data.
#include "apps/command_line.h"
#include "lib/core/cancel.h"
#include "lib/describe/check_folder.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/model_names.h"

namespace bigbird::apps {

int cmd_check(int argc, char** argv) {
  Verb verb("check", "Check a model folder: tensors, numbers, tokenizer, files, and a self-test.",
            {"bigbird check demo-output/pretrain/final", "bigbird check human/tracks --json",
             "bigbird check demo-output/pretrain/final --write-digest",
             "bigbird check demo-output/pretrain/final --device cuda",
             ("bigbird quantize demo-output/finetune/final -o int8 --data demo-output/promoters "
              "--force && bigbird check int8 --data demo-output/promoters")});
  CheckOptions options;
  bool as_json = false;
  verb.add_required("MODEL", options.folder, "Model folder, or name of a model");
  verb.add_flag("--allow-nan", options.allow_nan, "Accept NaN and infinities");
  verb.add_flag("--write-digest", options.write_digest,
                "Write self_test.json for the model as it is, then check it");
  verb.add_option("--data DATA", options.data,
                  "Data for measuring the loss of int8 layers once more (default: where quantize had them)");
  verb.add_option("-f,--fasta-ref FASTA", options.fasta, "Genome of --data (default: the data set's own)");
  verb.add_flag("--json", as_json, "Print JSON instead of lines");
  verb.add_threads();
  verb.add_device();
  if (!verb.parse(argc, argv)) return 0;
  stop_anywhere(true);
  options.folder = model_folder_of(options.folder);

  const FolderReport report = check_folder(options, [&] { return verb.make_backend(); });
  const Provenance provenance = verb.made_from();
  write_output("-", as_json ? report.json(verb.provenance() ? &provenance : nullptr) : report.text());
  return report.passed ? 0 : 1;
}

}  // namespace bigbird::apps
