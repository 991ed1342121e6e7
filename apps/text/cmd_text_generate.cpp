// `bigbird text generate`: what goes on behind a prompt of text, or behind a region of a genome.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/search_options.h"
#include "apps/summary_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/io/files/provenance.h"
#include "lib/text/generate/generate.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<ContinuationForm, const char*>, 4> continuation_form_names{
    {{ContinuationForm::jsonl, "jsonl"},
     {ContinuationForm::tsv, "tsv"},
     {ContinuationForm::lines, "lines"},
     {ContinuationForm::fasta, "fasta"}}};
constexpr std::uint64_t prompts_of_a_chunk = 8;

struct GenerateCommand {
  std::string model, prompt, file, fasta, region, regions, form;
  std::string strand = "+";
  std::string output = "-";
  GeneratorOptions generator;
  SummaryDataOptions data;
  SearchOptionWords search;
};

void add_options(Verb& verb, GenerateCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.model,
                    "Model folder of `bigbird pretrain --objective clm`, of text or of DNA");
  verb.add_option("--prompt TEXT", typed.prompt, "Text, or bases, to continue; an empty one begins at [CLS]");
  verb.add_option("--prompts FILE", typed.file,
                  "Prompts: lines (.txt, a prompt a line), JSON Lines, CSV, TSV, a folder of .txt, or - for "
                  "stdin");
  CLI::Option* const fasta = verb.add_option("-f,--fasta-ref FASTA", typed.fasta, "Genome (FASTA with .fai)");
  CLI::Option* const region =
      verb.add_option("-r,--region REGION", typed.region, "Region that goes on, 1-based and closed")
          ->needs(fasta);
  verb.add_option("-R,--regions-file BED", typed.regions,
                  "Regions that go on, each on its strand; - is stdin")
      ->needs(fasta);
  verb.add_option("--strand", typed.strand,
                  "Strand of --region that is read, and goes on: +, or - for its reverse complement",
                  CLI::IsMember({"+", "-"}))
      ->needs(region);
  verb.add_option("-o,--output FILE", typed.output, "File of the continuations; - is stdout");
  verb.add_option("-O,--output-type", typed.form,
                  "Type of the output (default: fasta of a model of DNA, else jsonl)")
      ->type_name(choices(continuation_form_names))
      ->default_str("");
  verb.add_option("--continuations", typed.generator.samples,
                  "Continuations of each prompt: draws of sample, or the best of the beams",
                  CLI::Range(1, 1 << 20));
  verb.add_option("--batch", typed.generator.prompts, "Prompts at a time; more take more memory",
                  CLI::Range(1, 4096));
  typed.search.add(verb, "a continuation", SearchOptionWords::Defaults::greedy);
  add_machine(verb);
  typed.data.add(verb, SummaryParts::document);
}

std::unique_ptr<PromptReader> read_prompts(const Verb& verb, const GenerateCommand& typed) {
  if (verb.given("--prompt")) return read_prompt(typed.prompt);
  if (!typed.file.empty()) return read_prompt_file(typed.file, typed.data.pairs());
  if (!typed.region.empty()) return read_prompt_region(typed.fasta, typed.region, typed.strand.front());
  return read_prompt_regions(typed.fasta, typed.regions);
}

void say_continuations(const std::string& input, const GenerationTally& tally) {
  if (tally.at_limit > 0) {
    log_warning(fmt::format("{}: {} of {} continuations were cut at the last position of the model", input,
                            tally.at_limit, tally.continuations));
  }
  say_skipped(tally.skipped, tally.first_skipped);
}

}  // namespace

int cmd_text_generate(int argc, char** argv) {
  Verb verb(
      "text generate", "Continue a text or a region with a model that reads left to right.",
      {("bigbird pretrain --train demo-text-output/train -m demo-text-output/tokenizer --objective clm "
        "--attention full --layers 2 --width 64 --heads 4 --length 128 --batch 8 --steps 100 -o clm"),
       "bigbird text generate -m clm/final --prompt 'The function returns' --beams 4",
       ("printf 'The kernel\\nThe file\\n' | bigbird text generate -m clm/final --prompts - --top-p 0.9 "
        "--continuations 3 -o continued.jsonl"),
       ("bigbird pretrain --train demo-output/train -m demo-output/tokenizer --objective clm "
        "--attention full --layers 2 --width 64 --heads 4 --length 128 --batch 8 --steps 100 -o clm-dna "
        "&& bigbird text generate -m clm-dna/final -f demo-output/genome/genome.fa.gz -r "
        "chr1:100001-100200 --temperature 1 --continuations 5 -o continued.fa")});
  GenerateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const int sources = (verb.given("--prompt") ? 1 : 0) + (typed.file.empty() ? 0 : 1) +
                      (typed.region.empty() ? 0 : 1) + (typed.regions.empty() ? 0 : 1);
  if (sources != 1) {
    throw_usage("give the prompts in one way",
                "--prompt TEXT, --prompts FILE, or --fasta-ref with --region or --regions-file");
  }
  GenerationOptions options;
  options.input = verb.given("--prompt")  ? "--prompt"
                  : !typed.file.empty()   ? typed.file
                  : !typed.region.empty() ? typed.region
                                          : typed.regions;
  options.output = typed.output;
  options.work.chunk = prompts_of_a_chunk;
  const auto backend = verb.make_backend({typed.model});
  options.precision = backend->precision();
  typed.generator.model = typed.model;
  Generator generator(typed.generator, *backend);
  const bool dna = generator.folder().alphabet() == Alphabet::dna;
  if (!typed.fasta.empty()) generator.folder().require(Alphabet::dna);
  options.form = !typed.form.empty() ? parse_name(continuation_form_names, typed.form, "output type")
                 : dna               ? ContinuationForm::fasta
                                     : ContinuationForm::jsonl;
  typed.search.apply(verb, generator.search());
  const std::unique_ptr<PromptReader> prompts = read_prompts(verb, typed);
  if (verb.provenance()) {
    Provenance provenance =
        verb.made_from(typed.fasta, {{"model", typed.model, generator.folder().weights_digest()}});
    provenance.seed = seed_of(generator.search());
    options.comments = verb.head_of(options.output, provenance);
  }
  const GenerationTally tally = generate_texts(options, *prompts, generator);
  say_continuations(options.input, tally);
  verb.set_throughput(static_cast<double>(tally.tokens), "tokens");
  return 0;
}

}  // namespace bigbird::apps
