// lib/data holds what a model is pretrained on: documents, sentences, token shards, samples drawn from any
// position, masking. Every draw is a function of a seed and a place, so that a run goes on as it began. No
// model is known here.
//
// `bigbird chunk`: a genome cut into pretraining documents, written as BED12 or as text.
// The recipe and the filters are in lib/data/documents.h; here are the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/data/documents.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/most_n.h"

namespace bigbird {

enum class ChunkFormat {
  bed12,  // a line per document, a block per sentence; strand - for a reverse complement. Needs only the .fai
  text    // a sentence per line, a blank line between documents. Reads the FASTA
};

struct ChunkOptions {
  std::string fasta;         // FASTA or its .fai
  std::string output = "-";  // .gz writes BGZF
  ChunkFormat format = ChunkFormat::bed12;
  // Under any naming, in this order; empty: 1-22, X, Y; "all": every contig.
  std::vector<std::string> chromosomes;
  std::vector<std::string> exclude;            // BED files, as ExcludedRegions takes them
  double max_n_document = most_n_of_document;  // fractions of N, 0 to 1; below 1 the FASTA is read
  double max_n_sentence = 1.0;
  bool reverse_complement = false;  // every document a second time, on the reverse strand, right after itself
  std::uint64_t seed = 1;
  DocumentRecipe recipe;
  std::vector<std::string> provenance;  // lines for the head of a BED12, without their "##"; none for text
};

struct ChunkSummary {
  std::int64_t chromosomes = 0;
  std::int64_t documents = 0;  // as written: both strands count
  std::int64_t sentences = 0;
  std::int64_t bases = 0;
  FilterCounts dropped;
};

// Documents are ordered by chromosome, pass and position, and named doc1, doc2, ... in that order. The bytes
// depend on the options only, not on the number of threads. Blocks of a BED12 line are in ascending genomic
// order on both strands: on strand - the sentences are read from the last block to the first, each
// reverse-complemented. Errors: no chromosome to cut, unknown or repeated chromosomes, fractions
// outside [0, 1], nothing left to write; as ExcludedRegions.
ChunkSummary chunk_genome(const ChunkOptions& options);

// Indices of the contigs that a list of chromosomes means, as ChunkOptions says. `fasta` is for messages.
std::vector<std::size_t> choose_chromosomes(const std::vector<std::string>& wanted, const ContigNames& names,
                                            const std::string& fasta);

}  // namespace bigbird
