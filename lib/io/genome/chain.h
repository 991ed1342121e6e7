// UCSC chain files (liftOver): positions of one assembly carried to another.
// Format and rules: UCSC "Chain Format" and liftOver; all positions 0-based half-open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/genome/contig_names.h"

namespace bigbird {

// liftOver's words for what became of an interval. `unknown_contig`: the chain file has no such sequence.
enum class LiftOutcome { lifted, deleted, partially_deleted, split, unknown_contig };
// "Deleted in new", ...; "Lifted" for lifted.
const char* lift_outcome_text(LiftOutcome outcome);

// What lies around an interval within its stretch of a chain, where neither assembly has a gap: how many
// bases the stretch goes on before and after it, in the old assembly. Both 0 where the interval lies in none.
struct ChainRoom {
  std::int64_t before = 0;
  std::int64_t after = 0;
  // The stretch ends where the contigs of both assemblies do: there is nothing beyond it.
  bool ends_before = false;
  bool ends_after = false;
};

struct Lifted {
  LiftOutcome outcome = LiftOutcome::deleted;
  std::string chrom;  // of the new assembly, in the chain file's naming
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool reversed = false;  // the strand flips
  ChainRoom room;
  bool ok() const { return outcome == LiftOutcome::lifted; }
};

// 0-based half-open.
struct ChainInterval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const ChainInterval&) const = default;
};

struct LiftedParts {
  LiftOutcome outcome = LiftOutcome::deleted;
  std::string chrom;
  bool reversed = false;
  // One for each part given, ascending in the new assembly: in the opposite order when reversed.
  std::vector<ChainInterval> parts;
  std::optional<ChainInterval> inner;
  ChainRoom room;  // of one part; of several it is not known
  bool ok() const { return outcome == LiftOutcome::lifted; }
};

// Immutable after construction: safe to share between threads.
class ChainFile {
 public:
  // Reads plain or gzip. Errors name file and line: malformed headers, sequences longer than 2^40, blocks
  // that do not add up to the header's ends.
  explicit ChainFile(const std::string& path);

  // Sequences of the old and of the new assembly that occur in it.
  const ContigNames& from() const { return from_; }
  const ContigNames& to() const { return to_; }

  // A base: lifted when it lies in an ungapped block; the chain with the highest score wins. Contig names are
  // reconciled.
  Lifted lift_base(std::string_view chrom, std::int64_t position) const;
  // An interval: lifted when at least min_match of its bases map on one chain (the highest-scoring such
  // chain); it then runs from the first to the last mapped base. Else: deleted (nothing maps), split (enough
  // bases map, but on several chains), partially_deleted. An empty interval is treated as the base at its
  // begin, and stays empty.
  Lifted lift_interval(std::string_view chrom, std::int64_t begin, std::int64_t end,
                       double min_match = 0.95) const;
  // The parts of one record (ascending, without overlap, none empty) carried together: by the highest-scoring
  // chain that holds at least min_match of their bases and some base of every part. Each runs from its first
  // to its last mapped base. `inner` (a BED's thick range) goes with them: nothing where that chain holds no
  // base of it.
  LiftedParts lift_parts(std::string_view chrom, const std::vector<ChainInterval>& parts,
                         const std::optional<ChainInterval>& inner, double min_match = 0.95) const;

 private:
  struct Block {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t length = 0;
  };
  struct Chain {
    double score = 0;
    std::int64_t from_begin = 0;
    std::int64_t from_end = 0;
    std::size_t to_contig = 0;
    bool reversed = false;  // `to` of the blocks counts on the reverse complement
    std::vector<Block> blocks;
  };
  // A contig of from_: its chains, highest score first, and which of them reach where. That is a search tree
  // laid out in a list: it takes as much memory as there are chains, whatever positions they claim.
  struct FromContig {
    std::vector<Chain> chains;
    std::vector<std::uint32_t> by_begin;  // indices into chains; [first, last) has its root in the middle
    std::vector<std::int64_t> reach;      // furthest end of a chain below (and at) that place of by_begin

    void index();
    std::int64_t fill_reach(std::size_t first, std::size_t last);
    void find(std::size_t first, std::size_t last, const ChainInterval& part,
              std::vector<std::uint32_t>& found) const;
  };
  // Indices of the chains that reach into [begin, end), highest score first.
  std::vector<std::uint32_t> chains_of(std::size_t contig, std::int64_t begin, std::int64_t end) const;
  struct Mapped;
  static Mapped map_on(const Chain& chain, const ChainInterval& part, std::vector<ChainInterval>& pieces);
  ChainRoom room_of(const Chain& chain, std::size_t contig, const ChainInterval& part) const;

  ContigNames from_;
  ContigNames to_;
  std::vector<FromContig> by_contig_;  // by contig of from_
};

}  // namespace bigbird
