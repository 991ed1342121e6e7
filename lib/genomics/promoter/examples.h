// The promoter example files: one labelled window a row, as `promoter build` writes and `promoter finetune`,
// `predict` and `evaluate` read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/inference/windows.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {

struct PromoterExample {
  std::string id;  // of the promoter; those of its negatives: negative_id() (negatives.h)
  std::string chrom;
  std::int64_t start = 0;  // 0-based half-open window on the genome
  std::int64_t end = 0;
  char strand = '+';
  int label = 0;         // 1 promoter, 0 negative
  std::string split;     // train, valid, test
  std::string sequence;  // on `strand`, A C G T N; its length is end - start
};

class PromoterExampleWriter {
 public:
  // Columns #id chrom start end strand label split sequence after the "##" lines.
  PromoterExampleWriter(const std::string& path, const std::vector<std::string>& provenance);
  void write(const PromoterExample& example);
  void close();

 private:
  OutputStream out_;
  TsvWriter table_;
};

class PromoterExampleReader {
 public:
  // Error naming the file when a column is missing.
  explicit PromoterExampleReader(const std::string& path);
  // False at the end. Errors name file and line: label other than 0 and 1, strand other than + and -, an
  // empty sequence or letters other than A C G T N (lower case is taken as upper).
  bool next(PromoterExample& example);
  std::string where() const { return table_.where(); }

 private:
  TsvReader table_;
  std::vector<std::size_t> columns_;
  std::vector<std::string_view> fields_;
};

// The examples of a file as windows, with their labels.
std::unique_ptr<WindowReader> read_example_windows(const std::string& path);

}  // namespace bigbird
