// `bigbird chunk`: reading the genome's index, cutting in parallel, writing in order; see chunk.h.
#include "lib/data/chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/io/files/bgzf_writer.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/excluded_regions.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

// Units and documents worked on at a time: enough for many cores, few enough to bound memory (a pass over the
// longest human chromosome is 4 MB of BED12, 64 documents are 6 MB of text).
constexpr std::size_t units_per_batch = 16;
constexpr std::size_t texts_per_batch = 64;

IntervalSet find_n(Fasta& fasta, std::size_t contig) {
  constexpr std::int64_t step = 8'000'000;
  const std::int64_t length = fasta.contigs()[contig].length;
  std::vector<IntervalSet::Interval> runs;
  for (std::int64_t begin = 0; begin < length; begin += step) {
    throw_if_cancelled();
    const std::string bases = fasta.fetch(contig, begin, std::min(length, begin + step));
    std::size_t at = bases.find('N');
    while (at != std::string::npos) {
      const std::size_t end = std::min(bases.find_first_not_of('N', at), bases.size());
      runs.push_back({begin + static_cast<std::int64_t>(at), begin + static_cast<std::int64_t>(end)});
      at = bases.find('N', end);
    }
  }
  return IntervalSet(std::move(runs));
}

// One pass over one chromosome: what one task draws and formats.
struct Unit {
  std::size_t chosen = 0;  // index into the chosen chromosomes
  int pass = 0;
  std::vector<Document> documents;
  FilterCounts dropped;
  std::int64_t first_number = 0;  // of its first document, 1-based
  std::string text;
};

void format_bed12(Unit& unit, const std::string& chrom, bool both_strands) {
  BedRecord record;
  record.chrom = chrom;
  record.columns = 12;
  std::int64_t number = unit.first_number;
  for (const Document& document : unit.documents) {
    record.begin = record.thick_begin = document.begin;
    record.blocks.clear();
    std::int64_t offset = 0;
    for (const std::int32_t length : document.sentence_lengths) {
      record.blocks.push_back({offset, length});
      offset += length;
    }
    record.end = record.thick_end = document.begin + offset;
    for (const char strand : {'+', '-'}) {
      if (strand == '-' && !both_strands) break;
      record.name = "doc" + std::to_string(number++);
      record.strand = strand;
      append_bed_line(unit.text, record);
    }
  }
}

void append_sentences(std::string& out, std::string_view bases, const std::vector<std::int32_t>& lengths) {
  std::size_t at = 0;
  for (const std::int32_t length : lengths) {
    out.append(bases.substr(at, static_cast<std::size_t>(length))).push_back('\n');
    at += static_cast<std::size_t>(length);
  }
  out.push_back('\n');
}

std::string document_text(Fasta& fasta, std::size_t contig, const Document& document, bool both_strands) {
  const std::string bases = fasta.fetch(contig, document.begin, document.end());
  std::string out;
  append_sentences(out, bases, document.sentence_lengths);
  if (both_strands) {
    append_sentences(out, reverse_complement(bases),
                     {document.sentence_lengths.rbegin(), document.sentence_lengths.rend()});
  }
  return out;
}

// Plain output through OutputStream, .gz through all threads: the document list of a whole genome is 0.4 GB.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (has_suffix(path, ".gz")) {
      bgzf_ = std::make_unique<ParallelBgzfWriter>(path);
    } else {
      plain_ = std::make_unique<OutputStream>(path);
    }
  }
  void write(std::string_view text) { bgzf_ ? bgzf_->write(text) : plain_->write(text); }
  void close() { bgzf_ ? bgzf_->close() : plain_->close(); }

 private:
  std::unique_ptr<ParallelBgzfWriter> bgzf_;
  std::unique_ptr<OutputStream> plain_;
};

void check_options(const ChunkOptions& options) {
  check_recipe(options.recipe);
  for (const double share : {options.max_n_document, options.max_n_sentence}) {
    if (!(share >= 0.0 && share <= 1.0))
      throw_usage(fmt::format("{} is not a fraction of N", share), "give a number from 0 to 1");
  }
}

}  // namespace

std::vector<std::size_t> choose_chromosomes(const std::vector<std::string>& wanted, const ContigNames& names,
                                            const std::string& fasta) {
  std::vector<std::size_t> chosen;
  if (wanted.empty()) {
    chosen = names.default_chromosomes();
    if (chosen.empty()) {
      throw_bad_input(
          fasta + ": none of the chromosomes 1-22, X, Y under any naming",
          message("name the contigs with `chromosomes` A,B or take every one with `chromosomes` all"));
    }
    return chosen;
  }
  if (wanted.size() == 1 && wanted[0] == "all") {
    for (std::size_t i = 0; i < names.size(); ++i) chosen.push_back(i);
    return chosen;
  }
  std::set<std::size_t> seen;
  for (const std::string& name : wanted) {
    const std::size_t contig = names.require(name, fasta);
    if (!seen.insert(contig).second) {
      throw_bad_input(message("`chromosomes`: {} is named twice", names[contig].name),
                      "name each chromosome once");
    }
    chosen.push_back(contig);
  }
  return chosen;
}

ChunkSummary chunk_genome(const ChunkOptions& options) {
  check_options(options);
  const bool limits_n = options.max_n_document < 1.0 || options.max_n_sentence < 1.0;
  std::unique_ptr<Fasta> fasta;
  if (limits_n || options.format == ChunkFormat::text) {
    fasta = std::make_unique<Fasta>(options.fasta);
  }
  const ContigNames names(fasta ? fasta->contigs() : load_fai(options.fasta));
  const std::vector<std::size_t> chosen = choose_chromosomes(options.chromosomes, names, options.fasta);

  std::vector<DocumentFilter> filters(chosen.size());
  const ExcludedRegions excluded(options.exclude, names);
  kernels::parallel_for(chosen.size(), [&](std::size_t i) {
    filters[i].excluded = excluded.of(chosen[i]);
    filters[i].max_n_document = options.max_n_document;
    filters[i].max_n_sentence = options.max_n_sentence;
    if (limits_n) {
      Fasta handle = fasta->clone();
      filters[i].n_bases = find_n(handle, chosen[i]);
    }
  });

  std::vector<Fasta> handles;  // one per thread, for text
  if (options.format == ChunkFormat::text) {
    for (int i = 0; i < kernels::thread_count(); ++i) handles.push_back(fasta->clone());
  }
  Output output(options.output);
  if (options.format == ChunkFormat::bed12) {
    for (const std::string& line : options.provenance) output.write("##" + line + "\n");
  }
  ChunkSummary summary;
  summary.chromosomes = static_cast<std::int64_t>(chosen.size());
  const auto passes = static_cast<std::size_t>(options.recipe.passes);
  const std::size_t unit_count = chosen.size() * passes;
  const std::int64_t copies = options.reverse_complement ? 2 : 1;
  Progress progress("chunk", unit_count, "chromosome passes");
  for (std::size_t first = 0; first < unit_count; first += units_per_batch) {
    throw_if_cancelled();
    std::vector<Unit> units(std::min(units_per_batch, unit_count - first));
    kernels::parallel_for(units.size(), [&](std::size_t i) {
      Unit& unit = units[i];
      unit.chosen = (first + i) / passes;
      unit.pass = static_cast<int>((first + i) % passes);
      const Contig& contig = names[chosen[unit.chosen]];
      unit.documents = filter_documents(draw_documents(canonical_contig_name(contig.name), contig.length,
                                                       unit.pass, options.seed, options.recipe),
                                        filters[unit.chosen], unit.dropped);
    });
    for (Unit& unit : units) {
      unit.first_number = summary.documents + 1;
      summary.documents += copies * static_cast<std::int64_t>(unit.documents.size());
      for (const Document& document : unit.documents) {
        summary.sentences += copies * static_cast<std::int64_t>(document.sentence_lengths.size());
        summary.bases += copies * document.bases();
      }
      summary.dropped.sentences_excluded += unit.dropped.sentences_excluded;
      summary.dropped.sentences_with_n += unit.dropped.sentences_with_n;
      summary.dropped.documents_with_n += unit.dropped.documents_with_n;
    }
    if (options.format == ChunkFormat::bed12) {
      kernels::parallel_for(units.size(), [&](std::size_t i) {
        format_bed12(units[i], names[chosen[units[i].chosen]].name, options.reverse_complement);
      });
      for (const Unit& unit : units) output.write(unit.text);
    } else {
      for (const Unit& unit : units) {
        for (std::size_t from = 0; from < unit.documents.size(); from += texts_per_batch) {
          std::vector<std::string> texts(std::min(texts_per_batch, unit.documents.size() - from));
          kernels::parallel_for_worker(texts.size(), [&](std::size_t i, int worker) {
            texts[i] = document_text(handles[static_cast<std::size_t>(worker)], chosen[unit.chosen],
                                     unit.documents[from + i], options.reverse_complement);
          });
          for (const std::string& text : texts) output.write(text);
        }
      }
    }
    progress.advance(units.size());
  }
  if (summary.documents == 0) {
    throw_bad_input(
        options.fasta + ": no document is left to write",
        "the chromosomes are too short for the recipe, or everything is excluded or above the N limits");
  }
  output.close();
  return summary;
}

}  // namespace bigbird
