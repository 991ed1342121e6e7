// What the fuzzer of TriviaQA's files does with its bytes; the suite's short run does the same.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/qa/triviaqa/questions.h"
#include "lib/text/qa/windows.h"
#include "tests/fuzz/entry_text.h"
#include "tests/fuzz/question_pieces.h"

namespace bigbird::fuzz {

// Where evidence_folder() of a process lies, for a test to remove it.
inline std::string evidence_path() {
  return "/tmp/bigbird-fuzz-evidence-" + std::to_string(getpid());
}

// A folder of this process with three documents for questions to name.
inline const std::string& evidence_folder() {
  static const std::string folder = [] {
    const std::string path = evidence_path();
    const auto write = [&](const char* name, std::string_view text) {
      write_bytes(path + name, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    };
    std::filesystem::create_directories(path + "/wikipedia");
    std::filesystem::create_directories(path + "/web/0");
    write("/wikipedia/York.txt",
          "The city of York is in the north.\n\nYork's minster, the Minster, is old \xE2\x80\x94 the a z.\n");
    write("/wikipedia/Z\xC3\xBCrich.txt", "Z\xC3\xBCrich \xF0\x9F\x98\x80 \xCE\xA3\xCE\xB1\xCF\x82");
    write("/web/0/1.txt", "a cat, the cat, an 'cat'");
    return path;
  }();
  return folder;
}

// Windows of a document, and the places of the names in them.
inline void label_trivia_document(const TriviaDocument& example, QuestionEncoder& encoder) {
  const EncodedQuestion encoded = encoder.encode(example.question);
  const std::string& text = *example.question.context;
  const std::size_t question = encoded.question.size();
  const WindowOptions options = short_windows(false);
  const std::vector<ContextWindow> windows =
      context_windows(question, encoded.context->ids.size(), options, example.question.where);
  demand_windows(windows, encoded.question, *encoded.context, options.length);
  for (const TextSpan& place : example.places) {
    if (place.begin >= place.end || place.end > count_code_points(text)) std::abort();
  }
  for (const ContextWindow& window : windows) {
    const PositionSets sets = position_sets(*encoded.context, window, question, example.places);
    if (sets.starts.empty() != sets.ends.empty()) std::abort();
    for (const auto& side : {sets.starts, sets.ends}) {
      for (const std::size_t at : side) demand_label({at, at}, window, question);
    }
    for (const TextSpan& place : example.places) {
      demand_answer(text, *encoded.context, window, question, place);
    }
  }
}

inline bool read_trivia(const std::string& path, QuestionPurpose purpose, TriviaDomain domain) {
  return text_read_or_refused([&] {
    QuestionReading options;
    options.purpose = purpose;
    options.domain = domain;
    options.evidence = evidence_folder();
    options.replace_invalid = domain == TriviaDomain::web;
    TriviaReader reader(path, options);
    QuestionEncoder encoder(*question_tokenizers()[domain == TriviaDomain::web ? 0 : 1], {},
                            short_windows(false).max_question);
    for (TriviaDocument example; reader.next(example);) {
      demand_text(example.question.id);
      demand_text(example.question.question);
      demand_text(*example.question.context);
      if (purpose == QuestionPurpose::train && example.places.empty()) std::abort();
      if (purpose == QuestionPurpose::predict && !example.aliases.empty()) std::abort();
      if (example.places.size() > most_alias_positions) std::abort();
      label_trivia_document(example, encoder);
    }
  });
}

// Reads the bytes for all three purposes and as both domains, and as the answers that predictions are scored
// against. Returns whether all of it was read for training in one of the domains.
inline bool triviaqa(const std::uint8_t* data, std::size_t size) {
  bool whole = false;
  with_file(".json", data, size, [&](const std::string& path) {
    for (const TriviaDomain domain : {TriviaDomain::wikipedia, TriviaDomain::web}) {
      for (const QuestionPurpose purpose :
           {QuestionPurpose::train, QuestionPurpose::evaluate, QuestionPurpose::predict}) {
        const bool read = read_trivia(path, purpose, domain);
        whole = whole || (read && purpose == QuestionPurpose::train);
      }
    }
    text_read_or_refused([&] {
      const TriviaGoldFile file = read_trivia_gold(path);
      if (file.gold.size() != file.questions.size()) std::abort();
      for (const TriviaGold& gold : file.gold) {
        demand_text(gold.id);
        for (const std::string& alias : gold.normalized_aliases) trivia_answer_score(alias, gold);
      }
    });
  });
  return whole;
}

}  // namespace bigbird::fuzz
