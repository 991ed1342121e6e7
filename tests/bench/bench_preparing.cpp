// CPU seconds that `bigbird variants` takes for a variant before a model runs: reading, judging and cutting
// windows, tokenizing. bench_preparing VCF FASTA TOKENIZER [--window BP] [--strands 1|2] [--records N]
// [--rounds N]. A tokenizer is a folder. One thread; CPU time, so that other work on the machine matters
// little. Windows are tokenized each for itself and, as the verb does it, with the help of the last REF
// window, in turns.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/inference/windows.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/vcf.h"
#include "lib/tokenization/tokenizer.h"

namespace {

using namespace bigbird;

double cpu_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct Options {
  std::string vcf, fasta, tokenizer;
  std::int64_t window = 1000;
  int strands = 1;
  std::size_t records = 30000;
  int rounds = 3;
};

// A window, and where it was cut from: see ChunkScorer.
struct Placed {
  std::string sequence;
  std::size_t contig = 0;
  std::int64_t begin = 0, removed = 0;
  bool is_reference = false;
};

using Ids = std::vector<std::vector<std::int32_t>>;  // [windows * strands]

Ids tokenize(const Tokenizer& tokenizer, const std::vector<Placed>& windows, int strands, bool helped) {
  Ids ids;
  std::string known[2];
  std::vector<std::int32_t> known_ids[2];
  const Placed* last = nullptr;
  for (const Placed& window : windows) {
    const auto size = static_cast<std::int64_t>(window.sequence.size());
    const std::int64_t offset = last == nullptr ? 0 : window.begin - last->begin;
    const bool overlaps =
        helped && last != nullptr && last->contig == window.contig && std::abs(offset) < size;
    for (int strand = 0; strand < strands; ++strand) {
      const std::string bases = strand == 0 ? window.sequence : reverse_complement(window.sequence);
      std::int64_t offsets[] = {offset, offset + window.removed};
      if (strand == 1) offsets[0] = -offsets[0], offsets[1] = -offsets[1];
      const KnownEncoding before{known[strand], known_ids[strand], offsets};
      if (overlaps) {
        std::size_t taken = 0;
        encode_window_like(tokenizer, bases, 1 << 20, before, ids.emplace_back(), taken);
      } else {
        encode_window(tokenizer, bases, 1 << 20, ids.emplace_back());
      }
      if (!window.is_reference) continue;
      known[strand] = bases;
      known_ids[strand].assign(ids.back().begin() + 1, ids.back().end() - 1);
    }
    if (window.is_reference) last = &window;
  }
  return ids;
}

Options read_options(int argc, char** argv) {
  Options options;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) == 0 && i + 1 < argc) {
      const long value = std::strtol(argv[++i], nullptr, 10);
      if (word == "--window") options.window = value;
      if (word == "--strands") options.strands = static_cast<int>(value);
      if (word == "--rounds") options.rounds = static_cast<int>(value);
      if (word == "--records") options.records = static_cast<std::size_t>(value);
    } else {
      places.push_back(word);
    }
  }
  if (places.size() != 3) throw_usage("bench_preparing VCF FASTA TOKENIZER");
  options.vcf = places[0];
  options.fasta = places[1];
  options.tokenizer = places[2];
  return options;
}

void measure(const Options& options) {
  kernels::set_thread_count(1);
  const Fasta fasta(options.fasta);
  const ContigNames contigs(fasta.contigs());
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(options.tokenizer);
  AlleleRules rules;
  rules.window = options.window;
  rules.offset = (options.window - 1) / 2;

  const double begin = cpu_now();
  VcfReader reader(options.vcf, {});
  std::vector<VcfRecord> records;
  while (records.size() < options.records && reader.next(records.emplace_back())) {
  }
  if (records.size() < options.records) records.pop_back();
  const double read = cpu_now();

  // Windows that neighbours share are run once, as in a chunk of the verb's usual size.
  AlleleJudge judge(fasta, contigs, rules);
  constexpr std::size_t chunk = 1000;
  std::vector<Placed> windows;
  std::size_t scored = 0, seen = 0;
  std::unordered_set<std::string> known;
  for (const VcfRecord& record : records) {
    if (seen++ % chunk == 0) known.clear();
    for (const PlacedAllele& allele : judge.judge(record)) {
      if (allele.reason != SkipReason::none) continue;
      ++scored;
      if (known.insert(allele.reference).second)
        windows.push_back({allele.reference, allele.contig, allele.window_begin, 0, true});
      const auto size = [](const std::string& text) { return static_cast<std::int64_t>(text.size()); };
      if (known.insert(allele.alternative).second) {
        windows.push_back({allele.alternative, allele.contig, allele.window_begin,
                           size(allele.ref) - size(allele.alt), false});
      }
    }
  }
  const double placed = cpu_now();

  std::size_t tokens = 0;
  std::vector<double> alone, helped;
  for (int round = 0; round < options.rounds; ++round) {
    const double first = cpu_now();
    const Ids one = tokenize(*tokenizer, windows, options.strands, false);
    const double second = cpu_now();
    const Ids other = tokenize(*tokenizer, windows, options.strands, true);
    helped.push_back(cpu_now() - second);
    alone.push_back(second - first);
    if (one != other) throw_runtime("the ids are not the same");
    tokens = 0;
    for (const std::vector<std::int32_t>& ids : one) tokens += ids.size();
  }
  const auto median = [](std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
  };

  const auto each = [&](double seconds) { return 1e6 * seconds / static_cast<double>(scored); };
  std::printf(
      "%zu records, %zu variants scored, %zu windows of %lld bp, %d strand(s), %.1f tokens a window\n",
      records.size(), scored, windows.size(), static_cast<long long>(options.window), options.strands,
      static_cast<double>(tokens) / static_cast<double>(windows.size()) / options.strands);
  std::printf("CPU microseconds a variant: reading %.1f, windows %.1f\n", each(read - begin),
              each(placed - read));
  for (const auto& [name, seconds] :
       {std::pair{"alone", alone}, std::pair{"with the last REF window", helped}}) {
    const double tokenized = median(seconds), all = placed - begin + tokenized;
    std::printf(
        "each window %s: tokenizing %.1f (%.1f to %.1f), all %.1f; at 2,000 variants a second %.2f threads\n",
        name, each(tokenized), each(*std::min_element(seconds.begin(), seconds.end())),
        each(*std::max_element(seconds.begin(), seconds.end())), each(all), 2000e-6 * each(all));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(read_options(argc, argv));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.message().c_str(), error.hint().c_str());
    return 1;
  }
}
