// Scores of a chunk as bytes; see chunk_result_bytes.h. The numbers of ChunkResult stand in the order of
// their declaration.
#include "lib/tasks/genomics/variants/chunk_result_bytes.h"

#include "lib/tasks/chunk_bytes.h"

namespace bigbird {
namespace {

void put_allele(ChunkBytesWriter& bytes, const AlleleResult& allele) {
  bytes.put(allele.reason);
  bytes.put(allele.flags);
  bytes.put(allele.n_share);
  bytes.put(allele.token_share);
  bytes.put(allele.difference);
  bytes.put(allele.log_fold_change);
  bytes.put(allele.profile);
  bytes.put(allele.e_value);
  bytes.put(allele.functional);
  bytes.put_all(allele.tracks);
  bytes.put_all(allele.baselines);
  bytes.put_all(allele.groups);
  bytes.put_all(allele.values);
}

void take_allele(ChunkBytesReader& bytes, AlleleResult& allele) {
  bytes.take(allele.reason);
  bytes.take(allele.flags);
  bytes.take(allele.n_share);
  bytes.take(allele.token_share);
  bytes.take(allele.difference);
  bytes.take(allele.log_fold_change);
  bytes.take(allele.profile);
  bytes.take(allele.e_value);
  bytes.take(allele.functional);
  bytes.take_all(allele.tracks);
  bytes.take_all(allele.baselines);
  bytes.take_all(allele.groups);
  bytes.take_all(allele.values);
}

}  // namespace

std::string to_bytes(const ChunkResult& result) {
  ChunkBytesWriter bytes;
  bytes.put(result.windows);
  bytes.put(result.windows_asked);
  bytes.put_count(result.records.size());
  for (const std::vector<AlleleResult>& record : result.records) {
    bytes.put_count(record.size());
    for (const AlleleResult& allele : record) put_allele(bytes, allele);
  }
  return bytes.take();
}

ChunkResult chunk_result_from_bytes(std::string_view bytes, const std::string& path) {
  ChunkBytesReader reader(bytes, path);
  ChunkResult result;
  reader.take(result.windows);
  reader.take(result.windows_asked);
  result.records.resize(reader.take_count(sizeof(std::uint64_t)));
  for (std::vector<AlleleResult>& record : result.records) {
    record.resize(reader.take_count(1));
    for (AlleleResult& allele : record) take_allele(reader, allele);
  }
  return result;
}

}  // namespace bigbird
