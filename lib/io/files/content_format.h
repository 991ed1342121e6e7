// Private to lib/io: what a file is by its first bytes, where no reader takes it as it is: other
// compressions, archives, genomes and tracks in binary forms, text that is not UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bigbird {

// As many first bytes as refuse_other_formats() looks at.
constexpr std::size_t format_bytes = 512;

// Error{bad_input} that names the form and the command that makes it readable, for a file that begins with
// `begin` (less than format_bytes of a shorter file): xz, bzip2, zstd, lz4, lzip, compress, zip, 7z, rar,
// tar; UTF-16 and UTF-32 with their byte order marks; 2bit, bigWig and bigBed.
void refuse_other_formats(std::string_view begin, const std::string& path);

}  // namespace bigbird
