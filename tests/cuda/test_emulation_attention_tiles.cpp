// How attention's tiles lie in shared memory: places of their own, and no bank met twice by the lanes that a
// device serves at once. On the emulated device alone: it speaks of the layout, which no result shows.
#include <gtest/gtest.h>

#include <set>

#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {
namespace {

template <class Element, int width>
void expect_places_of_their_own() {
  using Layout = TileLayout<Element, width>;
  std::set<int> places;
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < width; ++column) {
      const int place = Layout::at(row, column);
      EXPECT_TRUE(places.insert(place).second) << "row " << row << ", column " << column;
      EXPECT_LT(place, (Tile<Element, 64, width>::elements));
    }
  }
}

// 16 bytes of eight lanes are 32 banks. row and column: of lane 0; the lanes go down rows or along a row.
template <class Element, int width>
std::set<int> quarters_of_eight(int row, int column, bool down) {
  constexpr int chunk = 16 / static_cast<int>(sizeof(Element));
  std::set<int> quarters;
  for (int lane = 0; lane < 8; ++lane) {
    const int chunks = width / chunk;
    const int across = column / chunk + lane;
    const int at = down ? TileLayout<Element, width>::at(row + lane, column)
                        : TileLayout<Element, width>::at(row + across / chunks, across % chunks * chunk);
    quarters.insert(at * static_cast<int>(sizeof(Element)) / 16 % 8);
  }
  return quarters;
}

template <int width>
void expect_free_matrices() {
  for (int row = 0; row < 64; row += 8) {
    for (int column = 0; column < width; column += 8) {
      EXPECT_EQ((quarters_of_eight<bf16, width>(row, column, true).size()), 8u) << row << ", " << column;
    }
  }
}

template <class Element, int width>
void expect_free_copies() {
  for (int row = 0; row < 64; ++row) {
    EXPECT_EQ((quarters_of_eight<Element, width>(row, 0, false).size()), 8u) << row;
  }
}

// The two ways in which lanes read single floats: eight rows of four columns, and rows 2 t of eight columns.
template <int width>
void expect_free_floats() {
  using Layout = TileLayout<float, width>;
  for (int row = 0; row < 64; row += 8) {
    for (int column = 0; column < width; column += 8) {
      for (int odd = 0; odd < 2; ++odd) {
        std::set<int> left, right;
        for (int lane = 0; lane < 32; ++lane) {
          left.insert(Layout::at(row + lane / 4, column + 4 * odd + lane % 4) % 32);
          right.insert(Layout::at(row + lane % 4 * 2 + odd, column + lane / 4) % 32);
        }
        EXPECT_EQ(left.size(), 32u) << row << ", " << column;
        EXPECT_EQ(right.size(), 32u) << row << ", " << column;
      }
    }
  }
}

// Products find the places of a lane by turning bits of the first one's round.
template <int width>
void expect_columns_in_bits() {
  using Layout = TileLayout<bf16, width>;
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < width; ++column) {
      EXPECT_EQ(Layout::at(row, column % 16) ^ (column / 16 * 16), Layout::at(row, column)) << row;
      EXPECT_EQ(Layout::at(row % 16, column) + row / 16 * 16 * Layout::stride, Layout::at(row, column));
    }
  }
}

TEST(AttentionTiles, ColumnsOfARowDifferInTheirBits) {
  expect_columns_in_bits<32>();
  expect_columns_in_bits<64>();
  expect_columns_in_bits<128>();
}

TEST(AttentionTiles, EveryElementHasAPlaceOfItsOwn) {
  expect_places_of_their_own<bf16, 32>();
  expect_places_of_their_own<bf16, 64>();
  expect_places_of_their_own<bf16, 128>();
  expect_places_of_their_own<float, 32>();
  expect_places_of_their_own<float, 64>();
  expect_places_of_their_own<float, 128>();
}

TEST(AttentionTiles, MatricesComeFromAllBanks) {
  expect_free_matrices<32>();
  expect_free_matrices<64>();
  expect_free_matrices<128>();
}

TEST(AttentionTiles, FragmentsOfFloatsComeFromAllBanks) {
  expect_free_floats<32>();
  expect_free_floats<64>();
  expect_free_floats<128>();
}

TEST(AttentionTiles, CopiesGoToAllBanks) {
  expect_free_copies<bf16, 64>();
  expect_free_copies<bf16, 128>();
  expect_free_copies<float, 32>();
  expect_free_copies<float, 64>();
  expect_free_copies<float, 128>();
}

TEST(AttentionTiles, FitTheSharedMemoryOfConsumerCards) {
  EXPECT_EQ((Tile<bf16, 64, 64>::bytes), 8192);
  EXPECT_LE((3 * Tile<float, 64, 128>::bytes), 99 * 1024);
}

}  // namespace
}  // namespace bigbird::kernels::cuda
