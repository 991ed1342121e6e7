// lib/report holds what people look at: charts as SVG, pages, and reports of any outputs (report_inputs.h:
// which file becomes which section). Numbers come from the rooms below; none is computed anew.
//
// A block plan as a picture: the four panels of the paper's Figs. 1 and 3 (random, window, global, together),
// or those of another system's parts, one cell a block, with the tokens inside a block ruled when blocks are
// few. And several plans side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

// Of a system that decides by tokens, a cell of two blocks with pairs that meet: what they are there for, a
// window or all else, and the share of its pairs.
struct PartialCell {
  std::int32_t key_block = 0;
  bool in_window = true;
  double share = 1;
};

struct AttentionPicture {
  AttentionPattern pattern = AttentionPattern::bigbird;
  std::int64_t block_size = 64;
  std::string title;
  // rows[i] = key blocks of query block i of the head that is drawn; repeats are drawn darker.
  std::vector<std::vector<std::int32_t>> rows;
  std::int64_t chunk_blocks = 0;  // of sparse-fixed
  // cells[query block] in place of rows; the fainter, the fewer pairs.
  std::vector<std::vector<PartialCell>> cells = {};
};

// A complete SVG document.
std::string attention_svg(const AttentionPicture& picture);

// A layer of a system, all heads in one panel: the darker a block, the more of its pairs meet, over all
// heads.
struct LayerPicture {
  std::string caption;
  std::string second_line;
  std::vector<std::vector<double>> shares;  // [query block][key block], within 0 and 1
};
// Side by side, four in a line. A complete SVG document.
std::string comparison_svg(const std::string& title, const std::vector<LayerPicture>& layers);

}  // namespace bigbird
