// See documents.h.
#include "lib/text/hibert/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/sha256.h"
#include "lib/text/hibert/extract_labels.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::size_t documents_at_once = 256;  // encoded and labelled together, over all threads

constexpr std::string_view blanks_of_lines = " \t\n\v\f\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks_of_lines);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks_of_lines) - first + 1);
}

// Behind the mark at `at`, with what closes there: ) ] " ' and the closing quotation marks of Unicode.
std::size_t behind_closing(std::string_view text, std::size_t at) {
  for (++at; at < text.size();) {
    if (std::string_view(")]\"'").find(text[at]) != std::string_view::npos) {
      ++at;
    } else if (text.substr(at).starts_with("\xE2\x80\x9D") || text.substr(at).starts_with("\xE2\x80\x99")) {
      at += 3;
    } else {
      break;
    }
  }
  return at;
}

std::vector<std::string> stretches_of(std::string_view line) {
  std::vector<std::string> sentences;
  std::size_t first = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '.' && line[at] != '!' && line[at] != '?') continue;
    const std::size_t end = behind_closing(line, at);
    const std::size_t next = line.find_first_not_of(blanks_of_lines, end);
    if (next == end || next == std::string_view::npos || (line[next] >= 'a' && line[next] <= 'z')) continue;
    sentences.emplace_back(line.substr(first, end - first));
    first = next;
    at = next - 1;
  }
  sentences.emplace_back(line.substr(first));
  return sentences;
}

// A row of the file, and what became of it.
struct ReadDocument {
  SummaryPair pair;
  DocumentSentences sentences;
  std::vector<std::int32_t> labels;
};

class DocumentCollector {
 public:
  DocumentCollector(const ModelConfig& config, const SummaryPairOptions& options, LongDocuments long_ones)
      : config_(config), options_(options), long_ones_(long_ones) {}

  void add(ReadDocument document) {
    if (document.sentences.ids.empty()) {
      const std::string what = document.pair.place + ": a document without a sentence";
      if (!options_.skip_bad)
        throw_bad_input(what, message("take it out, or count and pass over such records with `skip_bad`"));
      if (blank_++ == 0) first_blank_ = what;
      return;
    }
    ++to_.read;
    cut_sentences_ += document.sentences.cut;
    auto& all = document.sentences.ids;
    const auto most = static_cast<std::size_t>(config_.documents.sentences);
    if (all.size() > most) ++long_documents_;
    for (std::size_t first = 0; first < all.size(); first += most) {
      const auto begin = static_cast<std::ptrdiff_t>(first);
      const auto end = static_cast<std::ptrdiff_t>(std::min(first + most, all.size()));
      take({std::make_move_iterator(all.begin() + begin), std::make_move_iterator(all.begin() + end)});
      if (options_.parts == SummaryParts::both)
        to_.labels.emplace_back(document.labels.begin() + begin, document.labels.begin() + end);
      if (long_ones_ == LongDocuments::cut) break;
    }
  }

  SentenceDocuments finish(const std::string& path, const SummaryPairs& rows) {
    if (to_.documents.empty())
      throw_bad_input(path + ": there are no documents", "give one with a sentence at least");
    const auto say = [&](std::uint64_t count, const std::string& what) {
      if (count > 0) log_warning(fmt::format("{}: {} {}", path, count, what));
    };
    say(rows.skipped(), "records that cannot be read are passed over; the first: " + rows.first_skipped());
    say(blank_, "documents are passed over; the first: " + first_blank_);
    say(long_documents_, fmt::format("of {} documents have over {} sentences and were {}", to_.read,
                                     config_.documents.sentences,
                                     long_ones_ == LongDocuments::cut ? "cut" : "taken as several"));
    say(cut_sentences_,
        fmt::format("sentences are longer than {} tokens and were cut", config_.documents.sentence_length));
    return std::move(to_);
  }

 private:
  void take(std::vector<std::vector<std::int32_t>> sentences) {
    const auto block = static_cast<std::size_t>(config_.block_size);
    std::size_t tokens = 0;
    for (const std::vector<std::int32_t>& ids : sentences) {
      tokens += (ids.size() + block - 1) / block * block;
      to_.longest = std::max(to_.longest, ids.size());
    }
    to_.most_tokens = std::max(to_.most_tokens, tokens);
    to_.most_sentences = std::max(to_.most_sentences, sentences.size());
    to_.sentences += sentences.size();
    to_.documents.push_back(std::move(sentences));
  }

  const ModelConfig& config_;
  const SummaryPairOptions& options_;
  LongDocuments long_ones_;
  SentenceDocuments to_;
  std::uint64_t blank_ = 0, long_documents_ = 0, cut_sentences_ = 0;
  std::string first_blank_;
};

}  // namespace

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find('\n', first), text.size());
    if (const std::string_view line = trimmed(text.substr(first, end - first)); !line.empty())
      lines.emplace_back(line);
    first = end + 1;
  }
  return lines.size() == 1 ? stretches_of(lines.front()) : lines;
}

DocumentSentences encode_sentences(const Tokenizer& tokenizer, const ModelConfig& config,
                                   const std::vector<std::string>& sentences) {
  DocumentSentences document;
  const auto room = static_cast<std::size_t>(config.documents.sentence_length) - 1;
  for (std::size_t number = 0; number < sentences.size(); ++number) {
    std::vector<std::uint32_t> pieces;
    encode_begin(tokenizer, sentences[number], room + 1, pieces);
    if (pieces.empty()) continue;
    if (pieces.size() > room) ++document.cut;
    pieces.resize(std::min(pieces.size(), room));
    document.ids.emplace_back(pieces.begin(), pieces.end());
    document.ids.back().push_back(static_cast<std::int32_t>(config.eos_token_id));
    document.numbers.push_back(number);
  }
  return document;
}

SentenceDocuments read_sentence_documents(const std::string& path, const SummaryPairOptions& options,
                                          const Tokenizer& tokenizer, const ModelConfig& config,
                                          LongDocuments long_ones) {
  SummaryPairs rows(path, options);
  DocumentCollector collector(config, options, long_ones);
  std::vector<ReadDocument> chunk;
  const auto encode = [&] {
    throw_if_cancelled();
    kernels::parallel_for(chunk.size(), [&](std::size_t i) {
      ReadDocument& document = chunk[i];
      const std::vector<std::string> sentences = sentences_of(document.pair.document);
      document.sentences = encode_sentences(tokenizer, config, sentences);
      if (options.parts != SummaryParts::both) return;
      std::vector<std::string> readable;
      for (const std::size_t number : document.sentences.numbers) {
        if (readable.size() < static_cast<std::size_t>(config.documents.sentences))
          readable.push_back(sentences[number]);
      }
      document.labels = extract_labels(readable, document.pair.summaries.front());
      document.labels.resize(document.sentences.ids.size(), 0);
    });
    for (ReadDocument& document : chunk) collector.add(std::move(document));
    chunk.clear();
  };
  for (SummaryPair row; rows.next(row);) {
    chunk.push_back({std::move(row), {}, {}});
    if (chunk.size() == documents_at_once) encode();
  }
  encode();
  return collector.finish(path, rows);
}

std::string identity_of(const SentenceDocuments& documents) {
  Sha256 digest;
  const auto add = [&](const std::vector<std::int32_t>& numbers) {
    const std::uint64_t size = numbers.size();
    digest.update(&size, sizeof size);
    digest.update(numbers.data(), numbers.size() * sizeof(std::int32_t));
  };
  for (const auto& sentences : documents.documents) {
    const std::uint64_t count = sentences.size();
    digest.update(&count, sizeof count);
    for (const std::vector<std::int32_t>& ids : sentences) add(ids);
  }
  for (const std::vector<std::int32_t>& labels : documents.labels) add(labels);
  return fmt::format("{}, sha256 {}", documents.documents.size(), digest.finish());
}

void append_document(Batch& batch, const ModelConfig& config,
                     const std::vector<std::vector<std::int32_t>>& sentences) {
  for (const std::vector<std::int32_t>& ids : sentences)
    batch.append(ids, {}, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
  batch.documents.sentence_offsets.push_back(batch.sequences());
}

void set_sentence_length(ModelConfig& config, std::int64_t length) {
  if (length == 0) return;
  if (length < 2 || length > config.max_position_embeddings) {
    throw_usage(message("`length` {}: must be between 2 and the model's {} positions", length,
                        config.max_position_embeddings));
  }
  config.documents.sentence_length = length;
}

void require_hibert(const ModelConfig& config, const std::string& folder) {
  if (config.has_documents()) return;
  throw_bad_input(fmt::format("{}: not a HIBERT, but a model with the head {}", folder, name_of(config.head)),
                  "take a folder that bigbird text hibert pretrain or finetune wrote");
}

}  // namespace bigbird
