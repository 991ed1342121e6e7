// See plan_table.h.
#include "lib/model/plans/plan_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

using Json = nlohmann::json;

constexpr const char* format_hint = "bigbird attention writes a plan as JSON in the format that is read";
constexpr const char* layout_hint =
    "a DeepSpeed layout is a matrix of 0 and 1, blocks x blocks for every head";

[[noreturn]] void reject_table(const std::string& message) {
  throw_bad_input(message, format_hint);
}

const Json& array_field(const Json& object, const char* field, const std::string& where) {
  const auto found = object.is_object() ? object.find(field) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array()) {
    reject_table(fmt::format("{}: no list named {}", where, field));
  }
  return *found;
}

PlanTable::Heads read_heads(const Json& layer, const std::string& where) {
  PlanTable::Heads heads;
  for (const Json& head : array_field(layer, "heads", where)) {
    PlanTable::Rows rows;
    for (const Json& row : array_field(head, "rows", fmt::format("{}: head {}", where, heads.size()))) {
      if (!row.is_array()) {
        reject_table(fmt::format("{}: head {} row {} is not a list", where, heads.size(), rows.size()));
      }
      std::vector<std::int32_t> blocks;
      for (const Json& block : row) {
        // The bound is checked with the table's size; here only that it fits the type.
        if (!block.is_number_integer() || block.get<std::int64_t>() < 0 ||
            block.get<std::int64_t>() > 0x7fffffff) {
          reject_table(fmt::format("{}: head {} row {} holds {}, not a block number", where, heads.size(),
                                   rows.size(), json_text(block)));
        }
        blocks.push_back(block.get<std::int32_t>());
      }
      rows.push_back(std::move(blocks));
    }
    heads.push_back(std::move(rows));
  }
  return heads;
}

}  // namespace

PlanTable::PlanTable(std::int64_t block_size, std::vector<Heads> layers, const std::string& where)
    : block_size_(block_size), layers_(std::move(layers)), where_(where) {
  if (block_size < 1 || block_size > 4096)
    reject_table(fmt::format("{}: block_size = {}", where, block_size));
  if (layers_.empty() || layers_[0].empty() || layers_[0][0].empty()) {
    reject_table(where + ": a plan without layers, heads or rows");
  }
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    if (layers_[layer].size() != layers_[0].size()) {
      reject_table(fmt::format("{}: layer {} has {} heads, layer 0 has {}", where, layer,
                               layers_[layer].size(), layers_[0].size()));
    }
    for (std::size_t head = 0; head < layers_[layer].size(); ++head) {
      const Rows& rows = layers_[layer][head];
      if (static_cast<std::int64_t>(rows.size()) != blocks()) {
        reject_table(fmt::format("{}: layer {} head {} has {} rows, not {}", where, layer, head, rows.size(),
                                 blocks()));
      }
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (rows[row].empty()) {
          reject_table(fmt::format("{}: layer {} head {} row {} sees no block", where, layer, head, row));
        }
        for (const std::int32_t block : rows[row]) {
          if (block < 0 || block >= blocks()) {
            reject_table(fmt::format("{}: layer {} head {} row {} names block {}, outside 0..{}", where,
                                     layer, head, row, block, blocks() - 1));
          }
        }
      }
    }
  }
}

PlanTable PlanTable::read(const std::string& file) {
  Json json;
  try {
    json = Json::parse(read_file(file));
  } catch (const Json::exception& error) {
    reject_table(fmt::format("{}: not valid JSON ({})", file, json_problem(error)));
  }
  if (!json.is_object()) reject_table(file + ": not a JSON object");
  const auto size = json.find("block_size");
  if (size == json.end() || !size->is_number_integer())
    reject_table(file + ": no whole number named block_size");
  std::vector<Heads> layers;
  if (json.contains("layers")) {
    for (const Json& layer : array_field(json, "layers", file)) {
      layers.push_back(read_heads(layer, fmt::format("{}: layer {}", file, layers.size())));
    }
  } else {
    layers.push_back(read_heads(json, file));
  }
  return PlanTable(size->get<std::int64_t>(), std::move(layers), file);
}

PlanTable PlanTable::from_layouts(std::int64_t block_size,
                                  const std::vector<std::vector<std::int64_t>>& layouts, std::int64_t heads,
                                  std::int64_t blocks, const std::string& where) {
  std::vector<Heads> layers;
  for (const std::vector<std::int64_t>& layout : layouts) {
    if (heads < 1 || blocks < 1 || static_cast<std::int64_t>(layout.size()) != heads * blocks * blocks) {
      throw_bad_input(fmt::format("{}: the layout of layer {} has {} values, not {} x {} x {}", where,
                                  layers.size(), layout.size(), heads, blocks, blocks),
                      layout_hint);
    }
    Heads& lists =
        layers.emplace_back(static_cast<std::size_t>(heads), Rows(static_cast<std::size_t>(blocks)));
    auto value = layout.begin();
    for (std::size_t head = 0; head < lists.size(); ++head) {
      for (std::size_t row = 0; row < lists[head].size(); ++row) {
        for (std::int64_t block = 0; block < blocks; ++block, ++value) {
          if (*value == 1) lists[head][row].push_back(static_cast<std::int32_t>(block));
          if (*value == 0 || *value == 1) continue;
          throw_bad_input(
              fmt::format("{}: the layout of layer {} holds {} at head {} row {} column {}, not 0 or 1",
                          where, layers.size() - 1, *value, head, row, block),
              layout_hint);
        }
      }
    }
  }
  return PlanTable(block_size, std::move(layers), where);
}

std::string PlanTable::json() const {
  nlohmann::ordered_json json;
  json["block_size"] = block_size_;
  json["blocks"] = blocks();
  const auto heads_json = [](const Heads& heads) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Rows& rows : heads) list.push_back({{"rows", rows}});
    return list;
  };
  if (layers_.size() == 1) {
    json["heads"] = heads_json(layers_[0]);
  } else {
    for (const Heads& heads : layers_) json["layers"].push_back({{"heads", heads_json(heads)}});
  }
  return json_text(json) + "\n";
}

PlanTable::Heads PlanTable::rows(std::int64_t layer, std::int64_t blocks) const {
  if (blocks > this->blocks()) {
    throw_bad_input(
        fmt::format("{}: the plan is for {} blocks, a sequence has {}", where_, this->blocks(), blocks),
        fmt::format("cut the input to {} tokens, or give a plan for longer sequences",
                    this->blocks() * block_size_));
  }
  Heads heads = layers_[layers_.size() == 1 ? 0 : static_cast<std::size_t>(layer)];
  for (std::size_t head = 0; head < heads.size(); ++head) {
    heads[head].resize(static_cast<std::size_t>(blocks));
    for (std::size_t row = 0; row < heads[head].size(); ++row) {
      auto& list = heads[head][row];
      std::erase_if(list, [&](std::int32_t block) { return block >= blocks; });
      if (list.empty()) {
        throw_bad_input(fmt::format("{}: layer {} head {} row {} sees no block of a sequence of {} blocks",
                                    where_, layer, head, row, blocks),
                        "pad to the length the plan was made for");
      }
    }
  }
  return heads;
}

void PlanTable::require_length(std::int64_t length) const {
  if (length <= blocks() * block_size_) return;
  throw_usage(message("`length` {}: the plan {} is for {} tokens", length, where_, blocks() * block_size_),
              message("shorten `length`, or give a plan for longer sequences"));
}

}  // namespace bigbird
