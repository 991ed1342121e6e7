// Batches of documents, loaded and encoded by all threads and handed on in order; see tokenize.h.
#include "lib/data/tokenize.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/data/token_shards.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::int64_t bases_per_batch = 16'000'000;

// Calls work(document, its sentences) for all documents of a batch on all threads, then take(i) in order.
template <typename Result, typename Work, typename Take>
TokenizeSummary for_each_document(const SourceOptions& options, const Work& work, const Take& take) {
  const auto source = open_source(options);
  std::vector<SentenceLoader> loaders;
  for (int i = 0; i < kernels::thread_count(); ++i) loaders.emplace_back(*source);
  Progress progress("tokenize", 0, options.dna ? "bp" : "bytes");
  TokenizeSummary summary;
  for (;;) {
    const std::vector<PlannedDocument> batch = next_batch(*source, bases_per_batch);
    if (batch.empty()) break;
    std::vector<Result> results(batch.size());
    kernels::parallel_for_worker(batch.size(), [&](std::size_t i, int worker) {
      results[i] = work(batch[i], loaders[static_cast<std::size_t>(worker)].load(batch[i]));
    });
    std::uint64_t bases = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      take(batch[i], results[i], summary);
      ++summary.documents;
      summary.sentences += batch[i].sentences.size();
      bases += static_cast<std::uint64_t>(batch[i].bases());
    }
    summary.bases += bases;
    throw_if_cancelled();
    progress.advance(bases);
  }
  if (summary.documents == 0) throw_bad_input("the input holds no documents", "nothing to tokenize");
  summary.iupac_replaced = source->iupac_replaced();
  return summary;
}

struct EncodedDocument {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> lengths;
};

EncodedDocument encode_document(const Tokenizer& tokenizer, const std::vector<std::string>& sentences) {
  EncodedDocument encoded;
  for (const std::string& sentence : sentences) {
    const std::size_t before = encoded.ids.size();
    tokenizer.encode(sentence, encoded.ids);
    encoded.lengths.push_back(static_cast<std::uint32_t>(encoded.ids.size() - before));
  }
  return encoded;
}

struct PrintedDocument {
  std::string text;
  std::uint64_t tokens = 0;
};

void append_bed_tokens(std::string& out, const Tokenizer& tokenizer, const PlannedDocument& document,
                       const PlannedSentence& place, const std::vector<std::uint32_t>& ids,
                       const std::vector<std::uint32_t>& offsets) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t from = offsets[i];
    const std::int64_t to = i + 1 < ids.size() ? std::int64_t{offsets[i + 1]} : place.length();
    const std::int64_t begin = document.reverse ? place.end - to : place.begin + from;
    const std::int64_t end = document.reverse ? place.end - from : place.begin + to;
    fmt::format_to(std::back_inserter(out), "{}\t{}\t{}\t{}\t0\t{}\n", document.contig_name, begin, end,
                   tokenizer.piece(ids[i]), document.reverse ? '-' : '+');
  }
}

PrintedDocument print_document(const Tokenizer& tokenizer, PrintFormat format,
                               const PlannedDocument& document, const std::vector<std::string>& sentences) {
  PrintedDocument printed;
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> offsets;
  for (std::size_t s = 0; s < sentences.size(); ++s) {
    ids.clear();
    offsets.clear();
    tokenizer.encode(sentences[s], ids, format == PrintFormat::bed ? &offsets : nullptr);
    printed.tokens += ids.size();
    if (format == PrintFormat::bed) {
      append_bed_tokens(printed.text, tokenizer, document, document.sentences[s], ids, offsets);
      continue;
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i != 0) printed.text += ' ';
      printed.text += format == PrintFormat::ids ? std::to_string(ids[i]) : tokenizer.piece(ids[i]);
    }
    printed.text += '\n';
  }
  return printed;
}

}  // namespace

TokenizeSummary tokenize_to_shards(const SourceOptions& source, const Tokenizer& tokenizer,
                                   const std::string& prefix, std::uint64_t tokens_per_shard,
                                   const std::optional<Provenance>& provenance) {
  TokenShardWriter writer(prefix, tokenizer.vocab_size(), tokens_per_shard);
  TokenizeSummary summary = for_each_document<EncodedDocument>(
      source,
      [&](const PlannedDocument&, const std::vector<std::string>& sentences) {
        return encode_document(tokenizer, sentences);
      },
      [&](const PlannedDocument& document, const EncodedDocument& encoded, TokenizeSummary& sum) {
        writer.add_document(encoded.ids, encoded.lengths, static_cast<std::uint64_t>(document.bases()));
        sum.tokens += encoded.ids.size();
      });
  writer.finish(tokenizer.digest(), provenance ? &*provenance : nullptr);
  return summary;
}

TokenizeSummary print_tokens(const SourceOptions& source, const Tokenizer& tokenizer, PrintFormat format,
                             OutputStream& out) {
  if (format == PrintFormat::bed && !source.text.empty()) {
    throw_usage("text has no places in a genome to print as BED",
                message("use `format` ids or `format` pieces"));
  }
  return for_each_document<PrintedDocument>(
      source,
      [&](const PlannedDocument& document, const std::vector<std::string>& sentences) {
        return print_document(tokenizer, format, document, sentences);
      },
      [&](const PlannedDocument&, const PrintedDocument& printed, TokenizeSummary& sum) {
        out.write(printed.text);
        sum.tokens += printed.tokens;
      });
}

}  // namespace bigbird
