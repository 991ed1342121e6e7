// Accesses of a warp put together by call site and number, and their wavefronts.
#include "kernels/cuda/emulation/bank_log.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace bigbird::kernels::cuda::emulation {
namespace {

constexpr std::size_t banks = 32;

// Wavefronts for the words of the lanes that are served together.
std::uint64_t wavefronts_of(std::vector<std::int64_t>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<std::uint64_t, banks> in_bank{};
  for (const std::int64_t word : words) ++in_bank[static_cast<std::size_t>(word) % banks];
  return *std::max_element(in_bank.begin(), in_bank.end());
}

const char* name(BankAccess access) {
  switch (access) {
    case BankAccess::load:
      return "load";
    case BankAccess::store:
      return "store";
    case BankAccess::matrix:
      return "ldmatrix";
    case BankAccess::copy:
      return "cp.async";
  }
  return "";
}

}  // namespace

void BankLog::add(int thread, BankAccess access, std::size_t bytes, std::int64_t at, const void* site,
                  Place slice) {
  const auto warp = static_cast<std::size_t>(thread / 32);
  if (open_.size() <= warp) open_.resize(warp + 1);
  open_[warp].push_back({site, 0, access, static_cast<std::uint32_t>(bytes), thread % 32, at, slice});
}

void BankLog::close(const std::string& kernel, int warp) {
  if (open_.size() <= static_cast<std::size_t>(warp)) return;
  std::vector<Access>& accesses = open_[static_cast<std::size_t>(warp)];
  if (accesses.empty()) return;
  // By site, then lane, each lane's in its order: so they are numbered; then by site and number.
  const auto same_lane = [](const Access& a, const Access& b) {
    return a.site == b.site && a.lane == b.lane;
  };
  std::stable_sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
    return std::tie(a.site, a.lane) < std::tie(b.site, b.lane);
  });
  for (std::size_t i = 1; i < accesses.size(); ++i) {
    accesses[i].number = same_lane(accesses[i - 1], accesses[i]) ? accesses[i - 1].number + 1 : 0;
  }
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
    return std::tie(a.site, a.number, a.lane) < std::tie(b.site, b.number, b.lane);
  });
  std::vector<std::int64_t> words;
  for (std::size_t begin = 0; begin < accesses.size();) {
    const Access& first = accesses[begin];
    std::size_t end = begin;
    while (end < accesses.size() && accesses[end].site == first.site && accesses[end].number == first.number)
      ++end;
    Use& use = uses_[{kernel, text(first.slice), first.access, first.bytes}];
    if (use.requests == 0) use = {kernel, first.access, first.bytes, text(first.slice), 0, 0, 0};
    ++use.requests;
    const int lanes = first.bytes <= 4 ? 32 : first.bytes == 8 ? 16 : 8;  // served together
    for (std::size_t i = begin; i < end;) {
      const int group = accesses[i].lane / lanes;
      words.clear();
      for (; i < end && accesses[i].lane / lanes == group; ++i) {
        for (std::int64_t byte = 0; byte < accesses[i].bytes; byte += 4)
          words.push_back((accesses[i].at + byte) / 4);
      }
      use.wavefronts += wavefronts_of(words);
      ++use.ideal;
    }
    begin = end;
  }
  accesses.clear();
}

std::vector<BankLog::Use> BankLog::uses() const {
  std::vector<Use> all;
  for (const auto& [key, use] : uses_) all.push_back(use);
  return all;
}

double BankLog::ratio(const std::string& part) const {
  std::uint64_t wavefronts = 0;
  std::uint64_t ideal = 0;
  for (const auto& [key, use] : uses_) {
    if (use.kernel.find(part) == std::string::npos) continue;
    wavefronts += use.wavefronts;
    ideal += use.ideal;
  }
  return ideal == 0 ? 0.0 : static_cast<double>(wavefronts) / static_cast<double>(ideal);
}

std::string BankLog::table() const {
  std::string lines;
  for (const Use& use : uses()) {
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.3f", use.ratio());
    for (const std::string& field :
         {use.kernel, std::string(name(use.access)), std::to_string(use.bytes), use.slice,
          std::to_string(use.requests), std::to_string(use.wavefronts), std::to_string(use.ideal)}) {
      lines += field + '\t';
    }
    lines += std::string(ratio) + '\n';
  }
  return lines;
}

BankLog* bank_log_of_environment() {
  struct Written {
    const char* file = std::getenv("BIGBIRD_EMULATION_BANKS");
    BankLog log;
    ~Written() {
      if (file != nullptr) std::ofstream(file) << log.table();
    }
  };
  static Written written;
  return written.file != nullptr ? &written.log : nullptr;
}

}  // namespace bigbird::kernels::cuda::emulation
