// `bigbird report`: runs of training as a page to look at.
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/report/run_report.h"

namespace bigbird::apps {

int cmd_report(int argc, char** argv) {
  Verb verb("report",
            "Make a page of training runs: curves, checkpoints, options. One file, no network needed.",
            {"bigbird report run -o run.html", "bigbird report run another-run -o runs.html"});
  std::vector<std::string> runs;
  std::string output;
  verb.app().add_option("RUN", runs, "Run folders; several share their charts")->required();
  verb.app().add_option("-o,--output", output, "HTML page to write")->required()->type_name("FILE");
  if (!verb.parse(argc, argv)) return 0;
  std::vector<std::string> provenance;
  if (verb.provenance()) provenance.push_back("bigbird " + bigbird_version() + ": " + verb.command());
  write_text_atomic(output, run_report_html(runs, provenance));
  return 0;
}

}  // namespace bigbird::apps
