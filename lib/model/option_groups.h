// The options of those systems of attention that have a group of their own in AttentionOptions: for the table
// of systems (attention_systems.cpp), which has the others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/attention_systems.h"

namespace bigbird {

constexpr std::int64_t longest_chunk = std::int64_t{1} << 24;
constexpr std::int64_t most_shares = 1024;

// -1 of what is no whole number, and no number.
std::int64_t count_in(std::string_view text);
double number_in(const std::string& text);
// Of "10:2"; -1 for what is no number.
std::vector<std::int64_t> counts_in(std::string_view text);

std::vector<AttentionOption> etc_options();
std::vector<AttentionOption> recurrent_options();
std::vector<AttentionOption> compressive_options();
std::vector<AttentionOption> bpt_options();
std::vector<AttentionOption> span_options();
std::vector<AttentionOption> performer_options();
std::vector<AttentionOption> reformer_options();
std::vector<AttentionOption> routing_options();

}  // namespace bigbird
