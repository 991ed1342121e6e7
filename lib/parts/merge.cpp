// Outputs of shards put together; see merge.h.
#include "lib/parts/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/npy.h"

namespace bigbird {
namespace {

// Letters of a list of missing shards, about.
constexpr std::size_t longest_list = 60;
constexpr const char* run_all_again = "run the shards again, all with the same options";

void check_same_run(const ShardFacts& first, const ShardFacts& other) {
  const auto refuse = [&](const std::string& why) {
    throw_bad_input(fmt::format("{} and {}: {}", first.output, other.output, why), run_all_again);
  };
  if (first.shard.count != other.shard.count) refuse("numbers of shards differ");
  for (std::size_t i = 0; i < std::min(first.same.size(), other.same.size()); ++i) {
    if (first.same[i].second != other.same[i].second) refuse(first.same[i].first);
  }
  if (first.same.size() != other.same.size()) throw_runtime("shards of different kinds are compared");
}

// "##" lines and the line of names; where there is none, the first row.
std::string read_head(LineReader& table) {
  std::string head;
  std::string_view line;
  while (table.next(line)) {
    (head += line) += '\n';
    if (!line.starts_with("##")) break;
  }
  return head;
}

// The last line of a head. What stands before it tells how a shard was made: paths, which machines may have
// in other places.
std::string_view names_of_columns(std::string_view head) {
  if (!head.empty()) head.remove_suffix(1);
  return head.substr(head.rfind('\n') + 1);
}

void for_each_chunk_of(const std::vector<ChunkedTable>& shards,
                       const std::function<void(std::size_t, std::size_t)>& take) {
  std::vector<std::size_t> chunks_of;
  std::vector<std::string> names;
  for (const ChunkedTable& shard : shards) {
    chunks_of.push_back(shard.rows.size());
    names.push_back(shard.path);
  }
  for_each_chunk_in_turn(chunks_of, names, take);
}

using LineReaders = std::vector<std::unique_ptr<LineReader>>;

LineReaders open_all(const std::vector<ChunkedTable>& shards) {
  LineReaders files;
  for (const ChunkedTable& shard : shards)
    files.push_back(std::make_unique<LineReader>(shard.path, LineReader::Descriptor::rest));
  return files;
}

void refuse_what_is_left(const LineReaders& files) {
  std::string_view line;
  for (const auto& file : files) {
    if (file->next(line)) refuse_other_length(file->path(), "more rows");
  }
}

std::string_view first_line(std::string_view lines) {
  return lines.substr(0, lines.find('\n'));
}

// Whether the next lines of a file are these.
bool lines_follow(LineReader& file, std::string_view lines) {
  std::string_view line;
  while (!lines.empty()) {
    if (!file.next(line) || line != first_line(lines)) return false;
    lines.remove_prefix(line.size() + 1);
  }
  return true;
}

// `end`: what stands behind the entries of a section.
void close_section(LineReader& file, std::string_view end) {
  std::string_view line;
  if (!file.next(line)) refuse_other_length(file.path(), "fewer rows");
  if (line != first_line(end)) refuse_other_length(file.path(), "more rows");
  end.remove_prefix(line.size() + 1);
  if (!lines_follow(file, end)) refuse_other_length(file.path(), "other lines");
}

}  // namespace

ShardFacts shard_facts(const std::string& output, const PartFacts& facts, const char* other_kind,
                       std::uint64_t records, const std::string& input_digest) {
  ShardFacts shard{output, facts.shard, {}};
  shard.same = {{other_kind, facts.kind},
                // Before the records: their digest is made of those of chunks.
                {"sizes of chunks differ", std::to_string(facts.chunk)},
                {"made from different records", fmt::format("{} {}", records, input_digest)}};
  for (const auto& [name, value] : facts.identity)
    shard.same.emplace_back(setting_name(name) + " differs", value);
  return shard;
}

std::vector<std::size_t> order_of_shards(const std::vector<ShardFacts>& shards) {
  if (shards.empty()) throw_usage("no shard is given");
  const std::uint64_t count = shards.front().shard.count;
  std::map<std::uint64_t, std::size_t> by_index;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    check_same_run(shards.front(), shards[i]);
    if (!by_index.emplace(shards[i].shard.index, i).second) {
      throw_bad_input(
          fmt::format("{}: shard {} of {} is given twice", shards[i].output, shards[i].shard.index, count),
          "give each shard once");
    }
  }
  std::vector<std::size_t> order;
  std::string missing;
  for (std::uint64_t index = 1; index <= count; ++index) {
    const auto found = by_index.find(index);
    if (found == by_index.end()) {
      if (missing.size() > longest_list) {
        missing += " ...";
        break;
      }
      missing += (missing.empty() ? "" : ", ") + std::to_string(index);
    } else {
      order.push_back(found->second);
    }
  }
  if (!missing.empty() || order.size() != shards.size()) {
    throw_bad_input(fmt::format("the shards are not complete: of {}, {} {} missing", count, missing,
                                missing.find(',') == std::string::npos ? "is" : "are"),
                    "give the outputs of all shards");
  }
  return order;
}

void require_every_chunk(const std::string& path, std::uint64_t records, std::uint64_t chunk,
                         std::uint64_t chunks_of_shards) {
  const std::uint64_t expected = chunk == 0 ? 0 : (records + chunk - 1) / chunk;
  if (chunks_of_shards == expected) return;
  throw_bad_input(fmt::format("{}: its input has {} chunks, the shards {}", path, expected, chunks_of_shards),
                  run_all_again);
}

void require_unchanged(const std::string& path, const FileDigest& digest) {
  if (file_has_digest(path, digest)) return;
  throw_bad_input(path + ": was cut or changed after it was written", "run this shard again");
}

void for_each_chunk_in_turn(const std::vector<std::size_t>& chunks_of, const std::vector<std::string>& names,
                            const std::function<void(std::size_t, std::size_t)>& take) {
  const std::size_t chunks = std::accumulate(chunks_of.begin(), chunks_of.end(), std::size_t{0});
  for (std::size_t i = 0; i < chunks; ++i) {
    throw_if_cancelled();
    const std::size_t shard = i % chunks_of.size();
    const std::size_t chunk = i / chunks_of.size();
    if (chunk >= chunks_of[shard]) {
      throw_bad_input(names[shard] + ": has too few chunks for the input", run_all_again);
    }
    take(shard, chunk);
  }
}

void refuse_other_length(const std::string& path, const std::string& what) {
  throw_bad_input(fmt::format("{}: has {} than its summary has", path, what), "run this shard again");
}

void merge_tables(const std::vector<ChunkedTable>& shards, RowNumbers numbers, const std::string& output) {
  OutputStream out(output);
  LineReaders tables = open_all(shards);
  std::string head;
  for (std::size_t shard = 0; shard < shards.size() && numbers != RowNumbers::no_head; ++shard) {
    const std::string head_here = read_head(*tables[shard]);
    if (shard == 0) head = head_here;
    if (names_of_columns(head_here) != names_of_columns(head)) {
      throw_bad_input(fmt::format("{} and {}: their columns differ", shards.front().path, shards[shard].path),
                      run_all_again);
    }
  }
  out.write(head);
  std::uint64_t number = 0;
  std::string_view line;
  for_each_chunk_of(shards, [&](std::size_t shard, std::size_t chunk) {
    for (std::uint64_t row = 0; row < shards[shard].rows[chunk]; ++row) {
      if (!tables[shard]->next(line)) refuse_other_length(shards[shard].path, "fewer rows");
      if (numbers == RowNumbers::anew) {
        out.write(std::to_string(number++));
        line.remove_prefix(std::min(line.find('\t'), line.size()));
      }
      out.write(line);
      out.write("\n");
    }
  });
  refuse_what_is_left(tables);
  out.close();
}

void merge_json(const std::vector<ChunkedTable>& shards, const EntriesLayout& layout,
                const std::string& output) {
  OutputStream out(output);
  LineReaders files = open_all(shards);
  JsonEntriesJoiner joiner(layout, [&](std::string_view text) { out.write(text); });
  // A shard without entries has another frame, and no sections.
  std::vector<bool> empty;
  for (const ChunkedTable& shard : shards)
    empty.push_back(std::all_of(shard.rows.begin(), shard.rows.end(), [](auto rows) { return rows == 0; }));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!lines_follow(*files[i], empty[i] ? layout.empty : layout.frame.front()))
      throw_bad_input(files[i]->path() + ": no JSON as it was written", "run this shard again");
  }
  for (std::size_t section = 0; section < layout.sections(); ++section) {
    const std::string_view end = layout.frame[section + 1];
    for_each_chunk_of(shards, [&](std::size_t shard, std::size_t chunk) {
      std::string entries;
      std::string_view line;
      for (std::uint64_t row = 0; row < shards[shard].rows[chunk]; ++row) {
        if (!files[shard]->next(line) || line == first_line(end))
          refuse_other_length(shards[shard].path, "fewer rows");
        (entries += line) += '\n';
      }
      joiner.add(section, entries);
    });
    for (std::size_t i = 0; i < files.size(); ++i)
      if (!empty[i]) close_section(*files[i], end);
  }
  refuse_what_is_left(files);
  joiner.finish();
  out.close();
}

void merge_matrices(const std::vector<ChunkedTable>& shards, const std::string& output) {
  std::vector<NpyMatrix> matrices;
  for (const ChunkedTable& shard : shards) matrices.emplace_back(shard.path);
  const std::size_t columns = matrices.front().columns();
  FloatRowsWriter out(output, static_cast<std::int64_t>(columns), {});
  std::vector<std::size_t> rows_taken(shards.size(), 0);
  std::vector<float> values;
  for_each_chunk_of(shards, [&](std::size_t shard, std::size_t chunk) {
    const NpyMatrix& matrix = matrices[shard];
    const std::size_t begin = rows_taken[shard];
    const std::size_t end = begin + shards[shard].rows[chunk];
    if (end > matrix.rows() || matrix.columns() != columns) {
      refuse_other_length(matrix.path(), "fewer rows or other columns");
    }
    values.clear();
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        values.push_back(static_cast<float>(matrix.number(row, column)));
      }
    }
    out.write(values);
    rows_taken[shard] = end;
  });
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    if (rows_taken[shard] != matrices[shard].rows()) refuse_other_length(matrices[shard].path(), "more rows");
  }
  out.commit();
}

std::uint64_t merge_outputs(const std::vector<std::string>& shards, const std::string& output) {
  std::vector<OutputShard> opened;
  std::vector<ShardFacts> facts;
  for (const std::string& path : shards) {
    const OutputShard& shard = opened.emplace_back(read_output_shard(path));
    facts.push_back(shard_facts(path, shard, "what is in them differs", shard.records, shard.input_digest));
  }
  std::vector<ChunkedTable> tables;
  std::uint64_t chunks = 0;
  for (const std::size_t i : order_of_shards(facts)) {
    tables.push_back({shards[i], opened[i].lines});
    chunks += opened[i].lines.size();
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (!opened[i].output.sha256.empty()) require_unchanged(shards[i], opened[i].output);
  }
  const OutputShard& first = opened.front();
  require_every_chunk(output_shard_path(shards.front()), first.records, first.chunk, chunks);
  if (first.form != ChunkForm::lines) {
    merge_json(tables, entries_layout(first.form), output);
  } else {
    merge_tables(tables, first.has_head ? RowNumbers::keep : RowNumbers::no_head, output);
  }
  return first.records;
}

}  // namespace bigbird
