// bigbird check: everything about a model folder that can be found wrong without data.
#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/core/cancel.h"
#include "lib/describe/check_folder.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {

int cmd_check(int argc, char** argv) {
  Verb verb("check", "Check a model folder: tensors, numbers, tokenizer, files, and a self-test.",
            {"bigbird check model", "bigbird check model --json", "bigbird check model --write-digest",
             "bigbird check model --device cuda", "bigbird check int8 --data promoters"});
  CheckOptions options;
  bool as_json = false;
  CLI::App& app = verb.app();
  app.add_option("MODEL", options.folder, "Model folder")->required();
  app.add_flag("--allow-nan", options.allow_nan, "NaN and infinities are no failure");
  app.add_flag("--write-digest", options.write_digest,
               "Write self_test.json for the model as it stands, then check it");
  app.add_option("--data", options.data,
                 "Data that the loss of int8 layers is measured on once more, when they are no longer where "
                 "quantize had them")
      ->type_name("DATA");
  app.add_option("-f,--fasta-ref", options.fasta, "Genome of --data, instead of the data set's own")
      ->type_name("FASTA");
  app.add_flag("--json", as_json, "The report as JSON");
  verb.add_threads();
  verb.add_device();
  if (!verb.parse(argc, argv)) return 0;
  stop_anywhere(true);

  const FolderReport report = check_folder(options, [&] { return verb.make_backend(); });
  const Provenance provenance{bigbird_version(), verb.command(), {}, {}, {}};
  OutputStream out("-");
  out.write(as_json ? report.json(verb.provenance() ? &provenance : nullptr) : report.text());
  out.close();
  return report.passed ? 0 : 1;
}

}  // namespace bigbird::apps
