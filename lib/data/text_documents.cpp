// Documents of text to token shards; see text_documents.h.
#include "lib/data/text_documents.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/data/token_shards.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::size_t bytes_per_batch = 8'000'000;
constexpr std::size_t bytes_per_task = 1 << 16;

// A line, and whether another one of its document stands before it.
struct LineOfText {
  std::string_view text;
  bool continues = false;
};

// Neighbouring lines of a batch, whatever their documents, for one thread: documents may be tweets or books.
struct LineTask {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> lengths;
  UnknownTally unknown;
};

// The ids of a line of many megabytes are not copied.
void append(std::vector<std::uint32_t>&& ids, std::vector<std::uint32_t>& all) {
  if (all.empty()) {
    all = std::move(ids);
  } else {
    all.insert(all.end(), ids.begin(), ids.end());
  }
}

class LineEncoder {
 public:
  LineEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& options)
      : tokenizer_(tokenizer), options_(options) {
    std::vector<std::uint32_t> ids;
    tokenizer.encode("a", ids);
    adds_blank_ = !ids.empty() && tokenizer.begins_word(ids[0]);
  }

  void encode(const LineOfText& line, LineTask& task) const {
    const bool blank = line.continues && !adds_blank_;
    EncodedText encoded = blank ? encode_ids(tokenizer_, ' ' + std::string(line.text), options_)
                                : encode_ids(tokenizer_, line.text, options_);
    task.unknown.add(encoded);
    task.lengths.push_back(static_cast<std::uint32_t>(encoded.ids.size()));
    append(std::move(encoded.ids), task.ids);
  }

 private:
  const Tokenizer& tokenizer_;
  const TextEncodingOptions& options_;
  bool adds_blank_ = false;
};

std::uint64_t text_bytes(const TextDocument& document) {
  std::uint64_t bytes = document.lines.size();
  for (const std::string& line : document.lines) bytes += line.size();
  return bytes;
}

std::vector<TextDocument> next_documents(TextDocuments& documents) {
  std::vector<TextDocument> batch;
  TextDocument document;
  for (std::uint64_t bytes = 0; bytes < bytes_per_batch && documents.next(document);) {
    bytes += text_bytes(document);
    batch.push_back(std::move(document));
    document = {};
  }
  return batch;
}

std::vector<LineTask> tasks_of(const std::vector<LineOfText>& lines) {
  std::vector<LineTask> tasks;
  std::size_t bytes = bytes_per_task;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (bytes >= bytes_per_task) {
      tasks.emplace_back().first = i;
      bytes = 0;
    }
    tasks.back().last = i + 1;
    bytes += lines[i].text.size();
  }
  return tasks;
}

}  // namespace

double TextShardSummary::bytes_per_token() const {
  return tokens == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(tokens);
}

TextShardSummary text_to_shards(TextDocuments& documents, const Tokenizer& tokenizer,
                                const TextShardOptions& options) {
  TokenShardWriter writer(options.prefix, tokenizer.vocab_size(), options.tokens_per_shard);
  const LineEncoder encoder(tokenizer, options.encoding);
  Progress progress("text pretrain-data", 0, "bytes");
  TextShardSummary summary;
  std::uint64_t empty_documents = 0;
  for (;;) {
    const std::vector<TextDocument> batch = next_documents(documents);
    if (batch.empty()) break;
    std::vector<LineOfText> lines;
    for (const TextDocument& document : batch) {
      for (std::size_t i = 0; i < document.lines.size(); ++i) lines.push_back({document.lines[i], i > 0});
    }
    std::vector<LineTask> tasks = tasks_of(lines);
    kernels::parallel_for_worker(tasks.size(), [&](std::size_t i, int) {
      for (std::size_t line = tasks[i].first; line < tasks[i].last; ++line) {
        encoder.encode(lines[line], tasks[i]);
      }
    });
    std::vector<std::uint32_t> ids, lengths;
    for (LineTask& task : tasks) {
      append(std::move(task.ids), ids);
      lengths.insert(lengths.end(), task.lengths.begin(), task.lengths.end());
      summary.unknown.add(task.unknown);
      task.ids = {};
    }
    std::size_t first_line = 0, first_id = 0;
    std::uint64_t batch_bytes = 0;
    for (const TextDocument& document : batch) {
      const std::span<const std::uint32_t> own(lengths.data() + first_line, document.lines.size());
      std::size_t tokens = 0;
      for (const std::uint32_t length : own) tokens += length;
      const std::uint64_t bytes = text_bytes(document);
      if (tokens > 0) {
        writer.add_document(std::span<const std::uint32_t>(ids.data() + first_id, tokens), own, bytes);
      } else {
        ++empty_documents;
      }
      first_line += document.lines.size();
      first_id += tokens;
      batch_bytes += bytes;
    }
    throw_if_cancelled();
    progress.advance(batch_bytes);
  }
  if (writer.document_count() == 0) {
    throw_bad_input(options.source + ": no text to tokenize", "give files with text in them");
  }
  summary.documents = writer.document_count();
  summary.lines = writer.sentence_count();
  summary.bytes = writer.base_count();
  summary.tokens = writer.token_count();
  summary.blank_documents = documents.blank() + empty_documents;

  TextShardFacts facts;
  facts.join = options.join;
  facts.fold_white_space = options.encoding.white_space == WhiteSpace::fold;
  facts.ascii_punctuation = options.encoding.ascii_punctuation;
  facts.unknown_tokens = summary.unknown.unknown_pieces();
  facts.blank_documents = summary.blank_documents;
  writer.finish(tokenizer.digest(), options.provenance ? &*options.provenance : nullptr, &facts);
  return summary;
}

}  // namespace bigbird
