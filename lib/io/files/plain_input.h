// Private to lib/io/files: bytes of an htslib stream as they come. bgzf_read waits until it has all that was
// asked for; of a pipe whose writer pauses, the lines that are there can be handed on.
#pragma once

#include <htslib/bgzf.h>
#include <sys/types.h>

#include <cstddef>
#include <string>

namespace bigbird {

// Whether the path is a pipe, a terminal or a device, the standard input ("-") too.
bool comes_as_it_is_written(const std::string& path);

// As bgzf_read; of input that is not compressed no more than the next line, with its end. Calls of one file
// are all of this function.
ssize_t read_next_line(BGZF* file, char* buffer, std::size_t size);

}  // namespace bigbird
