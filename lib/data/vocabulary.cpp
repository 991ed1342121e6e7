// Training a DNA vocabulary; see vocabulary.h.
#include "lib/data/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_folder.h"

namespace bigbird {
namespace {

constexpr std::int64_t sample_bases_per_batch = 16'000'000;
constexpr std::uint32_t special_pieces = 5;

// Lengths of all sentences of a source, in order.
std::vector<std::uint32_t> sentence_lengths(const SourceOptions& options) {
  const auto source = open_source(options);
  std::vector<std::uint32_t> lengths;
  PlannedDocument document;
  while (source->next(document)) {
    for (const PlannedSentence& sentence : document.sentences) {
      lengths.push_back(static_cast<std::uint32_t>(sentence.length()));
    }
  }
  return lengths;
}

// Numbers of the sentences in the sample, ascending.
std::vector<std::uint64_t> choose_sentences(const std::vector<std::uint32_t>& lengths,
                                            std::uint64_t sample_bases, std::uint64_t seed) {
  const RandomPermutation order(seed, Purpose::bpe_sample, 0, lengths.size());
  std::vector<std::uint64_t> chosen;
  std::uint64_t bases = 0;
  for (std::uint64_t i = 0; i < lengths.size() && bases < sample_bases; ++i) {
    chosen.push_back(order(i));
    bases += lengths[static_cast<std::size_t>(chosen.back())];
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Leaves only those sentences of the document whose numbers, counted from `first`, are in [from,
// chosen.end()). Returns the first number beyond the document.
std::vector<std::uint64_t>::const_iterator keep_chosen(PlannedDocument& document, std::uint64_t first,
                                                       std::vector<std::uint64_t>::const_iterator from,
                                                       std::vector<std::uint64_t>::const_iterator end) {
  const std::uint64_t last = first + document.sentences.size();
  PlannedDocument kept = document;
  kept.sentences.clear();
  kept.texts.clear();
  for (; from != end && *from < last; ++from) {
    const auto local = static_cast<std::size_t>(*from - first);
    kept.sentences.push_back(document.sentences[local]);
    if (!document.texts.empty()) kept.texts.push_back(std::move(document.texts[local]));
  }
  document = std::move(kept);
  return from;
}

std::string tokenizer_config_json(const VocabularyOptions& options, const std::string& trainer) {
  nlohmann::ordered_json config;
  config["model_max_length"] = 4096;
  config["do_lower_case"] = false;
  config["clean_up_tokenization_spaces"] = false;
  config["pad_token"] = "[PAD]";
  config["unk_token"] = "[UNK]";
  config["cls_token"] = "[CLS]";
  config["sep_token"] = "[SEP]";
  config["mask_token"] = "[MASK]";
  config["bos_token"] = "[CLS]";
  config["eos_token"] = "[SEP]";
  config["bigbird"] = {{"alphabet", dna_alphabet},
                       {"upper_case_input", true},
                       {"trainer", trainer},
                       {"max_piece_length", options.max_piece_length}};
  return json_text(config, 2) + "\n";
}

// Encodes the sample with the new tokenizer and counts.
void measure(const BpeSample& sample, const Tokenizer& tokenizer, VocabularySummary& summary) {
  std::vector<std::string_view> sentences;
  for (std::size_t at = 0; at < sample.text().size();) {
    const std::size_t end = sample.text().find('\n', at);
    sentences.push_back(std::string_view(sample.text()).substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::uint8_t> has_n(tokenizer.vocab_size());
  for (std::uint32_t id = special_pieces; id < tokenizer.vocab_size(); ++id) {
    const std::string& piece = tokenizer.piece(id);
    has_n[id] = piece.find('N') == std::string::npos ? 0 : 1;
    if (has_n[id] != 0 && piece.size() > 1) ++summary.n_pieces;
    if (piece.size() > summary.longest_piece.size()) summary.longest_piece = piece;
    if (has_n[id] == 0 && piece.size() > summary.longest_piece_without_n.size()) {
      summary.longest_piece_without_n = piece;
    }
  }
  constexpr std::size_t sentences_per_task = 256;
  const std::size_t tasks = (sentences.size() + sentences_per_task - 1) / sentences_per_task;
  std::vector<VocabularySummary> counts(tasks);
  kernels::parallel_for(tasks, [&](std::size_t task) {
    const std::size_t last = std::min(sentences.size(), (task + 1) * sentences_per_task);
    std::vector<std::uint32_t> ids;
    for (std::size_t s = task * sentences_per_task; s < last; ++s) {
      counts[task].non_n_bases += sentences[s].size() - static_cast<std::size_t>(std::count(
                                                            sentences[s].begin(), sentences[s].end(), 'N'));
      tokenizer.encode(sentences[s], ids);
    }
    counts[task].sample_tokens = ids.size();
    for (const std::uint32_t id : ids) {
      if (has_n[id] != 0) continue;
      ++counts[task].non_n_tokens;
      counts[task].non_n_token_bases += tokenizer.piece_length(id);
    }
  });
  for (const VocabularySummary& count : counts) {
    summary.sample_tokens += count.sample_tokens;
    summary.non_n_bases += count.non_n_bases;
    summary.non_n_tokens += count.non_n_tokens;
    summary.non_n_token_bases += count.non_n_token_bases;
  }
}

std::string report_json(const VocabularyOptions& options, const VocabularySummary& summary,
                        const Tokenizer& tokenizer) {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  const std::uint64_t fixed = special_pieces + dna_alphabet.size();
  nlohmann::ordered_json report;
  report["trainer"] = summary.trainer;
  report["seed"] = options.seed;
  report["vocab_size"] = summary.vocab_size;
  report["vocab_size_wanted"] = options.vocab_size;
  report["max_piece_length"] = options.max_piece_length;
  report["tokenizer_sha256"] = tokenizer.digest();
  report["sample_sentences"] = summary.sample_sentences;
  report["sample_bases"] = summary.sample_bases;
  report["sample_n_bases"] = summary.sample_bases - summary.non_n_bases;
  report["sample_tokens"] = summary.sample_tokens;
  report["bases_per_token"] = summary.bases_per_token();
  report["bases_per_token_non_n"] = summary.bases_per_token_without_n();
  report["longest_piece_length"] = summary.longest_piece.size();
  report["longest_piece"] = summary.longest_piece;
  report["longest_piece_without_n"] = summary.longest_piece_without_n;
  report["n_pieces"] = summary.n_pieces;
  report["n_piece_share"] = share(summary.n_pieces, summary.vocab_size - fixed);
  report["n_token_share"] = share(summary.sample_tokens - summary.non_n_tokens, summary.sample_tokens);
  if (options.provenance) {
    report["provenance"] = nlohmann::ordered_json::parse(provenance_json(*options.provenance));
  }
  return json_text(report, 2) + "\n";
}

}  // namespace

double VocabularySummary::bases_per_token() const {
  return sample_tokens == 0 ? 0 : static_cast<double>(sample_bases) / static_cast<double>(sample_tokens);
}

double VocabularySummary::bases_per_token_without_n() const {
  return non_n_tokens == 0 ? 0 : static_cast<double>(non_n_token_bases) / static_cast<double>(non_n_tokens);
}

BpeSample sample_sentences(const SourceOptions& options, std::uint64_t sample_bases, std::uint64_t seed) {
  const std::vector<std::uint32_t> lengths = sentence_lengths(options);
  if (lengths.empty()) throw_bad_input("the input holds no sentences", "nothing to train on");
  const std::vector<std::uint64_t> chosen = choose_sentences(lengths, sample_bases, seed);
  const auto source = open_source(options);
  std::vector<SentenceLoader> loaders;
  for (int i = 0; i < kernels::thread_count(); ++i) loaders.emplace_back(*source);

  BpeSample sample;
  std::vector<PlannedDocument> batch;
  std::int64_t batch_bases = 0;
  const auto load_batch = [&] {
    std::vector<std::vector<std::string>> texts(batch.size());
    kernels::parallel_for_worker(batch.size(), [&](std::size_t i, int worker) {
      texts[i] = loaders[static_cast<std::size_t>(worker)].load(batch[i]);
    });
    for (const auto& sentences : texts) {
      for (const std::string& sentence : sentences) sample.add(sentence);
    }
    batch.clear();
    batch_bases = 0;
  };
  std::uint64_t first = 0;
  auto from = chosen.begin();
  while (from != chosen.end()) {
    PlannedDocument document;
    if (!source->next(document)) break;
    const std::uint64_t sentences = document.sentences.size();
    from = keep_chosen(document, first, from, chosen.end());
    first += sentences;
    if (document.sentences.empty()) continue;
    batch_bases += document.bases();
    batch.push_back(std::move(document));
    if (batch_bases >= sample_bases_per_batch) load_batch();
  }
  load_batch();
  if (sample.text().find_first_of("ACGT") == std::string::npos) {
    throw_bad_input(
        sample.base_count() == 0 ? "the sample holds no bases" : "the sample holds nothing but N",
        message(
            "choose documents with sequence (bigbird chunk drops documents of N), or a larger `sample_bases`"));
  }
  if (source->iupac_replaced() != 0) {
    log_info(fmt::format("{} IUPAC letters other than A C G T N were read as N", source->iupac_replaced()));
  }
  return sample;
}

VocabularySummary train_vocabulary(const VocabularyOptions& options) {
  const std::uint32_t fixed = special_pieces + static_cast<std::uint32_t>(dna_alphabet.size());
  if (options.vocab_size < fixed) {
    throw_usage(message("`vocab_size` {}: {} pieces are taken by special pieces and letters",
                        options.vocab_size, fixed),
                "the default is 32000; 10 makes every base a token of its own");
  }
  const auto trainer = make_bpe_trainer(options.trainer);
  AtomicFolder folder(options.output, options.overwrite);
  const BpeSample sample = sample_sentences(options.source, options.sample_bases, options.seed);
  log_info(fmt::format("training on {} sentences, {} bp ({})", sample.sentence_count(), sample.base_count(),
                       trainer->name()));
  std::vector<std::string> learnt;  // none: a token is a base
  if (options.vocab_size > fixed)
    learnt = trainer->train(sample, {options.vocab_size - fixed, options.max_piece_length});
  if (learnt.size() < options.vocab_size - fixed) {
    log_warning(
        fmt::format("the sample gives {} pieces only, not {}", learnt.size() + fixed, options.vocab_size));
  }
  const SentencePieceModel model = make_dna_model(learnt, options.max_piece_length);
  write_text_atomic(folder.file("spiece.model"), serialize_sentencepiece_model(model));
  write_text_atomic(folder.file("spiece.vocab"), vocabulary_lines(model));
  write_text_atomic(folder.file("tokenizer_config.json"), tokenizer_config_json(options, trainer->name()));

  write_tokenizer_files(folder.path(), folder.path());
  const auto tokenizer = load_tokenizer(folder.path());
  VocabularySummary summary;
  summary.trainer = trainer->name();
  summary.vocab_size = tokenizer->vocab_size();
  summary.sample_sentences = sample.sentence_count();
  summary.sample_bases = sample.base_count();
  measure(sample, *tokenizer, summary);
  write_text_atomic(folder.file("report.json"), report_json(options, summary, *tokenizer));
  folder.commit();
  return summary;
}

}  // namespace bigbird
