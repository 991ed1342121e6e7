// `bigbird text pretrain-data`: documents of text to token shards.
#include <fmt/format.h>

#include <string>

#include "apps/command_line.h"
#include "apps/text_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/data/text_documents.h"
#include "lib/io/files/provenance.h"
#include "lib/io/text/documents.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird::apps {
namespace {

constexpr double highest_unknown_share = 0.01;

}  // namespace

int cmd_text_pretrain_data(int argc, char** argv) {
  Verb verb("text pretrain-data", "Tokenize documents of text into shards for pretrain and evaluate.",
            {("bigbird text pretrain-data demo-text-output/pages/train -m demo-text-output/tokenizer "
              "-o pages"),
             ("bigbird text pretrain-data demo-text-output/pages/train.jsonl -m "
              "demo-text-output/tokenizer -o lines --shard-tokens 500M"),
             ("bigbird text pretrain-data AA/wiki_00 AA/wiki_01 --format wikiextractor -m "
              "hf:google/bigbird-roberta-base -o wiki --no-pack")});
  TextShardOptions options;
  DocumentOptions source;
  TextEncodingChoice encoding;
  std::string tokenizer_folder;
  bool no_join = false;
  source.add(verb);
  verb.add_required("-m,--tokenizer TOKENIZER", tokenizer_folder,
                    "Tokenizer folder, or a model folder that holds one");
  verb.add_required("-o,--output P", options.prefix, "Prefix P of P.bin, P.idx and P.json");
  verb.with_word(verb.add_count("--shard-tokens", options.tokens_per_shard,
                                "Tokens after which a new shard begins, or never"),
                 "never", "0");
  verb.add_flag("--no-pack", no_join,
                "Make each sample of one document (default: short ones are packed, [SEP] between them)");
  encoding.add(verb);
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;
  options.join = !no_join;
  options.source = fmt::format("{}", fmt::join(source.inputs(), ", "));
  options.encoding = encoding.encoding();
  const auto tokenizer = load_tokenizer(tokenizer_folder);
  if (tokenizer->is_dna()) {
    throw_bad_input(tokenizer_folder + ": a tokenizer of DNA",
                    "take one of text, such as `bigbird text vocabulary` makes");
  }
  if (verb.provenance()) {
    Provenance provenance = verb.made_from();
    for (const std::string& input : source.inputs()) provenance.inputs.push_back({"text", input, ""});
    provenance.inputs.push_back({"tokenizer", tokenizer_folder, tokenizer->digest()});
    options.provenance = provenance;
  }
  TextDocuments documents(source.inputs(), source.documents());
  const TextShardSummary summary = text_to_shards(documents, *tokenizer, options);
  log_info(fmt::format("{} documents, {} lines, {} tokens of {:.2f} bytes; {} blank documents left out",
                       summary.documents, summary.lines, summary.tokens, summary.bytes_per_token(),
                       summary.blank_documents));
  if (const auto warning = summary.unknown.warning(highest_unknown_share)) log_warning(*warning);
  verb.set_throughput(static_cast<double>(summary.bytes), "bytes");
  return 0;
}

}  // namespace bigbird::apps
