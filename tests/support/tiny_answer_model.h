// An encoder to fine-tune on the questions of HotpotQA, Natural Questions, TriviaQA and WikiHop, over the
// letters of tiny_text_data.h and the pieces that mark the parts of their inputs; and files of a few
// questions of each. Header-only: the including test links bigbird_lib.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/model_folder/checkpoint.h"
#include "tests/support/support.h"
#include "tests/support/tiny_question_model.h"
#include "tests/support/tiny_text_data.h"

namespace bigbird::testing {

inline SentencePieceModel tiny_answer_pieces() {
  SentencePieceModel model = tiny_text_model();
  for (const char* name :
       {"<sep_0>", "<sep_1>", "<sep_2>", "<sep_3>", "<sep_4>", "<t>", "<ans>", "<unused_35>", "<unused_36>"})
    model.pieces.push_back({name, 0, PieceType::control});
  return model;
}

// The shape of tiny_question_model.h with this vocabulary.
inline ModelConfig tiny_answer_config(HeadType head = HeadType::masked_lm) {
  ModelConfig config = tiny_question_config(head);
  config.vocab_size = static_cast<std::int64_t>(tiny_answer_pieces().pieces.size());
  return config;
}

inline void write_tiny_answer_init(const std::filesystem::path& folder) {
  write_tiny_text_tokenizer(folder, tiny_answer_pieces());
  ModelConfig config = tiny_answer_config();
  config.tokenizer_digest = load_tokenizer(folder.string())->digest();
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, 5), "", "tiny\n");
}

// The same as BigBird-ETC, with at most so many global tokens; of two layers, the fewest through which a
// question is seen from another segment.
inline ModelConfig tiny_etc_config(std::int64_t globals = 64, std::int64_t types = 16) {
  ModelConfig config = tiny_answer_config();
  config.attention = AttentionPattern::etc;
  config.num_hidden_layers = 2;
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.position_type = PositionType::none;
  config.num_random_blocks = 0;
  config.type_vocab_size = types;
  config.attention_options.etc.radius = 12;
  config.attention_options.etc.distance = 4;
  config.attention_options.etc.globals = globals;
  return config;
}
inline void write_tiny_etc_init(const std::filesystem::path& folder, std::int64_t globals = 64,
                                std::int64_t types = 16) {
  write_tiny_text_tokenizer(folder, tiny_answer_pieces());
  ModelConfig config = tiny_etc_config(globals, types);
  config.tokenizer_digest = load_tokenizer(folder.string())->digest();
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, 5), "", "tiny\n");
}

// Spans of two paragraphs, a yes and a no.
inline std::string tiny_hotpotqa_json() {
  const std::string context =
      R"("context": [["pets", ["a cat is red", "a dog is blue"]], ["sky", ["moon far", "sun near"]]]})";
  const auto question = [&](const std::string& id, const std::string& text, const std::string& answer,
                            const std::string& fact) {
    return R"({"_id": ")" + id + R"(", "question": ")" + text + R"(", "answer": ")" + answer +
           R"(", "supporting_facts": [)" + fact + "], " + context;
  };
  return "[" + question("h1", "dog", "blue", R"(["pets", 1])") + ",\n" +
         question("h2", "cat", "red", R"(["pets", 0])") + ",\n" +
         question("h3", "is moon up", "yes", R"(["sky", 0], ["sky", 1])") + ",\n" +
         question("h4", "was it", "no", R"(["pets", 0], ["sky", 1])") + "]\n";
}

// One page of two paragraphs, in the simplified form, two annotations for each question: two short answers, a
// yes, a long answer alone, and none.
inline std::string tiny_nq_jsonl() {
  const auto question = [](const std::string& id, const std::string& text, const std::string& candidate,
                           const std::string& span, const std::string& yes_no) {
    const std::string annotation = R"({"long_answer": {"start_token": )" +
                                   std::string(candidate == "-1"  ? R"(-1, "end_token": -1)"
                                               : candidate == "0" ? R"(0, "end_token": 6)"
                                                                  : R"(6, "end_token": 12)") +
                                   R"(, "candidate_index": )" + candidate + R"(}, "short_answers": [)" +
                                   span + R"(], "yes_no_answer": ")" + yes_no + "\"}";
    return R"({"example_id": )" + id + R"(, "question_text": ")" + text +
           R"(", "document_text": "<P> a cat is red </P> <P> a dog is blue </P>", "long_answer_candidates": )" +
           R"([{"start_token": 0, "end_token": 6, "top_level": true}, )" +
           R"({"start_token": 6, "end_token": 12, "top_level": true}], "annotations": [)" + annotation +
           ", " + annotation + "]}\n";
  };
  return question("-1", "cat", "0", R"({"start_token": 4, "end_token": 5})", "NONE") +
         question("2", "dog", "1", R"({"start_token": 10, "end_token": 11})", "NONE") +
         question("3", "is it up", "0", "", "YES") + question("4", "what", "1", "", "NONE") +
         question("5", "moon", "-1", "", "NONE");
}

// FILE, and its documents in FOLDER/wikipedia.
inline std::string tiny_triviaqa_json(const std::filesystem::path& evidence) {
  std::filesystem::create_directories(evidence / "wikipedia");
  write_text(evidence / "wikipedia/pets.txt", "a cat is red and a dog is blue");
  write_text(evidence / "wikipedia/sky.txt", "moon far sun near");
  const auto question = [](const std::string& id, const std::string& text, const std::string& answer,
                           const std::string& page) {
    return R"({"QuestionId": ")" + id + R"(", "Question": ")" + text + R"(", "Answer": {"Value": ")" +
           answer + R"(", "NormalizedAliases": [")" + answer +
           R"("], "Aliases": []}, "EntityPages": [{"Filename": ")" + page + R"("}], "SearchResults": []})";
  };
  return R"({"Data": [)" + question("t1", "dog", "blue", "pets.txt") + ",\n" +
         question("t2", "cat", "red", "pets.txt") + ",\n" + question("t3", "sun", "near", "sky.txt") + ",\n" +
         question("t4", "moon", "far", "sky.txt") +
         R"(], "Domain": "Wikipedia", "VerifiedEval": false, "Version": 1.0})" + "\n";
}

inline std::string tiny_wikihop_json() {
  const auto question = [](const std::string& id, const std::string& text, const std::string& answer) {
    return R"({"id": ")" + id + R"(", "query": ")" + text + R"(", "answer": ")" + answer +
           R"(", "candidates": ["red", "blue", "far"], "supports": ["a cat is red", "a dog is blue",)" +
           R"( "moon far"]})";
  };
  return "[" + question("w1", "dog", "blue") + ",\n" + question("w2", "cat", "red") + ",\n" +
         question("w3", "moon", "far") + "]\n";
}

}  // namespace bigbird::testing
