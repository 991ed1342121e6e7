// The settings that messages name, and how their user knows them.
//
//   throw_usage(message("`batch` {}: must be at least 1", batch), "the usual values are 32 to 256");
//
// lib calls a setting by its field, in backticks, and knows no command line. A program tells once what its
// user calls them (set_setting_names(): --batch); a message has these words from the moment it is made, as
// gettext has it with languages. Until then it has the fields.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace bigbird {

// All of them, each between blanks. Each is an option of some verb (tests/policy).
inline constexpr std::string_view all_settings =
    " "
    "accumulate allow_leaks allow_missing allow_nan anchor_bin at_least attention attention_buckets "
    "average_decay baseline batch batch_tokens beams between_devices bin bins calibrated chain "
    "character_coverage chromosomes clip clip_norm continuations data debug_nan decode decoder "
    "document_field documents domain edge effects effects_column epochs eval_every evidence exclude "
    "fasta field files final_state folder force format fresh_head fresh_negatives gap gc_tolerance "
    "global grad_checkpoint header hidden_size id_column id_field identity in init intermediate_size "
    "keep keep_null label_column label_files label_smoothing labels layer_decay layer_drop "
    "learning_rate left length length_penalty mask_probability masks max_answer max_length max_loss "
    "max_n max_piece_length max_position_embeddings max_question max_sentence_bytes max_sequences "
    "max_windows memory merge_distance method min_distance min_length min_overlap model models "
    "n_best negatives no_header no_join no_mlm no_nsp no_pairs no_repeat_ngram null_odds "
    "null_threshold num_attention_heads num_hidden_layers num_random_blocks objective of offset "
    "one_per_line optimizer output overlap patience per_strand plan_file pool positions "
    "positive_weight preset problem profiles promoters_per_mb quoting ref_mismatch region regions "
    "repetition_penalty replace_invalid report required_characters resume right sample_bases "
    "schedule score shard shard_size shift shifts significance_column size skip_bad split "
    "stem_stride step steps strand strands summary_field support_threshold target_length task "
    "temperature tensorboard test text text_column threshold token_column tokenizer top_k top_p track train "
    "trainer unmapped valid value version_2 vocab_size warmup window window_at window_length windows "
    "within write_digest ";

constexpr bool is_setting(std::string_view word) {
  for (std::size_t at = all_settings.find(word, 1); at != all_settings.npos;
       at = all_settings.find(word, at + 1)) {
    if (all_settings[at - 1] == ' ' && all_settings.substr(at + word.size(), 1) == " ") return !word.empty();
  }
  return false;
}

// A single lower-case word in backticks is a setting ("`clip_norm`"); "`bigbird check`" is a command. In
// `text` from `at` on: its place with the backticks, and size 0 where there is none.
struct SettingPlace {
  std::size_t begin;
  std::size_t size;
};
constexpr SettingPlace next_setting(std::string_view text, std::size_t at) {
  while (true) {
    const std::size_t open = text.find('`', at);
    const std::size_t close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return {text.size(), 0};
    const std::string_view word = text.substr(open + 1, close - open - 1);
    if (!word.empty() && word.front() >= 'a' && word.front() <= 'z' &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == word.npos) {
      return {open, close + 1 - open};
    }
    at = close + 1;
  }
}

void no_such_setting();  // what the compiler says of one that is misspelt

// A text that stands in the program, for message(): does not compile where it names a setting that
// the list does not have, or where fmt could not format it.
template <typename... Args>
struct MessageFormat {
  template <std::size_t size>
  consteval MessageFormat(const char (&literal)[size]) : text(literal), format(literal) {
    for (SettingPlace at = next_setting(text, 0); at.size > 0; at = next_setting(text, at.begin + at.size)) {
      if (!is_setting(text.substr(at.begin + 1, at.size - 2))) no_such_setting();
    }
  }
  std::string_view text;
  fmt::format_string<Args...> format;
};

// The literal, formatted as fmt::format does, with the words of the user for the settings that it names.
// Whatever the arguments hold stays as it is.
std::string format_message(std::string_view text, fmt::format_args args);
template <typename... Args>
std::string message(MessageFormat<std::type_identity_t<Args>...> text, Args&&... args) {
  return format_message(text.text, fmt::make_format_args(args...));
}

// The user's word for a field whose name is a value of the program's.
std::string setting_name(std::string_view field);

// Whoever runs the library says what its user calls the fields; nothing takes it back. Before any work
// starts.
void set_setting_names(std::function<std::string(std::string_view)> names);

}  // namespace bigbird
