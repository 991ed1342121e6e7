// `bigbird text vocabulary`: a SentencePiece vocabulary for text, laid out as BigBird's published one.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "apps/command_line.h"
#include "apps/text_options.h"
#include "lib/core/log.h"
#include "lib/io/files/provenance.h"
#include "lib/io/text/documents.h"
#include "lib/tokenization/text_vocabulary.h"

namespace bigbird::apps {

int cmd_text_vocabulary(int argc, char** argv) {
  Verb verb("text vocabulary", "Train a SentencePiece BPE vocabulary with BigBird's special pieces.",
            {"bigbird text vocabulary demo-text-output/pages/train -o words --vocab-size 4000",
             ("bigbird text vocabulary demo-text-output/pages/train demo-text-output/context.txt -o "
              "words-and-bytes --vocab-size 4000 --byte-fallback")});
  TextVocabularyOptions options;
  DocumentOptions source;
  source.add(verb);
  verb.add_required("-o,--output FOLDER", options.output, "Tokenizer folder to make");
  verb.add_count("--vocab-size", options.vocab_size, "Pieces, the 101 reserved ones among them");
  verb.add_flag("--byte-fallback", options.byte_fallback,
                "Turn unknown characters into the pieces of their bytes, never <unk>");
  verb.add_option("--character-coverage", options.character_coverage,
                  "Fraction of the characters, most frequent first, that become pieces");
  std::string required;
  verb.add_option("--required-characters TEXT", required,
                  "Characters that are pieces however rare they are; \"\" for none (default: printable "
                  "ASCII, of 512 pieces and more)");
  verb.add_option("--max-piece-length", options.max_piece_length, "Longest piece, characters");
  verb.add_option("--max-sentence-bytes", options.max_sentence_bytes,
                  "Longest line, bytes; longer ones are cut at white space");
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;
  options.overwrite = verb.force();
  if (verb.given("--required-characters")) options.required_characters = required;
  options.source = fmt::format("{}", fmt::join(source.inputs(), ", "));
  if (verb.provenance()) {
    Provenance provenance = verb.made_from();
    for (const std::string& input : source.inputs()) provenance.inputs.push_back({"text", input, ""});
    options.provenance = provenance;
  }
  TextDocuments documents(source.inputs(), source.documents());
  TextDocument document;
  std::size_t line = 0;
  const auto next = [&](std::string_view& text) {
    while (line == document.lines.size()) {
      if (!documents.next(document)) return false;
      line = 0;
    }
    text = document.lines[line++];
    return true;
  };
  const TextVocabularySummary summary = train_text_vocabulary(next, options);
  if (summary.vocab_size < options.vocab_size) {
    log_warning(fmt::format("the text gives {} pieces, fewer than the {} that were asked for",
                            summary.vocab_size, options.vocab_size));
  }
  log_info(fmt::format("{} pieces, {} single characters among them, by {}; {} lines, {} of them cut",
                       summary.vocab_size, summary.characters, summary.trainer, summary.lines,
                       summary.lines_cut));
  verb.set_throughput(static_cast<double>(summary.bytes), "bytes");
  return 0;
}

}  // namespace bigbird::apps
