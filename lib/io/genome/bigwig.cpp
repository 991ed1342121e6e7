// bigWig written through libBigWig; see bigwig.h. bigwig_reader.cpp reads.
//
// libBigWig reads its file back to build the zoom levels, does not notice every failed write, and
// then crashes or never ends. So it writes to a stream that cannot fail (FailSafeStore), which remembers that
// the disk did. And the finished file is opened again and read through: what comes back must be what was
// added.
#include "lib/io/genome/bigwig.h"

#define NOCURL  // local files only; spares the headers of libcurl
#include <bigWig.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

extern "C" {
#include <bwCommon.h>  // says nothing about C++ by itself
}

namespace bigbird {
namespace {

constexpr int zoom_levels = 10;         // at most; as many as the file's length asks for
constexpr std::size_t batch = 1 << 15;  // intervals given to the library at a time
constexpr std::uint32_t blocks_of_a_read =
    64;  // blocks of about 2,700 intervals in memory when it is read back

// A digest of intervals in their order (FNV-1a over 32-bit words).
class IntervalDigest {
 public:
  void add(std::uint32_t contig, std::uint32_t begin, std::uint32_t end, float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (const std::uint32_t word : {contig, begin, end, bits}) hash_ = (hash_ ^ word) * 0x100000001b3U;
    ++count_;
  }
  bool operator==(const IntervalDigest& other) const {
    return hash_ == other.hash_ && count_ == other.count_;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  std::uint64_t count_ = 0;
};

// A file behind a FILE*: what the disk refuses is kept in memory, so that a reader sees everything written.
class FailSafeStore {
 public:
  FailSafeStore() = default;
  ~FailSafeStore() {
    if (disk_ != nullptr) std::fclose(disk_);
  }
  FailSafeStore(const FailSafeStore&) = delete;
  FailSafeStore& operator=(const FailSafeStore&) = delete;

  // Puts itself between the library and its file; null when there is no memory for that.
  void attach(FILE*& stream) {
    disk_ = stream;
    descriptor_ = fileno(stream);
    stream = fopencookie(this, "w+", {&read, &write, &seek, nullptr});
  }
  // errno of the first write that failed; 0 when all came through.
  int error() const { return error_; }

 private:
  static ssize_t read(void* self, char* buffer, std::size_t size) {
    return static_cast<FailSafeStore*>(self)->read_at(buffer, static_cast<std::int64_t>(size));
  }
  static ssize_t write(void* self, const char* data, std::size_t size) {
    static_cast<FailSafeStore*>(self)->write_at(data, size);
    return static_cast<ssize_t>(size);
  }
  static int seek(void* self, off64_t* offset, int from) {
    auto& store = *static_cast<FailSafeStore*>(self);
    const std::int64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? store.place_ : store.end_;
    if (base + *offset < 0) return -1;
    store.place_ = *offset = base + *offset;
    return 0;
  }

  void write_at(const char* data, std::size_t size) {
    std::size_t done = 0;
    while (done < size && error_ == 0) {
      const ssize_t count =
          pwrite(descriptor_, data + done, size - done, place_ + static_cast<std::int64_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) error_ = errno;
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    if (done < size) {
      kept_.emplace_back(place_ + static_cast<std::int64_t>(done), std::string(data + done, size - done));
    }
    place_ += static_cast<std::int64_t>(size);
    end_ = std::max(end_, place_);
  }

  ssize_t read_at(char* buffer, std::int64_t size) {
    size = std::clamp<std::int64_t>(end_ - place_, 0, size);
    std::memset(buffer, 0, static_cast<std::size_t>(size));
    ssize_t count = pread(descriptor_, buffer, static_cast<std::size_t>(size), place_);
    while (count < 0 && errno == EINTR) {
      count = pread(descriptor_, buffer, static_cast<std::size_t>(size), place_);
    }
    for (const auto& [offset, text] : kept_) {  // the later ones over the earlier ones
      const std::int64_t begin = std::max(offset, place_);
      const std::int64_t end = std::min(offset + static_cast<std::int64_t>(text.size()), place_ + size);
      if (begin < end) {
        std::memcpy(buffer + (begin - place_), text.data() + (begin - offset),
                    static_cast<std::size_t>(end - begin));
      }
    }
    place_ += size;
    return size;
  }

  FILE* disk_ = nullptr;
  int descriptor_ = -1;
  int error_ = 0;
  std::int64_t place_ = 0, end_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> kept_;
};

// Closes without writing anything more.
struct CloseBigWig {
  void operator()(bigWigFile_t* file) const {
    file->isWrite = 0;
    bwClose(file);
  }
};
using BigWigHandle = std::unique_ptr<bigWigFile_t, CloseBigWig>;

class BigWigWriter : public TrackWriter {
 public:
  BigWigWriter(const std::string& path, const std::vector<Contig>& contigs)
      : order_(path, contigs, true), contigs_(contigs), file_(path) {
    if (file_.direct()) {
      throw_usage(path + ": a bigWig is written to a regular file only",
                  "give the name of a file, or write bedGraph");
    }
    std::vector<const char*> names;
    std::vector<std::uint32_t> lengths;
    for (const Contig& contig : contigs_) {
      if (contig.length > std::numeric_limits<std::uint32_t>::max()) {
        throw_bad_input(
            fmt::format("{}: {} is too long for a bigWig ({} bp)", path, contig.name, contig.length),
            "write bedGraph instead");
      }
      names.push_back(contig.name.c_str());
      lengths.push_back(static_cast<std::uint32_t>(contig.length));
    }
    handle_.reset(bwOpen(file_.written_path().c_str(), nullptr, "w"));
    if (!handle_) fail("cannot be opened for writing");
    store_.attach(handle_->URL->x.fp);
    if (handle_->URL->x.fp == nullptr) fail("no memory for its stream");
    if (bwCreateHdr(handle_.get(), zoom_levels) != 0) fail("no memory for its header");
    handle_->cl = bwCreateChromList(names.data(), lengths.data(), static_cast<std::int64_t>(names.size()));
    if (handle_->cl == nullptr) fail("no memory for its contigs");
    if (bwWriteHdr(handle_.get()) != 0) fail("cannot write the header");
    begins_.reserve(batch);
    ends_.reserve(batch);
    values_.reserve(batch);
  }

  ~BigWigWriter() override {
    if (!handle_ || finalized_ || handle_->writeBuffer == nullptr) return;
    // The library frees these only when it finishes a file.
    for (bwLL* link = handle_->writeBuffer->firstIndexNode; link != nullptr;) {
      bwLL* next = link->next;
      bwDestroyIndexNode(link->node);
      std::free(link);
      link = next;
    }
    handle_->writeBuffer->firstIndexNode = nullptr;
  }
  BigWigWriter(const BigWigWriter&) = delete;
  BigWigWriter& operator=(const BigWigWriter&) = delete;

  void add(std::size_t contig, std::int64_t begin, std::int64_t end, float value) override {
    order_.check(contig, begin, end, value);
    if (contig != contig_ || begins_.size() == batch) flush();
    if (contig != contig_) appending_ = false;
    contig_ = contig;
    begins_.push_back(static_cast<std::uint32_t>(begin));
    ends_.push_back(static_cast<std::uint32_t>(end));
    values_.push_back(value);
    added_.add(static_cast<std::uint32_t>(contig), begins_.back(), ends_.back(), value);
  }

  void close() override {
    flush();
    FILE* stream = handle_->URL->x.fp;
    finalized_ = true;
    const int failed = finalize();
    const bool unwritten = std::fflush(stream) != 0 || std::ferror(stream) != 0;
    if (failed != 0 || unwritten || store_.error() != 0) fail("cannot write the index");
    handle_.reset();
    check();
    file_.commit();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::string why = store_.error() == 0 ? "" : ": " + system_text(store_.error());
    throw_runtime(fmt::format("{}: bigWig: {}{}", file_.path(), what, why),
                  "check the space left on the disk and your rights in the folder; nothing was left behind");
  }

  void flush() {
    if (begins_.empty()) return;
    const auto count = static_cast<std::uint32_t>(begins_.size());
    // The library wants a contig's name for each interval of the call that names it: it is given one.
    std::uint32_t named = 0;
    int failed = 0;
    if (!appending_) {
      const char* name = contigs_[contig_].name.c_str();
      failed = bwAddIntervals(handle_.get(), &name, begins_.data(), ends_.data(), values_.data(), 1);
      named = 1;
    }
    if (failed == 0 && count > named) {
      failed = bwAppendIntervals(handle_.get(), begins_.data() + named, ends_.data() + named,
                                 values_.data() + named, count - named);
    }
    if (failed != 0 || store_.error() != 0) fail("cannot write intervals");
    appending_ = true;
    begins_.clear();
    ends_.clear();
    values_.clear();
  }

  // For its zoom levels the library asks for the intervals of every contig by name, and looks a name up from
  // the first one on: the square of their number. Those without intervals, which have no zoom levels either,
  // take the name of the first of them while it does.
  int finalize() {
    char** const names = handle_->cl->chrom;
    const std::vector<char*> kept(names, names + contigs_.size());
    char* empty = nullptr;
    for (std::size_t i = 0; i < contigs_.size(); ++i) {
      if (order_.seen(i)) continue;
      if (empty == nullptr) empty = names[i];
      names[i] = empty;
    }
    const int failed = bwFinalize(handle_.get());
    std::copy(kept.begin(), kept.end(), names);
    return failed;
  }

  // Reads the file back, contig by contig.
  void check() const {
    const BigWigHandle file(bwOpen(file_.written_path().c_str(), nullptr, "r"));
    if (!file || file->cl == nullptr || file->cl->nKeys != static_cast<std::int64_t>(contigs_.size())) {
      fail("cannot be read back");
    }
    IntervalDigest digest;
    for (std::size_t contig = 0; contig < contigs_.size(); ++contig) {
      if (!order_.seen(contig)) continue;
      const char* name = contigs_[contig].name.c_str();
      bwOverlapIterator_t* walk = bwOverlappingIntervalsIterator(
          file.get(), name, 0, static_cast<std::uint32_t>(contigs_[contig].length), blocks_of_a_read);
      while (walk != nullptr && walk->data != nullptr) {
        const bwOverlappingIntervals_t& found = *walk->intervals;
        for (std::uint32_t i = 0; i < found.l; ++i) {
          digest.add(static_cast<std::uint32_t>(contig), found.start[i], found.end[i], found.value[i]);
        }
        walk = bwIteratorNext(walk);
      }
      bwIteratorDestroy(walk);
    }
    if (!(digest == added_)) fail("what was read back differs from what was written");
  }

  TrackOrder order_;
  std::vector<Contig> contigs_;
  AtomicFile file_;
  FailSafeStore store_;  // outlives the handle, whose stream it serves
  BigWigHandle handle_;
  std::size_t contig_ = 0;
  bool appending_ = false, finalized_ = false;
  std::vector<std::uint32_t> begins_, ends_;
  std::vector<float> values_;
  IntervalDigest added_;
};

}  // namespace

std::unique_ptr<TrackWriter> make_bigwig_writer(const std::string& path, const std::vector<Contig>& contigs) {
  if (path == "-") {
    throw_usage("a bigWig cannot be written to the standard output",
                message("give its file name with `output`, or write bedGraph"));
  }
  return std::make_unique<BigWigWriter>(path, contigs);
}

}  // namespace bigbird
