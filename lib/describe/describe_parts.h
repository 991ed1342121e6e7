// Private to `bigbird info`: what the files of describe*.cpp share. Each function describes one form of file
// or folder and returns an object, whose first members are "kind" and "path". Errors as
// describe().
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe.h"

namespace bigbird {

using Json = nlohmann::basic_json<OrderedMap>;

// describe_model.cpp
Json describe_model(const std::string& folder, const DescribeOptions& options,
                    const kernels::Backend& backend);
Json describe_tokenizer(const std::string& folder);
Json describe_run(const std::string& folder);

// describe_genome.cpp
Json describe_shards(const std::string& prefix);
Json describe_bed(const std::string& path);
Json describe_bedgraph(const std::string& path);
Json describe_bigwig(const std::string& path);
Json describe_genome(const std::string& path);
Json describe_variants(const std::string& path);  // VCF, VCF.gz, BCF

// describe_table.cpp
Json describe_table(const std::string& path);
// The kind that a table with these columns is; empty for one that no verb writes.
std::string kind_of_columns(const std::vector<std::string>& columns);
Json describe_json(const std::string& path);
Json describe_json_lines(const std::string& path);

// describe_binary.cpp
Json describe_npy(const std::string& path);
Json describe_hdf5(const std::string& path);
Json describe_safetensors(const std::string& path);
Json describe_shard_file(const std::string& path);
Json describe_events(const std::string& path);

// describe_text.cpp
Json describe_picture(const std::string& path);
Json describe_page(const std::string& path);
Json describe_options(const std::string& path);
Json describe_script(const std::string& path);
Json describe_model_card(const std::string& path);
Json describe_piece_list(const std::string& path);
Json describe_lines(const std::string& path);

// An object of `facts`, in their order, after "kind" and "path"; "next" where it is not empty.
Json described(const std::string& kind, const std::string& path, const Json& facts = {},
               const std::string& next = {});
// A file without a byte, or a compressed one of nothing.
Json describe_empty(const std::string& path);

// The object of "provenance" of a file with "bigbird_version=..." lines, as provenance_json() writes it;
// null without such lines.
Json provenance_of_lines(const std::vector<std::string>& lines);
// The same of the "##" lines that open a text file, compressed or not; `lines` gets all of them.
Json provenance_of_text(const std::string& path, std::vector<std::string>* lines = nullptr);
// "bigbird VERB ..." of such an object; empty where there is none.
std::string command_of(const Json& provenance);

}  // namespace bigbird
