// CPU seconds that `bigbird variants` takes for a variant before a model runs: reading, judging and cutting
// windows, tokenizing. bench_preparing VCF FASTA TOKENIZER [--window BP] [--strands 1|2] [--records N]. A
// tokenizer is a folder. One thread; CPU time, so that other work on the machine matters little.
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/vcf.h"
#include "lib/tasks/genomics/variants/alleles.h"
#include "lib/tasks/windows.h"
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
};

Options read_options(int argc, char** argv) {
  Options options;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) == 0 && i + 1 < argc) {
      const long value = std::strtol(argv[++i], nullptr, 10);
      if (word == "--window") options.window = value;
      if (word == "--strands") options.strands = static_cast<int>(value);
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
  std::vector<std::string> windows;
  std::size_t scored = 0, seen = 0;
  std::unordered_set<std::string> known;
  for (const VcfRecord& record : records) {
    if (seen++ % chunk == 0) known.clear();
    for (const PlacedAllele& allele : judge.judge(record)) {
      if (allele.reason != SkipReason::none) continue;
      ++scored;
      for (const std::string& window : {allele.reference, allele.alternative}) {
        if (known.insert(window).second) windows.push_back(window);
      }
    }
  }
  const double placed = cpu_now();

  std::size_t tokens = 0;
  std::vector<std::int32_t> ids;
  for (const std::string& window : windows) {
    for (int strand = 0; strand < options.strands; ++strand) {
      encode_window(*tokenizer, strand == 0 ? window : reverse_complement(window), 1 << 20, ids);
      tokens += ids.size();
    }
  }
  const double tokenized = cpu_now();

  const auto each = [&](double seconds) { return 1e6 * seconds / static_cast<double>(scored); };
  std::printf(
      "%zu records, %zu variants scored, %zu windows of %lld bp, %d strand(s), %.1f tokens a window\n",
      records.size(), scored, windows.size(), static_cast<long long>(options.window), options.strands,
      static_cast<double>(tokens) / static_cast<double>(windows.size()) / options.strands);
  std::printf("CPU microseconds a variant: reading %.1f, windows %.1f, tokenizing %.1f, all %.1f\n",
              each(read - begin), each(placed - read), each(tokenized - placed), each(tokenized - begin));
  std::printf("at 2,000 variants a second: %.2f threads\n", 2000e-6 * each(tokenized - begin));
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
