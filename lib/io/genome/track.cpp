// Which kind of track a path is, the checks that both kinds share, and bedGraph; see track.h.
#include "lib/io/genome/track.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bigwig.h"

namespace bigbird {

TrackFormat track_format(const std::string& path) {
  return has_suffix(path, ".bw") || has_suffix(path, ".bigwig") || has_suffix(path, ".bigWig")
             ? TrackFormat::bigwig
             : TrackFormat::bedgraph;
}

TrackOrder::TrackOrder(std::string path, const std::vector<Contig>& contigs, bool in_order_of_contigs)
    : path_(std::move(path)), contigs_(contigs), seen_(contigs.size()), in_order_(in_order_of_contigs) {}

void TrackOrder::check(std::size_t contig, std::int64_t begin, std::int64_t end, float value) {
  const auto refuse = [&](const std::string& what) {
    const std::string name = contig < contigs_.size() ? contigs_[contig].name : fmt::format("#{}", contig);
    throw_bad_input(fmt::format("{}: interval {}:{}-{}: {}", path_, name, begin, end, what),
                    "sort the intervals by contig and position, without overlaps");
  };
  if (contig >= contigs_.size()) refuse("no such contig");
  if (begin < 0 || end <= begin || end > contigs_[contig].length) {
    refuse(fmt::format("is empty or not on its contig of {} bp", contigs_[contig].length));
  }
  if (!std::isfinite(value)) refuse("its value is not a finite number");
  if (contig != contig_) {
    if (seen_[contig]) refuse("its contig was left before");
    if (in_order_ && contig_ != none && contig < contig_) refuse("its contig is before the last one's");
    seen_[contig] = true;
    contig_ = contig;
  } else if (begin < end_) {
    refuse(fmt::format("begins before the end of the last one, {}", end_));
  }
  end_ = end;
}

namespace {

class BedGraphWriter : public TrackWriter {
 public:
  BedGraphWriter(const std::string& path, const std::vector<Contig>& contigs,
                 const std::vector<std::string>& comments)
      : order_(path, contigs, false), contigs_(contigs), out_(path) {
    for (const std::string& comment : comments) out_.write("##" + comment + "\n");
    out_.write("#chrom\tstart\tend\tvalue\n");
  }

  void add(std::size_t contig, std::int64_t begin, std::int64_t end, float value) override {
    order_.check(contig, begin, end, value);
    // The shortest digits that give the same float32 back.
    out_.write(fmt::format("{}\t{}\t{}\t{}\n", contigs_[contig].name, begin, end, value));
  }

  void close() override { out_.close(); }

 private:
  TrackOrder order_;
  const std::vector<Contig>& contigs_;
  OutputStream out_;
};

}  // namespace

std::unique_ptr<TrackWriter> make_track_writer(const std::string& path, TrackFormat format,
                                               const std::vector<Contig>& contigs,
                                               const std::vector<std::string>& comments) {
  if (format == TrackFormat::bigwig) return make_bigwig_writer(path, contigs);
  return std::make_unique<BedGraphWriter>(path, contigs, comments);
}

}  // namespace bigbird
