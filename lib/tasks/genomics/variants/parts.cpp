// Finished chunks on disk; see parts.h. A part: magic, digest of its records (64 letters), the numbers of
// ChunkResult in the order of their declaration, FNV-1a of all that.
#include "lib/tasks/genomics/variants/parts.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <type_traits>

#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

constexpr std::string_view magic = "bigbird variants part 1\n";

template <typename T>
void put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
void put_all(std::string& bytes, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  put(bytes, std::uint64_t{values.size()});
  if (!values.empty()) bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Takes values off the front; the checksum has been compared before.
class Taker {
 public:
  Taker(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <typename T>
  void take(T& value) {
    need(sizeof value);
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  template <typename T>
  void take_all(std::vector<T>& values) {
    values.resize(count(sizeof(T)));
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), values.size() * sizeof(T));
    bytes_.remove_prefix(values.size() * sizeof(T));
  }
  // A number of things that take at least `size` bytes each.
  std::size_t count(std::size_t size) {
    std::uint64_t number = 0;
    take(number);
    if (number > bytes_.size() / size) need(bytes_.size() + 1);
    return static_cast<std::size_t>(number);
  }

 private:
  void need(std::size_t size) const {
    if (bytes_.size() < size)
      throw_bad_input(path_ + ": the part is cut short", "remove it and resume again");
  }
  std::string_view bytes_;
  const std::string& path_;
};

void put_allele(std::string& bytes, const AlleleResult& allele) {
  put(bytes, allele.reason);
  put(bytes, allele.flags);
  put(bytes, allele.n_share);
  put(bytes, allele.token_share);
  put(bytes, allele.difference);
  put(bytes, allele.log_fold_change);
  put(bytes, allele.profile);
  put(bytes, allele.e_value);
  put(bytes, allele.functional);
  put_all(bytes, allele.groups);
  put_all(bytes, allele.values);
}

void take_allele(Taker& taker, AlleleResult& allele) {
  taker.take(allele.reason);
  taker.take(allele.flags);
  taker.take(allele.n_share);
  taker.take(allele.token_share);
  taker.take(allele.difference);
  taker.take(allele.log_fold_change);
  taker.take(allele.profile);
  taker.take(allele.e_value);
  taker.take(allele.functional);
  taker.take_all(allele.groups);
  taker.take_all(allele.values);
}

}  // namespace

std::string records_digest(const std::vector<VcfRecord>& records) {
  Sha256 hash;
  std::string text;
  for (const VcfRecord& record : records) {
    text = record.chrom + '\t' + std::to_string(record.position) + '\t' + record.id + '\t' + record.ref;
    for (const std::string& alt : record.alts) text += '\t' + alt;
    text += '\t' + record.filter + '\n';
    hash.update(text.data(), text.size());
  }
  return hash.finish();
}

ChunkParts::ChunkParts(const std::string& folder, const std::string& identity, bool resume, bool force)
    : folder_(folder), identity_(identity) {
  if (folder_is_empty(folder_)) return;
  if (resume) {
    if (!file_exists(identity_path()) || read_file(identity_path()) != identity) {
      throw_bad_input(folder_ + ": finished parts of another run (another model, input, genome or options)",
                      "give the options of that run, or --force to begin anew");
    }
    made_ = true;
  } else if (force) {
    remove_folder(folder_);
  } else {
    throw_usage(folder_ + ": finished parts of a run that did not end",
                "--resume goes on from them, --force begins anew");
  }
}

std::string ChunkParts::part_path(std::uint64_t chunk) const {
  return fmt::format("{}/chunk-{:08}", folder_, chunk);
}

std::optional<ChunkResult> ChunkParts::load(std::uint64_t chunk, const std::string& digest) const {
  const std::string path = part_path(chunk);
  if (!file_exists(path)) return std::nullopt;
  const std::string stored = read_file(path);
  std::string_view bytes = stored;
  std::uint64_t checksum = 0;
  bool whole = bytes.size() >= magic.size() + digest.size() + sizeof checksum;
  if (whole) {
    std::memcpy(&checksum, bytes.data() + bytes.size() - sizeof checksum, sizeof checksum);
    bytes.remove_suffix(sizeof checksum);
    whole = bytes.substr(0, magic.size()) == magic && checksum == fnv1a_64(bytes);
  }
  if (!whole) throw_bad_input(path + ": the part is damaged", "remove it and resume again");
  bytes.remove_prefix(magic.size());
  if (bytes.substr(0, digest.size()) != digest) {
    throw_bad_input(path + ": the part is of other records than the input's",
                    "resume with the same input, or begin anew with --force");
  }
  bytes.remove_prefix(digest.size());
  Taker taker(bytes, path);
  ChunkResult result;
  taker.take(result.windows);
  taker.take(result.windows_asked);
  result.records.resize(taker.count(sizeof(std::uint64_t)));
  for (std::vector<AlleleResult>& record : result.records) {
    record.resize(taker.count(1));
    for (AlleleResult& allele : record) take_allele(taker, allele);
  }
  return result;
}

void ChunkParts::save(std::uint64_t chunk, const std::string& digest, const ChunkResult& result) {
  if (!made_) {
    make_folders(folder_);
    write_text_atomic(identity_path(), identity_);
    made_ = true;
  }
  std::string bytes(magic);
  bytes += digest;
  put(bytes, result.windows);
  put(bytes, result.windows_asked);
  put(bytes, std::uint64_t{result.records.size()});
  for (const std::vector<AlleleResult>& record : result.records) {
    put(bytes, std::uint64_t{record.size()});
    for (const AlleleResult& allele : record) put_allele(bytes, allele);
  }
  put(bytes, fnv1a_64(bytes));
  write_text_atomic(part_path(chunk), bytes);
}

void ChunkParts::remove() const {
  remove_folder(folder_);
}

}  // namespace bigbird
