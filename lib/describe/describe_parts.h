// Private to `bigbird info`: what the files of describe*.cpp share. Each function describes one form of file
// or folder and returns an object as JSON text, whose first members are "kind" and "path". Errors as
// describe().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "lib/describe/describe.h"

namespace bigbird {

// describe_model.cpp
std::string describe_model(const std::string& folder, const DescribeOptions& options,
                           const kernels::Backend& backend);
std::string describe_tokenizer(const std::string& folder);
std::string describe_run(const std::string& folder);

// describe_genome.cpp
std::string describe_shards(const std::string& prefix);
std::string describe_bed(const std::string& path);
std::string describe_bedgraph(const std::string& path);
std::string describe_bigwig(const std::string& path);
std::string describe_genome(const std::string& path);
std::string describe_variants(const std::string& path);  // VCF, VCF.gz, BCF

// describe_table.cpp
std::string describe_table(const std::string& path);
// The kind that a table with these columns is; empty for one that no verb writes.
std::string kind_of_columns(const std::vector<std::string>& columns);
std::string describe_json(const std::string& path);
std::string describe_json_lines(const std::string& path);

// describe_binary.cpp
std::string describe_npy(const std::string& path);
std::string describe_hdf5(const std::string& path);
std::string describe_safetensors(const std::string& path);
std::string describe_tensorflow(const std::string& path);  // as TensorFlowBundle takes it
std::string describe_shard_file(const std::string& path);
std::string describe_events(const std::string& path);

// describe_text.cpp
std::string describe_picture(const std::string& path);
std::string describe_page(const std::string& path);
std::string describe_options(const std::string& path);
std::string describe_script(const std::string& path);
std::string describe_model_card(const std::string& path);
std::string describe_piece_list(const std::string& path);
std::string describe_lines(const std::string& path);
std::string describe_tagged(const std::string& path);

// A file without a byte, or a compressed one of nothing.
std::string describe_empty(const std::string& path);

// The object of "provenance" of a file with "bigbird_version=..." lines, as provenance_json() writes it, less
// its settings; "null" without such lines.
std::string provenance_of_lines(const std::vector<std::string>& lines);
// The same of the "##" lines that open a text file, compressed or not, or else lie beside it; `lines` gets
// all of them.
std::string provenance_of_text(const std::string& path, std::vector<std::string>* lines = nullptr);
// "bigbird VERB ..." of such an object; empty where there is none.
std::string command_of(std::string_view provenance);

}  // namespace bigbird
