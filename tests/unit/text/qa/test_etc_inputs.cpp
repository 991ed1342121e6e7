// Questions of the data sets in two inputs, token for token (check 18 of BigBird-ETC).
#include <gtest/gtest.h>

#include "lib/text/qa/hotpotqa/two_inputs.h"
#include "lib/text/qa/natural_questions/two_inputs.h"
#include "lib/text/qa/wikihop/two_inputs.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/qa/etc_fixture.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::Etc;
using testing::expect_message;
using testing::Numbers;
using Bytes = std::vector<std::uint8_t>;

HotpotQuestion hotpot_of_two() {
  HotpotQuestion question;
  question.id = "h";
  question.where = "question 'h'";
  question.question = "is it";
  question.paragraphs = {{"mat", {"the cat sat", "on the mat"}}, {"graph", {"it is sparse", "graph"}}};
  question.answer = "sparse";
  question.supporting_facts = {{"graph", 0}};
  return question;
}

TEST_F(Etc, Check18HotpotQaPartByPart) {
  const HotpotQuestion question = hotpot_of_two();
  const EncodedHotpot input = hotpot_two_inputs(question, {}, part_ids(*tokenizer_), *tokenizer_, {});
  const TwoInputs two = laid_out(input);
  EXPECT_EQ(words(two.ids), "[CLS] _is _it _mat _the _cat _sat _on _the _mat _graph _it _is _sparse _graph");
  EXPECT_EQ(two.types, (Numbers{1, 3, 3, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1}));
  EXPECT_EQ(two.global_ids, (Numbers{40, 41, 41, 43, 1, 1, 1, 43, 1, 1, 1}));
  EXPECT_EQ(two.global_types, Numbers(11, 0));
  EXPECT_EQ(links(two, GlobalLink::sentence), (Numbers{-1, 1, 2, 4, 5, 5, 5, 6, 6, 6, 8, 9, 9, 9, 10}));
  EXPECT_EQ(links(two, GlobalLink::paragraph), (Numbers{-1, -1, -1, 3, 3, 3, 3, 3, 3, 3, 7, 7, 7, 7, 7}));
  EXPECT_TRUE(links(two, GlobalLink::other).empty());
  EXPECT_EQ(two.segments, (Numbers{4, 3, 3, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1}));
  EXPECT_EQ(two.parts, (Numbers{4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(two.free, (Bytes{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(two.global_free, (Bytes{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(two.examples.empty());
  EXPECT_TRUE(input.globals->type_at_global);

  const HotpotLabel label = hotpot_label(question, input);
  EXPECT_EQ(label.span, (SpanLabel{13, 13}));
  EXPECT_EQ(supporting_globals(question, input), (Bytes{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0}));
  EXPECT_EQ(input.left_out, 0u);
}

TEST_F(Etc, Check18HotpotQaEndsBeforeTheFirstSentenceThatDoesNotFit) {
  HotpotQuestion question = hotpot_of_two();
  question.question = "is it on the mat";
  const PartIds ids = part_ids(*tokenizer_);
  // 11 tokens up to the title of the second paragraph: its first sentence has 3, the second 1 and would fit.
  const EncodedHotpot shorter = hotpot_two_inputs(question, {13, 256, 2}, ids, *tokenizer_, {});
  EXPECT_TRUE(shorter.question_was_cut);
  EXPECT_EQ(words(laid_out(shorter).ids), "[CLS] _is _it _mat _the _cat _sat _on _the _mat _graph");
  EXPECT_EQ(shorter.left_out, 2u);
  EXPECT_EQ(hotpot_label(question, shorter).span, (SpanLabel{0, 0})) << "the answer is cut";
  EXPECT_EQ(supporting_globals(question, shorter), (Bytes{0, 0, 0, 0, 0, 0, 0, 1, 1}));
  // More sentences than global tokens: 7 up to the end of the first paragraph, and a paragraph begins with
  // two.
  const TwoInputs fewer = laid_out(hotpot_two_inputs(question, {4096, 8, 2}, ids, *tokenizer_, {}));
  EXPECT_EQ(fewer.global_ids, (Numbers{40, 41, 41, 43, 1, 1, 1}));
  EXPECT_EQ(fewer.parts, (Numbers{3, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(fewer.segments, (Numbers{3, 2, 2, 1, 1, 1, 1, 1, 1, 1}));
  const TwoInputs nine = laid_out(hotpot_two_inputs(question, {4096, 9, 2}, ids, *tokenizer_, {}));
  EXPECT_EQ(words(nine.ids), "[CLS] _is _it _mat _the _cat _sat _on _the _mat _graph");
  EXPECT_EQ(nine.global_ids.size(), 9u);
  expect_message(error_of([&] {
                   hotpot_two_inputs(question, {4096, 7, 5}, ids, *tokenizer_, {});
                 }),
                 "question '", "7 global tokens leave no room");
  expect_message(error_of([&] {
                   hotpot_two_inputs(question, {6, 256, 5}, ids, *tokenizer_, {});
                 }),
                 "question '", "leaves no room next to a question of 5");
}

// "<P> the cat sat on mat </P> <P> sparse graph </P>": candidates of 7 and of 4 pieces.
NqQuestion page_of_two() {
  NqQuestion page;
  page.where = "question '1'";
  page.question = "the cat is it";
  for (const char* word :
       {"<P>", "the", "cat", "sat", "on", "mat", "</P>", "x", "<P>", "sparse", "graph", "</P>"})
    page.tokens.push_back({word, word[0] == '<', -1, -1});
  page.candidates = {{{-1, -1, 0, 7}, true}, {{-1, -1, 2, 4}, false}, {{-1, -1, 8, 12}, true}};
  return page;
}

TEST_F(Etc, Check18NaturalQuestionsInWindows) {
  const EncodedNq page = NqEncoder(*tokenizer_, {}, 2).encode(page_of_two());
  EXPECT_TRUE(page.question_was_cut);
  EXPECT_EQ(page.candidates, (std::vector<std::uint32_t>{0, 7}));
  const PartIds ids = page_part_ids(*tokenizer_, 256);
  const auto input = [&](const ContextWindow& window, std::size_t most) {
    QuestionInput made = window_input(page.question, page.pieces, window, ids.window_cls, ids.window_sep);
    made.globals = page_globals(page, window, ids, most);
    return laid_out(made);
  };
  const TwoInputs whole = input({0, 11}, 256);
  EXPECT_EQ(
      words(whole.ids),
      "[CLS] _the _cat [SEP] <unused_35> _the _cat _sat _on _mat <unused_36> <unused_35> _sparse _graph "
      "<unused_36> [SEP]");
  EXPECT_EQ(whole.types, Numbers(16, 1));
  EXPECT_EQ(whole.global_ids, (Numbers{40, 41, 41, 41, 1, 1, 0}));
  EXPECT_EQ(whole.global_types, Numbers(7, 0));
  EXPECT_EQ(links(whole, GlobalLink::sentence), (Numbers{0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 6}));
  EXPECT_TRUE(links(whole, GlobalLink::paragraph).empty());
  EXPECT_TRUE(whole.segments.empty() && whole.parts.empty() && whole.free.empty());
  // A window from inside of the first candidate into the second.
  const TwoInputs middle = input({5, 4}, 256);
  EXPECT_EQ(words(middle.ids), "[CLS] _the _cat [SEP] _mat <unused_36> <unused_35> _sparse [SEP]");
  EXPECT_EQ(links(middle, GlobalLink::sentence), (Numbers{0, 1, 2, 3, 4, 4, 5, 5, 6}));
  // What is beyond the global tokens shares the last one.
  const TwoInputs shared = input({0, 11}, 5);
  EXPECT_EQ(shared.global_ids, (Numbers{40, 41, 41, 41, 1}));
  EXPECT_EQ(links(shared, GlobalLink::sentence), (Numbers{0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}));
  EXPECT_EQ(links(input({0, 11}, 2), GlobalLink::sentence),
            (Numbers{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST_F(Etc, Check18WindowsOfATextHaveItsSentences) {
  const std::string text = "the cat sat! The graph is sparse.";
  QuestionEncoder encoder(*tokenizer_, {}, 64, true);
  const QuestionExample example{"q", "is it", std::make_shared<const std::string>(text), {}, "q"};
  const EncodedQuestion encoded = encoder.encode(example);
  ASSERT_EQ(words({encoded.context->ids.begin(), encoded.context->ids.end()}),
            "_the _cat _sat ! _The _graph _is _sparse .");
  EXPECT_EQ(encoded.context->sentences, (std::vector<std::uint32_t>{0, 4}));
  const WindowGlobals options = globals_of_windows(*tokenizer_, 320);
  const auto globals = [&](const ContextWindow& window, const WindowGlobals& of) {
    QuestionInput input = window_input(encoded.question, *encoded.context, window, options.ids.window_cls,
                                       options.ids.window_sep);
    input.globals = sentence_globals(encoded.question.size(), *encoded.context, window, of);
    return laid_out(input);
  };
  const TwoInputs whole = globals({0, 9}, options);
  EXPECT_EQ(words(whole.ids), "[CLS] _is _it [SEP] _the _cat _sat ! _The _graph _is _sparse . [SEP]");
  EXPECT_EQ(whole.global_ids, (Numbers{40, 41, 41, 1, 1}));
  EXPECT_EQ(links(whole, GlobalLink::sentence), (Numbers{0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4}));
  const TwoInputs middle = globals({2, 3}, options);
  EXPECT_EQ(links(middle, GlobalLink::sentence), (Numbers{0, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(links(globals({0, 0}, options), GlobalLink::sentence), (Numbers{0, 1, 2, 2, 2}));
  EXPECT_EQ(links(globals({0, 9}, {options.ids, 4, false}), GlobalLink::sentence),
            (Numbers{0, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(sentence_globals(2, *encoded.context, {0, 9}, globals_of_windows(*tokenizer_, 0)), nullptr);
}

WikiHopQuestion hop_of_two() {
  WikiHopQuestion question;
  question.where = "question 'w'";
  question.query = "is on";
  question.candidates = {"cat", " The cat"};
  question.supports = {"the cat sat! The graph is sparse.", "on the mat"};
  return question;
}

TEST_F(Etc, Check18WikiHopLinksWhatNamesACandidate) {
  const WikiHopTwoInputs encoder(*tokenizer_, {});
  const EncodedWikiHop encoded = encoder.encode(hop_of_two(), {});
  ASSERT_EQ(encoded.windows.size(), 1u);
  EXPECT_EQ(encoded.candidate_marks, (std::vector<std::size_t>{0, 1}));
  const TwoInputs two = laid_out(encoded.windows[0]);
  EXPECT_EQ(words(two.ids),
            "_cat _the _cat _is _on _the _cat _sat ! _The _graph _is _sparse . _on _the _mat");
  EXPECT_EQ(two.types, (Numbers{4, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(two.global_ids, (Numbers{42, 42, 41, 41, 43, 1, 1, 43, 1}));
  EXPECT_EQ(two.global_types, (Numbers{6, 6, 5, 5, 7, 0, 0, 7, 0}));
  EXPECT_EQ(links(two, GlobalLink::sentence), (Numbers{0, 1, 1, 2, 3, 5, 5, 5, 5, 6, 6, 6, 6, 6, 8, 8, 8}));
  EXPECT_EQ(links(two, GlobalLink::paragraph),
            (Numbers{-1, -1, -1, -1, -1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 7, 7, 7}));
  // "cat" stands inside of "the cat", which comes later and has the links.
  EXPECT_EQ(links(two, GlobalLink::other),
            (Numbers{0, 1, 1, -1, -1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(two.segments, (Numbers{5, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1}));
  EXPECT_EQ(two.parts, (Numbers{5, 4, 3, 3, 2, 2, 2, 1, 1}));
  EXPECT_EQ(two.global_free, (Bytes{1, 1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(two.free, Bytes(17, 0));
  EXPECT_FALSE(encoded.windows[0].globals->type_at_global);
}

TEST_F(Etc, Check18WikiHopDropsTheLastSentencesOfTheLongestSupport) {
  const WikiHopTwoInputs encoder(*tokenizer_, {});
  WikiHopQuestion question = hop_of_two();
  question.candidates = {"the cat", "cat", "the graph"};
  const TwoInputs whole = laid_out(encoder.encode(question, {}).windows[0]);
  EXPECT_EQ(words(whole.ids),
            "_the _cat _cat _the _graph _is _on _the _cat _sat ! _The _graph _is _sparse . _on _the _mat");
  // The inner candidate comes later; "The graph" is one of them in small letters.
  EXPECT_EQ(links(whole, GlobalLink::other),
            (Numbers{0, 0, 1, 2, 2, -1, -1, 0, 1, -1, -1, 2, 2, -1, -1, -1, -1, -1, -1}));
  const std::string shorter = "_the _cat _cat _the _graph _is _on _the _cat _sat ! _on _the _mat";
  EXPECT_EQ(words(laid_out(encoder.encode(question, {18, 430, 200}).windows[0]).ids), shorter);
  // 5 candidates and query tokens, 2 supports: two sentences are left of 9 global tokens, and of two
  // sentences.
  EXPECT_EQ(words(laid_out(encoder.encode(question, {4096, 9, 200}).windows[0]).ids), shorter);
  EXPECT_EQ(words(laid_out(encoder.encode(question, {4096, 430, 2}).windows[0]).ids), shorter);
  const TwoInputs none = laid_out(encoder.encode(question, {7, 430, 200}).windows[0]);
  EXPECT_EQ(words(none.ids), "_the _cat _cat _the _graph _is _on");
  EXPECT_EQ(none.global_ids, (Numbers{42, 42, 42, 41, 41, 43, 43}));
  EXPECT_EQ(laid_out(encoder.encode(question, {4096, 6, 200}).windows[0]).global_ids,
            (Numbers{42, 42, 42, 41, 41, 43}));
  expect_message(error_of([&] {
                   encoder.encode(question, {6, 430, 200});
                 }),
                 "question '", "leave no room for query and candidates");
  expect_message(error_of([&] {
                   encoder.encode(question, {4096, 4, 200});
                 }),
                 "question '", "4 global tokens leave no room");
  // Of supports with as many sentences, that which stands first, or has had as many for longer.
  EXPECT_EQ(kept_sentences({{3, 3}, {2, 2, 2}, {4}}, 4, 100), (std::vector<std::size_t>{1, 2, 1}));
  EXPECT_EQ(kept_sentences({{3, 3}, {2, 2, 2}, {4}}, 100, 11), (std::vector<std::size_t>{1, 2, 1}));
  EXPECT_EQ(kept_sentences({{3, 3}, {2, 2, 2}, {4}}, 3, 100), (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(kept_sentences({{3, 3}, {2, 2, 2}, {4}}, 0, 100), (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_EQ(kept_sentences({}, 0, 0), (std::vector<std::size_t>{}));
}

TEST_F(Etc, Check18IdsFollowTheVocabulary) {
  const PartIds google = part_ids(*tokenizer_);
  EXPECT_EQ((Numbers{40, 1, 41, 42, 43}),
            (Numbers{static_cast<std::int32_t>(google.cls), static_cast<std::int32_t>(google.sentence),
                     static_cast<std::int32_t>(google.question), static_cast<std::int32_t>(google.candidate),
                     static_cast<std::int32_t>(google.paragraph)}));
  EXPECT_EQ(google.long_cls, 65u);
  EXPECT_EQ(google.window_cls, 65u);
  EXPECT_EQ(google.window_sep, 66u);
  EXPECT_EQ(page_part_ids(*tokenizer_, 0).window_sep, 66u);

  rename({{64, "<unused_63>"}});  // etcmodel's copy of it
  const PartIds etcmodel = part_ids(*tokenizer_);
  EXPECT_TRUE(etcmodel.of_etcmodel);
  EXPECT_EQ(etcmodel.long_cls, 40u);
  EXPECT_EQ(etcmodel.window_cls, 64u);
  EXPECT_EQ(etcmodel.window_sep, 3u);
  EXPECT_EQ(page_part_ids(*tokenizer_, 256).question, 35u);
  EXPECT_EQ(page_part_ids(*tokenizer_, 0).window_cls, 65u) << "of one input";
  const TwoInputs hop = laid_out(WikiHopTwoInputs(*tokenizer_, {}).encode(hop_of_two(), {}).windows[0]);
  EXPECT_EQ(hop.global_ids, (Numbers{4, 4, 3, 3, 5, 1, 1, 5, 1}));

  // Without etcmodel's names, the marks of the parts; without these, special pieces.
  rename({{64, "<ans>"}, {40, "<a40>"}, {41, "<a41>"}, {42, "<a42>"}, {43, "<a43>"}});
  const PartIds marks = part_ids(*tokenizer_);
  EXPECT_EQ(marks.cls, 65u);
  EXPECT_EQ(marks.question, 3u);
  EXPECT_EQ(marks.candidate, 64u);
  EXPECT_EQ(marks.paragraph, 63u);
  rename({{3, "<a3>"}, {63, "<a63>"}, {64, "<a64>"}});
  const PartIds special = part_ids(*tokenizer_);
  EXPECT_EQ(special.question, 66u);
  EXPECT_EQ(special.candidate, 67u);
  EXPECT_EQ(special.paragraph, 65u);

  rename({{1, "[unused0]"}, {3, "[unused2]"}, {4, "[unused3]"}, {5, "[unused4]"}});
  const PartIds word_pieces = part_ids(*tokenizer_);
  EXPECT_TRUE(word_pieces.of_etcmodel);
  EXPECT_EQ(word_pieces.question, 3u);
  EXPECT_EQ(word_pieces.candidate, 4u);
  EXPECT_EQ(word_pieces.paragraph, 5u);
  EXPECT_EQ(word_pieces.window_cls, 65u);
}

}  // namespace
}  // namespace bigbird
