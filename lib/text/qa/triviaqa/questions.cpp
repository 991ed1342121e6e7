// Questions of TriviaQA, from the file to the answer; see questions.h.
#include "lib/text/qa/triviaqa/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"
#include "lib/text/qa/windows.h"

namespace bigbird {
namespace {

// What TriviaQA's evaluation makes a blank: '_', Python's string.punctuation, and four quotation marks
// (U+2018, U+2019, U+00B4, U+0060).
bool separates_words(char32_t c) {
  return is_white_space(c) || is_ascii_punctuation(c) || c == 0x2018 || c == 0x2019 || c == 0xB4;
}

bool is_trivia_article(std::string_view word) {
  return word == "a" || word == "an" || word == "the";
}

// Small letters, whatever follows in the text: the two small sigmas are one here, because a word that is cut
// out has another end than in its sentence.
std::string comparable(std::string_view word) {
  constexpr std::string_view final_sigma = "\xCF\x82";
  constexpr std::string_view small_sigma = "\xCF\x83";
  std::string small = lower(word);
  for (std::size_t at = small.find(final_sigma); at != std::string::npos; at = small.find(final_sigma, at)) {
    small[at + 1] = small_sigma[1];
  }
  return small;
}

// Collects the words of a text code point by code point.
class WordCollector {
 public:
  explicit WordCollector(std::string_view text) : text_(text) {}

  // An article goes even where a sign stands next to it ("the\u2013a"): regular expressions end a word there.
  void take(const CodePoint& c, std::size_t number) {
    const bool inside = is_word_character(c.value);
    if (separates_words(c.value)) {
      end_stretch(c.begin, number);
      end_word();
      return;
    }
    if (stretch_is_word_ != inside) end_stretch(c.begin, number);
    if (stretch_begin_ == none) {
      stretch_begin_ = c.begin;
      stretch_number_ = number;
      stretch_is_word_ = inside;
    }
  }
  std::vector<NormalizedWord> finish(std::size_t code_points) {
    end_stretch(text_.size(), code_points);
    end_word();
    return std::move(words_);
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void end_stretch(std::size_t byte, std::size_t number) {
    if (stretch_begin_ == none) return;
    const std::string_view stretch = text_.substr(stretch_begin_, byte - stretch_begin_);
    if (stretch_is_word_ && is_trivia_article(lower(stretch))) {
      end_word();
    } else {
      if (word_begin_ == none) {
        word_begin_ = stretch_begin_;
        span_.begin = stretch_number_;
      }
      word_end_ = byte;
      span_.end = number;
    }
    stretch_begin_ = none;
  }

  void end_word() {
    if (word_begin_ == none) return;
    words_.push_back({comparable(text_.substr(word_begin_, word_end_ - word_begin_)), span_});
    word_begin_ = none;
  }

  std::string_view text_;
  std::vector<NormalizedWord> words_;
  // The word that is being read, and in it the stretch of letters and digits, or of other signs.
  std::size_t word_begin_ = none;
  std::size_t word_end_ = 0;
  TextSpan span_;
  std::size_t stretch_begin_ = none;
  std::size_t stretch_number_ = 0;
  bool stretch_is_word_ = false;
};

constexpr const char* absent_document = "document not in the folder of evidence";
constexpr const char* no_alias = "no name of the answer in the document";

bool leads_out(std::string_view name) {
  if (name.empty() || name.front() == '/') return true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

struct GoldDocument {
  std::string name;
  bool verified = false;
};

// A question with its documents: the domain, which says what a prediction is of, stands behind them in the
// file.
struct GoldRecord {
  TriviaGold gold;
  std::string question;
  std::vector<GoldDocument> documents;
};

void add_gold_documents(const RecordField& root, const char* key, std::vector<GoldDocument>& documents) {
  if (!root.has(key)) return;
  const RecordField pages = root[key];
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const RecordField page = pages.at(i);
    const bool verified = page.has("DocPartOfVerifiedEval") && page["DocPartOfVerifiedEval"].boolean();
    documents.push_back({page["Filename"].text(), verified});
  }
}

class TriviaGoldReader : public QuestionFile {
 public:
  TriviaGoldReader(const std::string& path, bool replace_invalid)
      : QuestionFile(path, {QuestionPurpose::evaluate, false, replace_invalid}, {"Data"}) {}

  bool next(GoldRecord& record) {
    const auto found = next_record();
    if (!found) return false;
    const RecordField& root = *found;
    record = {};
    record.gold.id = root["QuestionId"].text();
    begin_question(record.gold.id);
    record.question = root["Question"].text();
    const RecordField answer = root["Answer"];
    record.gold.normalized_aliases = texts_of(answer["NormalizedAliases"]);
    if (answer.has("HumanAnswers")) record.gold.human_answers = texts_of(answer["HumanAnswers"]);
    record.gold.verified =
        root.has("QuestionPartOfVerifiedEval") && root["QuestionPartOfVerifiedEval"].boolean();
    add_gold_documents(root, "EntityPages", record.documents);
    add_gold_documents(root, "SearchResults", record.documents);
    return true;
  }
  using QuestionFile::member;
};

// First and last token of the context.
struct DocumentTokens {
  std::size_t first = 0;
  std::size_t last = 0;
  double score = 0;
};

}  // namespace

std::vector<NormalizedWord> normalized_words(std::string_view text) {
  WordCollector collector(text);
  std::size_t number = 0;
  for (const CodePoint& c : CodePoints(text)) collector.take(c, number++);
  return collector.finish(number);
}

std::vector<TextSpan> AliasFinder::find(std::span<const std::string> aliases, std::size_t most) const {
  // Names by their first word.
  std::unordered_map<std::string, std::vector<std::vector<NormalizedWord>>> names;
  for (const std::string& alias : aliases) {
    std::vector<NormalizedWord> words = normalized_words(alias);
    if (!words.empty()) names[words.front().text].push_back(std::move(words));
  }
  std::vector<TextSpan> found;
  const auto same = [](const NormalizedWord& a, const NormalizedWord& b) { return a.text == b.text; };
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const auto candidates = names.find(words_[at].text);
    if (candidates == names.end()) continue;
    for (const auto& name : candidates->second) {
      if (name.size() > words_.size() - at) continue;
      const auto first = words_.begin() + static_cast<std::ptrdiff_t>(at);
      if (!std::equal(name.begin(), name.end(), first, same)) continue;
      found.push_back({words_[at].span.begin, words_[at + name.size() - 1].span.end});
    }
  }
  std::sort(found.begin(), found.end(), [](const TextSpan& a, const TextSpan& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

PositionSets position_sets(const ContextTokens& context, const ContextWindow& window,
                           std::size_t question_tokens, std::span<const TextSpan> answers) {
  PositionSets sets;
  for (const TextSpan& answer : answers) {
    const SpanLabel label = span_label(context, window, question_tokens, answer);
    if (label.start == 0) continue;
    sets.starts.push_back(label.start);
    sets.ends.push_back(label.end);
  }
  for (std::vector<std::size_t>* side : {&sets.starts, &sets.ends}) {
    std::sort(side->begin(), side->end());
    side->erase(std::unique(side->begin(), side->end()), side->end());
  }
  return sets;
}

TriviaReader::TriviaReader(const std::string& path, const QuestionReading& reading)
    : QuestionFile(path, reading, {"Data"}) {
  skipped_ = ReasonCounts({absent_document, no_alias});
}

void TriviaReader::add_documents(const RecordField& root, const char* key, const char* folder) {
  if (!root.has(key)) return;
  const RecordField pages = root[key];
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::string& name = pages.at(i)["Filename"].text();
    if (leads_out(name)) {
      pages.at(i)["Filename"].fail("leads out of the folder of evidence", "file names are relative to it");
    }
    documents_.push_back({name, fmt::format("{}/{}/{}", reading().evidence, folder, name)});
  }
}

bool TriviaReader::next_question() {
  const auto root = next_record();
  if (!root) return false;
  question_ = {};
  question_.question_id = (*root)["QuestionId"].text();
  where_ = begin_question(question_.question_id);
  question_.question.question = question_text((*root)["Question"]);
  if (reading().purpose != QuestionPurpose::predict)
    question_.aliases = texts_of((*root)["Answer"]["NormalizedAliases"]);
  documents_.clear();
  document_ = 0;
  if (reading().domain == TriviaDomain::web) add_documents(*root, "SearchResults", "web");
  add_documents(*root, "EntityPages", "wikipedia");
  named_ += documents_.size();
  return true;
}

bool TriviaReader::read_document(TriviaDocument& document) {
  const Place& place = documents_[document_++];
  if (!file_exists(place.path)) {
    skipped_.add(absent_document);
    return false;
  }
  ++found_;
  document = question_;
  document.document = place.name;
  document.question.id = question_.question_id;
  if (reading().domain == TriviaDomain::web) document.question.id += "--" + place.name;
  document.question.where = fmt::format("{}, document {}", where_, text_for_message(place.name));
  document.question.context = std::make_shared<const std::string>(
      checked_text(InputStream(place.path).read_all(), place.path, reading().replace_invalid));
  if (!document.aliases.empty())
    document.places = AliasFinder(*document.question.context).find(document.aliases);
  if (reading().purpose != QuestionPurpose::train || !document.places.empty()) return true;
  skipped_.add(no_alias);
  return false;
}

void TriviaReader::check_end() const {
  const std::string domain = member("Domain");
  const bool is_web = reading().domain == TriviaDomain::web;
  const char* wanted = is_web ? "\"Web\"" : "\"Wikipedia\"";
  if (!domain.empty() && domain != wanted) {
    throw_bad_input(
        fmt::format("{}: its \"Domain\" is {}, and it was read as {}", records().path(), domain, wanted),
        message("`domain` is wikipedia or web, as in the name of the file"));
  }
  if (named_ > 0 && found_ == 0) {
    throw_bad_input(
        fmt::format("{}: none of its {} documents is below {}", records().path(), named_, reading().evidence),
        message("`evidence` is the folder that holds wikipedia and web"));
  }
}

bool TriviaReader::next(TriviaDocument& document) {
  for (;;) {
    while (document_ < documents_.size()) {
      if (read_document(document)) return true;
    }
    if (next_question()) continue;
    check_end();
    return false;
  }
}

bool TriviaReader::next(TriviaQuestion& question) {
  question.clear();
  for (;;) {
    if (!ahead_ && !next(ahead_.emplace())) ahead_.reset();
    if (!ahead_ || (!question.empty() && question.front().question.id != ahead_->question.id)) break;
    question.push_back(std::move(*ahead_));
    ahead_.reset();
  }
  return !question.empty();
}

TriviaGoldFile read_trivia_gold(const std::string& path, bool replace_invalid) {
  TriviaGoldReader reader(path, replace_invalid);
  std::vector<GoldRecord> questions;
  for (GoldRecord record; reader.next(record);) questions.push_back(std::move(record));
  const std::string domain = reader.member("Domain");
  if (!domain.empty() && domain != "\"Wikipedia\"" && domain != "\"Web\"") {
    throw_bad_input(fmt::format("{}: its \"Domain\" is {}", path, domain), "it is Wikipedia or Web");
  }
  TriviaGoldFile file;
  file.verified_only = reader.member("VerifiedEval") == "true";
  for (GoldRecord& record : questions) {
    if (domain != "\"Web\"") {
      file.questions.push_back(std::move(record.question));
      file.gold.push_back(std::move(record.gold));
      continue;
    }
    for (const GoldDocument& document : record.documents) {
      TriviaGold gold = record.gold;
      gold.id += "--" + document.name;
      gold.verified = gold.verified && document.verified;
      file.questions.push_back(record.question);
      file.gold.push_back(std::move(gold));
    }
  }
  return file;
}

void require_document_logits(const DecodedQuestion& question, const WindowLogits& logits) {
  require_finite_logits({logits.start, logits.end}, input_length(question.question_tokens, logits.window),
                        question.example.where);
}

std::optional<DocumentAnswer> decode_trivia(const DecodedQuestion& question,
                                            std::span<const WindowLogits> windows, std::size_t max_answer) {
  check_words(max_answer, "the default is 16 words");
  std::optional<DocumentTokens> best;
  for (const WindowLogits& logits : windows) {
    require_document_logits(question, logits);
    for_each_answer_span(question, logits, max_answer,
                         [&](std::size_t first, std::size_t last, double score) {
                           if (!best || score > best->score) best = {first, last, score};
                         });
  }
  if (!best) return std::nullopt;
  DocumentAnswer answer;
  answer.score = best->score;
  answer.span = {question.context.spans[best->first].begin, question.context.spans[best->last].end};
  const CodePointIndex index(*question.example.context);
  answer.text = strip_white_space_left(index.slice(answer.span.begin, answer.span.end));
  answer.span.begin = answer.span.end - count_code_points(answer.text);
  return answer;
}

}  // namespace bigbird
