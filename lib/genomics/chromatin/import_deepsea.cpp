// Importing the DeepSEA bundle; see import_deepsea.h.
#include "lib/genomics/chromatin/import_deepsea.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/genomics/chromatin/deepsea_matrix.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/fasta_stream.h"

namespace bigbird {
namespace {

constexpr std::size_t bins_per_task = 512;
constexpr std::int64_t bases_per_fetch = 1 << 17;  // neighbouring bins are compared with one piece of genome
constexpr const char* order_hint =
    "use the published allTFs.pos.bed, unsorted, with the matrices it belongs to";

// Where the samples of DeepSEA's matrices lie in the genome, and whether their sequences agree with it.
class DeepseaBins {
 public:
  // All lines of the BED (16 bytes each in memory). Errors name file and line: a contig that the genome does
  // not have, bins of unequal length or beyond their contig.
  DeepseaBins(const std::string& path, const std::string& fasta);

  const std::vector<Contig>& contigs() const { return names_.contigs(); }
  std::int64_t bin_length() const { return length_; }
  // Bins of a split, in the order of its samples: `count` lines from `first` for train and valid, those of
  // chr8 and chr9 for test. Error when there are not exactly `count`, or train and valid touch chr8 or chr9.
  std::vector<ChromatinBin> split(Split split, std::int64_t first, std::int64_t count) const;
  // Compares letters [bins][positions] with the genome, every `every`-th bin of the split (`index`: of the
  // first one). Returns how many were compared. Error naming the bin where they differ.
  std::uint64_t check(const std::vector<ChromatinBin>& bins, std::size_t index, std::size_t count,
                      const std::string& letters, std::int64_t positions, std::int64_t every,
                      const std::string& source);

 private:
  std::string path_;
  Fasta fasta_;
  ContigNames names_;
  std::int64_t length_ = 0;
  std::vector<ChromatinBin> lines_;
  std::vector<Fasta> handles_;  // one for each thread
};

DeepseaBins::DeepseaBins(const std::string& path, const std::string& fasta)
    : path_(path), fasta_(fasta), names_(fasta_.contigs()) {
  BedReader reader(path, 3);
  BedRecord record;
  std::string name;
  std::uint32_t contig = 0;
  while (reader.next(record)) {
    if (record.chrom != name) {
      name = record.chrom;
      contig = static_cast<std::uint32_t>(names_.require(name, reader.where()));
    }
    const std::int64_t length = record.end - record.begin;
    if (lines_.empty()) length_ = length;
    if (length != length_ || length <= 0) {
      throw_bad_input(
          fmt::format("{}: a bin of {} bp, and the first has {}", reader.where(), length, length_),
          order_hint);
    }
    if (record.end > names_[contig].length) {
      throw_bad_input(fmt::format("{}: {}-{} is beyond {} of {} bp", reader.where(), record.begin, record.end,
                                  name, names_[contig].length),
                      "bins and genome must be of one assembly (hg19)");
    }
    lines_.push_back({contig, Split::none, record.begin});
  }
  if (lines_.empty()) throw_bad_input(path + ": no bin", order_hint);
  for (int i = 0; i < kernels::thread_count(); ++i) handles_.push_back(fasta_.clone());
}

std::vector<ChromatinBin> DeepseaBins::split(Split split, std::int64_t first, std::int64_t count) const {
  std::vector<bool> is_test(names_.size());
  for (const char* name : {"chr8", "chr9"}) {
    if (const auto contig = names_.find(name)) is_test[*contig] = true;
  }
  std::vector<ChromatinBin> bins;
  const auto add = [&](ChromatinBin bin) {
    bin.split = split;
    bins.push_back(bin);
  };
  if (split == Split::test) {
    for (const ChromatinBin& bin : lines_) {
      if (is_test[bin.contig]) add(bin);
    }
    if (static_cast<std::int64_t>(bins.size()) != count) {
      throw_bad_input(fmt::format("{}: {} lines of chr8 and chr9, and the test matrix holds {} bins", path_,
                                  bins.size(), count),
                      order_hint);
    }
    return bins;
  }
  if (first + count > static_cast<std::int64_t>(lines_.size())) {
    throw_bad_input(fmt::format("{}: {} lines, and the {} matrix ends at line {}", path_, lines_.size(),
                                split_side_name(split), first + count),
                    order_hint);
  }
  for (std::int64_t line = first; line < first + count; ++line) {
    const ChromatinBin& bin = lines_[static_cast<std::size_t>(line)];
    if (is_test[bin.contig]) {
      throw_bad_input(fmt::format("{}: bin {} is on {}, which is of the test set, and in the {} matrix",
                                  path_, line + 1, names_[bin.contig].name, split_side_name(split)),
                      order_hint);
    }
    add(bin);
  }
  return bins;
}

std::uint64_t DeepseaBins::check(const std::vector<ChromatinBin>& bins, std::size_t index, std::size_t count,
                                 const std::string& letters, std::int64_t positions, std::int64_t every,
                                 const std::string& source) {
  if (every <= 0) return 0;
  const std::int64_t before = (positions - length_) / 2;
  const auto begin_of = [&](const ChromatinBin& bin) {
    return std::clamp<std::int64_t>(bin.begin - before, 0, names_[bin.contig].length - positions);
  };
  const std::size_t tasks = (count + bins_per_task - 1) / bins_per_task;
  std::vector<std::uint64_t> compared(tasks, 0);
  std::vector<std::size_t> bad(tasks, count);
  kernels::parallel_for_worker(tasks, [&](std::size_t task, int worker) {
    throw_if_cancelled();
    Fasta& genome = handles_[static_cast<std::size_t>(worker)];
    std::string piece;
    std::int64_t piece_begin = 0, piece_end = 0;
    std::uint32_t contig = 0;
    for (std::size_t i = task * bins_per_task; i < std::min(count, (task + 1) * bins_per_task); ++i) {
      if ((index + i) % static_cast<std::size_t>(every) != 0) continue;
      const ChromatinBin& bin = bins[index + i];
      ++compared[task];
      if (names_[bin.contig].length < positions) {
        bad[task] = i;
        return;
      }
      const std::int64_t begin = begin_of(bin);
      if (bin.contig != contig || begin < piece_begin || begin + positions > piece_end) {
        // As far as the bins of this task that follow without a jump.
        contig = bin.contig;
        piece_begin = begin;
        piece_end = begin + positions;
        for (std::size_t j = i + 1; j < std::min(count, (task + 1) * bins_per_task); ++j) {
          const ChromatinBin& next = bins[index + j];
          const std::int64_t end = begin_of(next) + positions;
          if (next.contig != contig || end < piece_end || end - piece_begin > bases_per_fetch) break;
          if (begin_of(next) > piece_end + positions) break;
          piece_end = end;
        }
        piece = genome.fetch(contig, piece_begin, piece_end);
      }
      const auto length = static_cast<std::size_t>(positions);
      const std::string_view expected =
          std::string_view(piece).substr(static_cast<std::size_t>(begin - piece_begin), length);
      if (expected != std::string_view(letters).substr(i * length, length)) {
        bad[task] = i;
        return;
      }
    }
  });
  const auto first = std::find_if(bad.begin(), bad.end(), [&](std::size_t i) { return i < count; });
  if (first != bad.end()) {
    const ChromatinBin& bin = bins[index + *first];
    throw_bad_input(
        fmt::format(
            "{}: the sequence of sample {} is not the one of {} around bin {}:{}-{} of {}: wrong genome or "
            "wrong bins",
            source, index + *first + 1, fasta_.path(), names_[bin.contig].name, bin.begin,
            bin.begin + length_, path_),
        "the genome is GRCh37 (hg19); bins and matrices must be of one bundle, in its order");
  }
  std::uint64_t total = 0;
  for (const std::uint64_t number : compared) total += number;
  return total;
}

constexpr std::int64_t published_train_lines = 2'200'000;
constexpr std::int64_t published_bin = 200;  // bp, in the middle of a sample
constexpr std::int64_t most_for_a_chunk = std::int64_t{4} << 30;
constexpr const char* sequence_file = "sequences.fa.gz";

class Importer {
 public:
  explicit Importer(const DeepseaImportOptions& options) : options_(options) {
    open_matrices();
    profiles_ = options.profiles.empty()
                    ? numbered_deepsea_profiles(static_cast<std::size_t>(matrices_.front()->profiles()))
                    : read_deepsea_profiles(options.profiles);
    if (static_cast<std::int64_t>(profiles_.size()) != matrices_.front()->profiles()) {
      throw_bad_input(fmt::format("{}: {} profiles, and {} holds {}", options.profiles, profiles_.size(),
                                  matrices_.front()->path(), matrices_.front()->profiles()),
                      "list a profile for each column of the label matrix");
    }
    positions_ = matrices_.front()->positions();
    const std::int64_t bin = place_bins();
    if (positions_ < bin) {
      throw_bad_input(fmt::format("{}: samples of {} bp, shorter than a bin of {}", matrices_.front()->path(),
                                  positions_, bin),
                      "DeepSEA's samples have 1,000 bp");
    }
    const std::int64_t before = (positions_ - bin) / 2;
    window_ = bins_ ? ModelWindow{"chromatin", options.left + bin + options.right, options.left, bin}
                    : ModelWindow{"chromatin", positions_, before, bin};
  }

  DeepseaImportSummary import() {
    const std::vector<std::string> comments =
        options_.provenance_in_tables ? provenance_lines(options_.provenance) : std::vector<std::string>{};
    ChromatinDatasetWriter writer(options_.output, options_.replace, contigs(), profiles_, window_, comments);
    std::unique_ptr<FastaWriter> sequences;
    if (!bins_) sequences = std::make_unique<FastaWriter>(writer.file(sequence_file));
    std::uint64_t total = 0;
    for (const auto& matrix : matrices_) total += static_cast<std::uint64_t>(bins_of(*matrix));
    Progress progress("import-deepsea", total, "bins");
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      add_matrix(i, writer, sequences.get(), progress);
      matrices_[i].reset();
    }
    if (sequences) sequences->close();
    summary_.bins = writer.bins();
    summary_.profiles = profiles_.size();
    writer.commit(bins_ ? path_from_folder(options_.fasta, options_.output) : sequence_file, facts());
    return summary_;
  }

 private:
  void open_matrices() {
    for (const std::string& path : options_.files) matrices_.push_back(std::make_unique<DeepseaMatrix>(path));
    if (matrices_.empty()) throw_usage("no matrix", message("give at least one file with `files`"));
    std::stable_sort(matrices_.begin(), matrices_.end(),
                     [](const auto& a, const auto& b) { return a->split() < b->split(); });
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const DeepseaMatrix& matrix = *matrices_[i];
      const DeepseaMatrix& first = *matrices_.front();
      sources_.push_back({matrix.path(), split_side_name(matrix.split()), matrix.samples()});
      if (i > 0 && matrix.split() == matrices_[i - 1]->split()) {
        throw_bad_input(fmt::format("{}: the second file of split {}", matrix.path(), sources_.back().split),
                        "give train.mat, valid.mat and test.mat once each");
      }
      if (matrix.positions() != first.positions() || matrix.profiles() != first.profiles()) {
        throw_bad_input(fmt::format("{}: {} positions and {} profiles, and {} has {} and {}", matrix.path(),
                                    matrix.positions(), matrix.profiles(), first.path(), first.positions(),
                                    first.profiles()),
                        "the files must be of one bundle");
      }
      if (options_.pairs && matrix.samples() % 2 != 0) {
        throw_bad_input(fmt::format("{}: {} samples, an odd number, are not pairs of both strands",
                                    matrix.path(), matrix.samples()),
                        message("`no_pairs` keeps every sample"));
      }
    }
  }

  std::int64_t bins_of(const DeepseaMatrix& matrix) const {
    return options_.pairs ? matrix.samples() / 2 : matrix.samples();
  }

  // Which bins the samples are, where their coordinates are given; the length of a bin.
  std::int64_t place_bins() {
    if (options_.bins.empty()) return published_bin;
    bins_ = std::make_unique<DeepseaBins>(options_.bins, options_.fasta);
    const DeepseaMatrix& first = *matrices_.front();
    const std::int64_t train = options_.train_lines            ? *options_.train_lines
                               : first.split() == Split::train ? bins_of(first)
                                                               : published_train_lines;
    for (const auto& matrix : matrices_) {
      places_.push_back(
          bins_->split(matrix->split(), matrix->split() == Split::train ? 0 : train, bins_of(*matrix)));
    }
    const std::int64_t length = options_.left + bins_->bin_length() + options_.right;
    for (const std::vector<ChromatinBin>& places : places_) {
      for (const ChromatinBin& bin : places) {
        const Contig& contig = bins_->contigs()[bin.contig];
        if (contig.length >= length) continue;
        throw_bad_input(fmt::format("{}: {} has {} bp, and a window has {}", options_.fasta, contig.name,
                                    contig.length, length),
                        message("choose a shorter window: smaller `left` and `right`"));
      }
    }
    return bins_->bin_length();
  }

  std::vector<Contig> contigs() const {
    if (bins_) return bins_->contigs();
    std::vector<Contig> records;
    for (const auto& matrix : matrices_) {
      records.push_back({split_side_name(matrix->split()), bins_of(*matrix) * positions_});
    }
    return records;
  }

  // Samples of one strand that are read at a time.
  std::int64_t slab_of(const DeepseaMatrix& matrix) const {
    const std::int64_t strands = options_.pairs ? 2 : 1;
    const std::int64_t each = matrix.bytes_per_sample() * strands, bins = bins_of(matrix);
    const std::int64_t chunk = std::min(matrix.samples_per_chunk(), bins);
    std::int64_t slab = std::clamp<std::int64_t>(options_.memory / each, 1, bins);
    if (chunk > slab && chunk * each <= most_for_a_chunk) {
      slab = chunk;
    } else if (chunk > slab) {
      log_warning(
          fmt::format("{}: {} samples are compressed together, too many for the memory: each is "
                      "unpacked {} times",
                      matrix.path(), chunk, (chunk + slab - 1) / slab));
    } else if (chunk > 0) {
      slab = slab / chunk * chunk;
    }
    log_info(fmt::format(
        "{}: {} samples of {} bp, {} profiles ({}); slabs of {} samples, about {:.0f} MB of memory",
        matrix.path(), matrix.samples(), positions_, matrix.profiles(), split_side_name(matrix.split()), slab,
        static_cast<double>(slab * each + matrix.resident_bytes()) / 1e6));
    return slab;
  }

  void add_matrix(std::size_t which, ChromatinDatasetWriter& writer, FastaWriter* sequences,
                  Progress& progress) {
    DeepseaMatrix& matrix = *matrices_[which];
    const std::int64_t bins = bins_of(matrix), slab = slab_of(matrix);
    const std::size_t stride = (profiles_.size() + 7) / 8;
    std::string letters;
    std::vector<std::uint8_t> labels;
    if (sequences != nullptr) sequences->begin(split_side_name(matrix.split()));
    for (std::int64_t begin = 0; begin < bins; begin += slab) {
      throw_if_cancelled();
      const std::int64_t end = std::min(bins, begin + slab);
      matrix.read_labels(begin, end, labels);
      matrix.read_letters(begin, end, letters);
      if (options_.pairs) check_pairs(matrix, begin, end, letters, labels);
      const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
      if (bins_) {
        summary_.genome_checked += bins_->check(places_[which], first, count, letters, positions_,
                                                options_.check_every, matrix.path());
      } else {
        sequences->append(letters);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const ChromatinBin bin =
            bins_ ? places_[which][first + i]
                  : ChromatinBin{static_cast<std::uint32_t>(which), matrix.split(),
                                 (begin + static_cast<std::int64_t>(i)) * positions_ + window_.target_offset};
        writer.write(bin, std::span(labels).subspan(i * stride, stride));
        if (sample(letters, i).find('N') != std::string_view::npos) ++summary_.samples_with_n;
      }
      progress.advance(static_cast<std::uint64_t>(count));
    }
  }

  std::string_view sample(const std::string& letters, std::size_t i) const {
    const auto length = static_cast<std::size_t>(positions_);
    return std::string_view(letters).substr(i * length, length);
  }

  // The other half of the file must hold the other strand of the same bins.
  void check_pairs(DeepseaMatrix& matrix, std::int64_t begin, std::int64_t end, const std::string& letters,
                   const std::vector<std::uint8_t>& labels) {
    const std::int64_t half = bins_of(matrix);
    matrix.read_labels(begin + half, end + half, other_labels_);
    matrix.read_letters(begin + half, end + half, other_letters_);
    const auto count = static_cast<std::size_t>(end - begin);
    const std::size_t stride = (profiles_.size() + 7) / 8;
    std::vector<char> wrong(count, 0);
    kernels::parallel_for(count, [&](std::size_t i) {
      const auto row = static_cast<std::ptrdiff_t>(i * stride),
                 next = static_cast<std::ptrdiff_t>((i + 1) * stride);
      if (!std::equal(labels.begin() + row, labels.begin() + next, other_labels_.begin() + row)) wrong[i] = 1;
      if (reverse_complement(sample(letters, i)) != sample(other_letters_, i)) wrong[i] = 2;
    });
    const auto found = std::find_if(wrong.begin(), wrong.end(), [](char w) { return w != 0; });
    if (found != wrong.end()) {
      const std::int64_t first = begin + (found - wrong.begin()) + 1;
      throw_bad_input(
          fmt::format("{}: samples {} and {} are not one bin on both strands: their {} differ", matrix.path(),
                      first, first + half, *found == 2 ? "sequences" : "labels"),
          message(
              "the published files hold all forward samples and then all reverse complements; `no_pairs` keeps "
              "every sample of another file"));
    }
    summary_.pairs_checked += count;
  }

  std::string facts() const {
    nlohmann::ordered_json json;
    json["source"] = "DeepSEA matrices";
    json["sequences"] = bins_ ? "genome, around the bins of " + options_.bins : "matrices, end to end";
    auto files = nlohmann::ordered_json::array();
    for (const Source& source : sources_) {
      files.push_back({{"file", source.path}, {"split", source.split}, {"samples", source.samples}});
    }
    json["matrices"] = files;
    json["sample_length"] = positions_;
    json["strands"] = options_.pairs ? "forward half kept; every pair was checked" : "every sample kept";
    json["pairs_checked"] = summary_.pairs_checked;
    json["bins_compared_with_genome"] = summary_.genome_checked;
    json["samples_with_n"] = summary_.samples_with_n;
    if (options_.with_provenance) {
      json["provenance"] = nlohmann::ordered_json::parse(provenance_json(options_.provenance));
    }
    return json_text(json);
  }

  struct Source {
    std::string path, split;
    std::int64_t samples = 0;
  };

  const DeepseaImportOptions& options_;
  std::vector<std::unique_ptr<DeepseaMatrix>> matrices_;
  std::vector<Source> sources_;
  std::vector<Profile> profiles_;
  std::int64_t positions_ = 0;
  std::unique_ptr<DeepseaBins> bins_;  // null without coordinates
  std::vector<std::vector<ChromatinBin>> places_;
  ModelWindow window_;
  std::string other_letters_;
  std::vector<std::uint8_t> other_labels_;
  DeepseaImportSummary summary_;
};

}  // namespace

DeepseaImportSummary import_deepsea(const DeepseaImportOptions& options) {
  if (options.bins.empty() != options.fasta.empty()) {
    throw_usage(
        message("`bins` and `fasta` belong together"),
        "with both, windows come from the genome; with neither, the matrices' own sequences are kept");
  }
  if (!options.bins.empty() && !options.pairs) {
    throw_usage(message("`no_pairs` with `bins`"), "coordinates are known for the published pairs only");
  }
  return Importer(options).import();
}

}  // namespace bigbird
