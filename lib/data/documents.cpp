// Drawing and filtering of pretraining documents; see documents.h.
#include "lib/data/documents.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

bool above_share(std::int64_t part, std::int64_t whole, double share) {
  return static_cast<double>(part) > share * static_cast<double>(whole);
}

}  // namespace

std::int64_t Document::bases() const {
  return std::accumulate(sentence_lengths.begin(), sentence_lengths.end(), std::int64_t{0});
}

void check_recipe(const DocumentRecipe& recipe) {
  const auto check = [](bool good, const char* what) {
    if (!good) throw_usage(what);
  };
  check(recipe.passes >= 1 && recipe.passes <= 1'000'000, "the number of passes must be from 1 to 1,000,000");
  check(recipe.max_start >= 0, "the largest start must not be negative");
  check(recipe.min_sentences >= 1 && recipe.min_sentences <= recipe.max_sentences &&
            recipe.max_sentences <= 1'000'000,
        "sentences per document must be a range from 1 upwards");
  check(recipe.min_sentence_length >= 1 && recipe.min_sentence_length <= recipe.max_sentence_length &&
            recipe.max_sentence_length <= 1'000'000'000,
        "sentence lengths must be a range from 1 bp upwards");
}

std::vector<Document> draw_documents(std::string_view canonical_name, std::int64_t length, int pass,
                                     std::uint64_t seed, const DocumentRecipe& recipe) {
  CounterRng rng(seed, Purpose::chunk_documents, fnv1a_64(canonical_name) + static_cast<std::uint64_t>(pass));
  std::vector<Document> documents;
  std::int64_t position = rng.between(0, recipe.max_start);
  while (position < length) {
    Document document;
    document.begin = position;
    const std::int64_t sentences = rng.between(recipe.min_sentences, recipe.max_sentences);
    document.sentence_lengths.reserve(static_cast<std::size_t>(sentences));
    for (std::int64_t i = 0; i < sentences && position < length; ++i) {
      const std::int64_t drawn = rng.between(recipe.min_sentence_length, recipe.max_sentence_length);
      const std::int64_t taken = std::min(drawn, length - position);
      document.sentence_lengths.push_back(static_cast<std::int32_t>(taken));
      position += taken;
    }
    if (position - document.begin >= recipe.min_sentence_length) documents.push_back(std::move(document));
  }
  return documents;
}

std::vector<Document> filter_documents(const std::vector<Document>& documents, const DocumentFilter& filter,
                                       FilterCounts& counts) {
  if (filter.keeps_everything()) return documents;
  std::vector<Document> kept;
  Document current;
  const auto close = [&] {
    if (!current.sentence_lengths.empty()) {
      const std::int64_t bases = current.bases();
      if (above_share(filter.n_bases.overlap(current.begin, current.begin + bases), bases,
                      filter.max_n_document)) {
        ++counts.documents_with_n;
      } else {
        kept.push_back(current);
      }
    }
    current.sentence_lengths.clear();
  };
  for (const Document& document : documents) {
    std::int64_t position = document.begin;
    for (const std::int32_t length : document.sentence_lengths) {
      const std::int64_t end = position + length;
      const bool excluded = filter.excluded.overlap(position, end) > 0;
      const bool too_many_n =
          !excluded && above_share(filter.n_bases.overlap(position, end), length, filter.max_n_sentence);
      counts.sentences_excluded += excluded ? 1 : 0;
      counts.sentences_with_n += too_many_n ? 1 : 0;
      if (excluded || too_many_n) {
        close();
      } else {
        if (current.sentence_lengths.empty()) current.begin = position;
        current.sentence_lengths.push_back(length);
      }
      position = end;
    }
    close();
  }
  return kept;
}

}  // namespace bigbird
