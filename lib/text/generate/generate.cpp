// See generate.h.
#include "lib/text/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/progress.h"
#include "lib/inference/windows.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/text/text_lines.h"
#include "lib/text/search/run_searches.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::size_t line_bases = 60;

class TypedPrompt : public PromptReader {
 public:
  explicit TypedPrompt(Prompt prompt) : prompt_(std::move(prompt)) {}
  bool next(Prompt& prompt) override {
    prompt = prompt_;
    return !std::exchange(read_, true);
  }

 private:
  Prompt prompt_;
  bool read_ = false;
};

class FilePrompts : public PromptReader {
 public:
  FilePrompts(const std::string& path, const SummaryPairOptions& options) : pairs_(path, options) {}
  bool next(Prompt& prompt) override {
    if (!pairs_.next(pair_)) return false;
    prompt = {pair_.id, std::move(pair_.document), pair_.place};
    return true;
  }
  std::uint64_t skipped() const override { return pairs_.skipped(); }
  std::string first_skipped() const override { return pairs_.first_skipped(); }

 private:
  SummaryPairs pairs_;
  SummaryPair pair_;
};

std::string name_of_region(const std::string& region, char strand) {
  return fmt::format("{}({})", region, strand);
}

class BedPrompts : public PromptReader {
 public:
  BedPrompts(const std::string& fasta, const std::string& bed) : windows_(read_bed_windows(bed, fasta)) {}
  bool next(Prompt& prompt) override {
    if (!windows_->next(window_)) return false;
    const std::string region = format_region(window_.chrom, window_.begin, window_.end);
    prompt = {name_of_region(region, window_.strand), std::move(window_.sequence), region};
    if (window_.id != region) prompt.id += "_" + window_.id;
    return true;
  }

 private:
  std::unique_ptr<WindowReader> windows_;
  Window window_;
};

std::string continuation_rows(ContinuationForm form, const std::string& id,
                              const std::vector<Continuation>& continuations) {
  std::string rows;
  for (std::size_t i = 0; i < continuations.size(); ++i) {
    const Continuation& of = continuations[i];
    switch (form) {
      case ContinuationForm::jsonl: {
        nlohmann::ordered_json json;
        json["id"] = id;
        json["sample"] = i + 1;
        json["text"] = of.text;
        json["score"] = of.score;
        json["tokens"] = of.tokens.size();
        rows += json_text(json) + "\n";
        break;
      }
      case ContinuationForm::tsv:
        rows += fmt::format("{}\t{}\t{}\t{:.6g}\t{}\n", escape_controls(id), i + 1, escape_controls(of.text),
                            of.score, of.tokens.size());
        break;
      case ContinuationForm::lines: {
        std::string line = of.text;
        std::replace(line.begin(), line.end(), '\n', ' ');
        rows += line + "\n";
        break;
      }
      case ContinuationForm::fasta:
        rows += fmt::format(">{}_{} tokens={}", id, i + 1, of.tokens.size());
        rows += of.score != 0 ? fmt::format(" score={:.6g}\n", of.score) : "\n";
        for (std::size_t at = 0; at < of.text.size(); at += line_bases)
          rows += of.text.substr(at, line_bases) + "\n";
        break;
    }
  }
  return rows;
}

const char* kind_of(ContinuationForm form) {
  switch (form) {
    case ContinuationForm::jsonl:
      return "jsonl";
    case ContinuationForm::tsv:
      return "tsv";
    case ContinuationForm::lines:
      return "lines";
    case ContinuationForm::fasta:
      break;
  }
  return "fasta";
}

std::string table_head(const GenerationOptions& options) {
  if (options.form != ContinuationForm::tsv) return {};
  std::string head;
  for (const std::string& comment : options.comments) head += "##" + comment + "\n";
  return head + "id\tsample\ttext\tscore\ttokens\n";
}

void add_prompt(Sha256& digest, const Prompt& prompt) {
  add_to_digest(digest, prompt.id);
  add_to_digest(digest, prompt.text);
}

}  // namespace

std::unique_ptr<PromptReader> read_prompt(const std::string& text) {
  return std::make_unique<TypedPrompt>(Prompt{"prompt", checked_text(text, "the prompt"), "the prompt"});
}

std::unique_ptr<PromptReader> read_prompt_file(const std::string& path, const SummaryPairOptions& options) {
  return std::make_unique<FilePrompts>(path, options);
}

std::unique_ptr<PromptReader> read_prompt_region(const std::string& fasta, const std::string& region,
                                                 char strand) {
  Fasta genome(fasta);
  const ContigNames names(genome.contigs());
  const Region parsed = parse_region(region, names);
  std::string bases = genome.fetch(parsed.contig, parsed.begin, parsed.end);
  if (strand == '-') bases = reverse_complement(bases);
  const std::string name = format_region(names[parsed.contig].name, parsed.begin, parsed.end);
  return std::make_unique<TypedPrompt>(Prompt{name_of_region(name, strand), std::move(bases), name});
}

std::unique_ptr<PromptReader> read_prompt_regions(const std::string& fasta, const std::string& bed) {
  return std::make_unique<BedPrompts>(fasta, bed);
}

GenerationTally generate_texts(const GenerationOptions& options, PromptReader& prompts,
                               Generator& generator) {
  if (options.form == ContinuationForm::fasta && generator.folder().alphabet() != Alphabet::dna)
    throw_usage(generator.folder().path() + ": FASTA of a model of text", "texts go to jsonl, tsv or lines");
  RunIdentity identity = model_identity(generator.folder(), TextSettings(), options.precision);
  identity["samples"] = std::to_string(generator.samples());
  add_search(identity, generator.search());
  ChunkedOutputs outputs({{options.output, kind_of(options.form), ChunkForm::lines, table_head(options)}},
                         identity, options.input, options.work);
  GenerationTally tally;
  if (outputs.are_whole()) return tally;
  generator.prepare();
  Progress progress("text generate", 0, "prompts");
  std::uint64_t number = 0;
  outputs.run<Prompt>([&](Prompt& prompt) { return prompts.next(prompt) && ++number > 0; }, add_prompt,
                      [&](const std::vector<Prompt>& chunk) {
                        std::uint64_t index = number - chunk.size();
                        for (const Prompt& prompt : chunk) {
                          ++tally.prompts;
                          generator.add(generator.encode(prompt.text, prompt.place), index++,
                                        [&, id = prompt.id](const std::vector<Continuation>& continuations) {
                                          for (const Continuation& of : continuations) {
                                            ++tally.continuations;
                                            tally.tokens += static_cast<std::int64_t>(of.tokens.size());
                                            tally.at_limit += of.at_limit ? 1 : 0;
                                          }
                                          outputs.write(0,
                                                        continuation_rows(options.form, id, continuations));
                                          progress.advance(1);
                                        });
                        }
                        generator.finish();
                      },
                      {options.input + ": there are no prompts", "give one at least"});
  tally.skipped = prompts.skipped();
  tally.first_skipped = prompts.first_skipped();
  return tally;
}

}  // namespace bigbird
