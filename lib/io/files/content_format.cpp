// Magic numbers of what is not read; see content_format.h.
#include "lib/io/files/content_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {
namespace {

using namespace std::string_view_literals;

struct ForeignFormat {
  std::string_view magic;
  std::string_view name;
  std::string_view hint;
};

// Of two that fit, the first.
constexpr ForeignFormat foreign_formats[] = {
    {"\xFD"
     "7zXZ\0"sv,
     "xz", "unpack it first (xz -dc FILE > NEW), or read it as -: xz -dc FILE | bigbird ... -"},
    {"\x28\xB5\x2F\xFD"sv, "zstd",
     "unpack it first (zstd -dc FILE > NEW), or read it as -: zstd -dc FILE | bigbird ... -"},
    {"\x04\x22\x4D\x18"sv, "lz4",
     "unpack it first (lz4 -dc FILE > NEW), or read it as -: lz4 -dc FILE | bigbird ... -"},
    {"LZIP\x01"sv, "lzip",
     "unpack it first (lzip -dc FILE > NEW), or read it as -: lzip -dc FILE | bigbird ... -"},
    {"\x1F\x9D"sv, "compress (.Z)",
     "unpack it first (gzip -dc FILE > NEW), or read it as -: gzip -dc FILE | bigbird ... -"},
    {"7z\xBC\xAF\x27\x1C"sv, "7z",
     "unpack it first (7z x FILE), or read it as -: 7z x -so FILE | bigbird ... -"},
    {"Rar!\x1A\x07"sv, "rar", "unpack it first: unrar x FILE"},
    {"\x1A\x41\x27\x43"sv, "2bit", "make a FASTA of it: twoBitToFa FILE genome.fa"},
    {"\x43\x27\x41\x1A"sv, "2bit", "make a FASTA of it: twoBitToFa FILE genome.fa"},
    {"\x26\xFC\x8F\x88"sv, "bigWig", "make text of it: bigWigToBedGraph FILE track.bedgraph"},
    {"\xEB\xF2\x89\x87"sv, "bigBed", "make text of it: bigBedToBed FILE regions.bed"},
    {"\xFF\xFE\0\0"sv, "UTF-32", "convert it first: iconv -f UTF-32 -t UTF-8 FILE > NEW"},
    {"\0\0\xFE\xFF"sv, "UTF-32", "convert it first: iconv -f UTF-32 -t UTF-8 FILE > NEW"},
    {"\xFF\xFE"sv, "UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
    {"\xFE\xFF"sv, "UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
};

[[noreturn]] void refuse_format(const std::string& path, std::string_view name, std::string_view hint) {
  throw_bad_input(fmt::format("{}: is {}, which is not read", path, name), std::string(hint));
}

bool is_bzip2(std::string_view begin) {
  if (begin.size() < 10 || !begin.starts_with("BZh") || begin[3] < '1' || begin[3] > '9') return false;
  // The first block, or the end of a file of nothing.
  return begin.substr(4, 6) == "1AY&SY" || begin.substr(4, 6) == "\x17\x72\x45\x38\x50\x90";
}

}  // namespace

void refuse_other_formats(std::string_view begin, const std::string& path) {
  for (const ForeignFormat& format : foreign_formats) {
    if (begin.starts_with(format.magic)) {
      const bool text = format.name.starts_with("UTF");
      if (text)
        throw_bad_input(fmt::format("{}: is {}, not UTF-8", path, format.name), std::string(format.hint));
      refuse_format(path, format.name, format.hint);
    }
  }
  if (is_bzip2(begin)) {
    refuse_format(path, "bzip2",
                  "unpack it first (bzip2 -dc FILE > NEW), or read it as -: bzip2 -dc FILE | bigbird ... -");
  }
  if (begin.starts_with("PK\x03\x04") || begin.starts_with("PK\x05\x06")) {
    constexpr std::size_t first_name = 30;
    const bool office = begin.substr(std::min(first_name, begin.size())).starts_with("[Content_Types].xml");
    refuse_format(path, office ? "an Office file (.xlsx, .docx)" : "a zip archive",
                  office ? "save it as CSV or text, in UTF-8"
                         : "unpack it first (unzip FILE), or read it as -: unzip -p FILE | bigbird ... -");
  }
  constexpr std::size_t tar_magic = 257;
  if (begin.size() > tar_magic && begin.substr(tar_magic).starts_with("ustar")) {
    refuse_format(path, "a tar archive",
                  "take the files out of it first (tar -xf FILE), or read one as -: tar -xOf FILE NAME | "
                  "bigbird ... -");
  }
  if (begin.starts_with("\x1F\x8B")) {
    throw_bad_input(fmt::format("{}: is packed by gzip twice", path),
                    "unpack it once: gzip -dc FILE > NEW.gz");
  }
}

}  // namespace bigbird
