// Models of text of random weights that answer questions, small enough for tests of seconds, over the letters
// of tiny_text_data.h; and the files of a few questions. Header-only: the including test links bigbird_lib.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/model_folder/checkpoint.h"
#include "lib/text/text_settings.h"
#include "tests/support/support.h"
#include "tests/support/tiny_text_data.h"

namespace bigbird::testing {

// 1 layer, width 16, blocks of 8 tokens, 128 positions. With a question answering head: logits that differ
// clearly between tokens.
inline ModelConfig tiny_question_config(HeadType head) {
  ModelConfig config;
  config.vocab_size = tiny_text_pieces;
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 128;
  config.block_size = 8;
  config.num_random_blocks = 1;
  config.random_mode = RandomMode::hf_eval;
  config.sep_token_id = tiny_sep;
  config.head = head;
  config.hidden_dropout_prob = 0;
  config.attention_probs_dropout_prob = 0;
  config.initializer_range = head == HeadType::question_answering ? 0.4 : 0.1;
  return config;
}

// The model folder; text.json where `settings` are given.
inline void write_tiny_question_model(const std::filesystem::path& folder,
                                      HeadType head = HeadType::question_answering,
                                      const TextSettings* settings = nullptr) {
  write_tiny_text_tokenizer(folder);
  ModelConfig config = tiny_question_config(head);
  config.tokenizer_digest = load_tokenizer(folder.string())->digest();
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, 5), "", "tiny\n");
  if (settings == nullptr) return;
  for (const auto& [name, text] : text_settings_files(*settings)) write_text(folder / name, text);
}

struct TinyQuestion {
  std::string id;
  std::string question;
  std::string context;
  std::string answer;     // empty: there is none
  std::size_t start = 0;  // of the answer
};

// {"data": [{"id", "question", "context", "answers": {"text": [], "answer_start": []}}]}, a question a line.
inline std::string tiny_questions_json(const std::vector<TinyQuestion>& questions) {
  std::string json = "{\"data\": [";
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const TinyQuestion& question = questions[i];
    const bool answered = !question.answer.empty();
    json += std::string(i == 0 ? "" : ",") + "\n{\"id\": \"" + question.id + "\", \"question\": \"" +
            question.question + "\", \"context\": \"" + question.context + "\", \"answers\": {\"text\": [" +
            (answered ? "\"" + question.answer + "\"" : "") + "], \"answer_start\": [" +
            (answered ? std::to_string(question.start) : "") + "]}}";
  }
  return json + "\n]}\n";
}

// Four questions about two texts.
inline std::vector<TinyQuestion> four_tiny_questions() {
  return {{"q1", "dog", "a cat is red and a dog is blue", "blue", 26},
          {"q2", "cat", "a cat is red and a dog is blue", "red", 9},
          {"q3", "sun", "moon far sun near", "near", 13},
          {"q4", "moon", "moon far sun near", "far", 5}};
}

}  // namespace bigbird::testing
