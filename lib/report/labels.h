// The one table of what readers see in place of the keys of JSON and the columns of tables, and what the
// reasons and flags of variants mean in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// "mlm_loss" -> "masked-token loss". Of a key that is not in the table, the key with blanks for its "_".
std::string label_of(std::string_view key);
std::vector<std::string> labels_of(const std::vector<std::string>& keys);

// Of a name that may be a user's (a group, a class, a set of predictions): the words of those that the
// program gives, any other as it is. "gc" -> "G and C", "rc" -> "both strands".
std::string set_name(std::string_view name);

// What a reason not to score an allele, or a flag of one that was scored, means. Empty for an unknown name.
std::string reason_in_words(std::string_view reason);
std::string flag_in_words(std::string_view flag);

// The name, and behind it what it means where that is known: "trimmed: REF and ALT shared bases at an end".
std::string with_words(std::string_view name, const std::string& words);

}  // namespace bigbird
