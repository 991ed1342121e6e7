// Files as the whole toolkit reads and writes them: "-" for the standard streams, BGZF and gzip seen through,
// every write checked, and outputs that appear whole or not at all. Paths are std::string;
// std::filesystem::path converts by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

bool file_exists(const std::string& path);
bool file_is_regular(const std::string& path);  // no pipe, device or folder
// Error{bad_input} where a file that will be read cannot be opened, before long work: nothing is read. "-",
// an empty path and addresses ("https://...") are taken as they come.
void require_readable(const std::string& path);
bool folder_exists(const std::string& path);
// True also for a folder that does not exist.
bool folder_is_empty(const std::string& path);
// What lies in a folder, hidden names too, in order.
std::vector<std::string> names_in(const std::string& folder);
// Creates the folder and its parents; no error when it exists.
void make_folders(const std::string& path);
void remove_folder(const std::string& path);
// The same in one step for whoever looks: under its name the folder is whole or gone, also when this process
// is killed meanwhile (the next one that writes the path then removes the rest). No error when there is none.
void discard_folder(const std::string& path);
// "a/b" for "a/b/c", "." for "c".
std::string parent_folder(const std::string& path);
bool has_suffix(const std::string& path, std::string_view suffix);

// The bytes of a file as stored (no decompression); "-" reads the standard input to its end. Whoever reads
// "-", here and below, gets Error{interrupted} once a stop was requested: the standard input ends then.
std::string read_file(const std::string& path);
// Whether a file is on the disk before it has its name: else a loss of power may leave an empty one.
enum class Synced { yes, no };
// The same in pieces of up to 256 KiB.
void read_pieces(const std::string& path, const std::function<void(std::string_view piece)>& take);
// Writes `text` under a temporary name, syncs it and renames it.
void write_text_atomic(const std::string& path, std::string_view text, Synced synced = Synced::yes);

// No line of a file that people have is longer (256 MiB): what is, is no text, or lost its line ends.
constexpr std::size_t longest_line = std::size_t{1} << 28;

// Bytes of a file or of the standard input ("-"); BGZF and gzip are recognised by content and decompressed,
// and a byte order mark of UTF-8 in front is dropped. Error when the file cannot be opened, is damaged, is
// BGZF without its end-of-file block or gzip without its trailer (cut short: said at once where the input can
// seek, else at its end, by read()), or is of a form that is recognised and not read (xz, zip, UTF-16, ...:
// htslib_handles.h).
class InputStream {
 public:
  explicit InputStream(const std::string& path);
  ~InputStream();
  InputStream(InputStream&&) noexcept;
  InputStream& operator=(InputStream&&) noexcept;

  // Up to `size` bytes; 0 only at the end.
  std::size_t read(char* buffer, std::size_t size);
  std::string read_all();
  // Gives the file's descriptor back until the next read: for who reads more files in turn than a process may
  // have open. No effect where the place cannot be found again (pipes, plain gzip).
  void rest();
  const std::string& path() const { return path_; }

 private:
  struct Handle;
  std::size_t read_bytes(char* buffer, std::size_t size);
  void look_at_begin();
  std::unique_ptr<Handle> handle_;
  std::string path_;
};

// Lines of an InputStream, without their \n or \r\n. Error for one of more than `longest` bytes.
class LineReader {
 public:
  enum class Descriptor { keep, rest };  // rest: as InputStream::rest() after every read

  explicit LineReader(const std::string& path, std::size_t longest = longest_line);
  LineReader(const std::string& path, Descriptor descriptor);

  // False at the end. The view is valid until the next call.
  bool next(std::string_view& line);
  // 1-based number of the line returned last; 0 before the first.
  std::uint64_t line_number() const { return line_number_; }
  const std::string& path() const { return input_.path(); }
  // "FILE:LINE", to open an error message with.
  std::string where() const;

 private:
  bool fill();

  InputStream input_;
  std::size_t longest_ = longest_line;
  Descriptor descriptor_ = Descriptor::keep;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::uint64_t line_number_ = 0;
};

// The Error for a line after `line_number` that is longer than `longest` bytes.
[[noreturn]] void throw_line_too_long(const std::string& path, std::uint64_t line_number,
                                      std::size_t longest);

// A file written beside its place (temporary_names.h), synced and renamed on commit(); removed when destroyed
// without it, and by the next process that writes the path when this one is killed. An existing path that is
// no regular file (/dev/full, a pipe) is written directly, and so is "-", the standard output. Of a path that
// an open OutputSet names, commit() leaves the renaming to the set (output_set.h). Unbuffered: write large
// pieces.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path, Synced synced = Synced::yes);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size);
  void commit();
  // Bytes written so far.
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  // The file that holds the bytes until commit(), for a library that writes by itself to a path.
  const std::string& written_path() const { return temporary_.empty() ? target_ : temporary_; }
  // True when path() is a device or a pipe, which is written directly and where nothing can be read back.
  bool direct() const { return temporary_.empty(); }

 private:
  void close_descriptor();

  std::string path_;
  std::string target_;     // path_ with symbolic links followed
  std::string temporary_;  // empty when written directly
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  Synced synced_;
};

// Buffered text or binary output to a path (through AtomicFile) or to the standard output ("-"). A path
// ending in .gz is written as BGZF by all threads (bgzf_writer.h); its bytes depend on the content only.
// Failed writes (disk full) throw Error{runtime} naming the file. Nothing appears at the path until close().
class OutputStream {
 public:
  explicit OutputStream(const std::string& path);
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  void write(std::string_view text);
  // Flushes, checks, and puts the file in place. Without it, destruction discards a file (not what went to
  // "-").
  void close();
  const std::string& path() const { return path_; }

 private:
  struct Handle;
  void flush();
  std::unique_ptr<Handle> handle_;
  std::string path_;
};

// A folder written beside its place (temporary_names.h) whose files are synced and which takes its name on
// commit(); removed when destroyed without it, and by the next process that writes the path when this one is
// killed. With replace, an existing folder is exchanged in one step where the system can (else renamed
// aside) and then removed; without, an existing non-empty target is an Error at construction.
class AtomicFolder {
 public:
  explicit AtomicFolder(const std::string& path, bool replace = false);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  // Where to write until commit().
  const std::string& path() const { return temporary_; }
  std::string file(const std::string& name) const { return temporary_ + "/" + name; }
  void commit();

 private:
  std::string target_;
  std::string temporary_;
  bool replace_ = false;
  bool committed_ = false;
};

// A read-only memory map of a regular file. The bytes live as long as the object. Movable.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // The bytes [begin, end) need not stay in memory: for a file that is read once from end to end, and then
  // here and there. They may be read again at any time.
  void release(std::size_t begin, std::size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
};

// True for what exists and can be read once only, from its beginning: a pipe, a socket, a terminal.
bool is_stream_only(const std::string& path);
// Error{bad_input} "PATH: can be read only once, and WHY" for such a path.
void refuse_stream(const std::string& path, const std::string& why);

// Bytes of a regular file at any place, as stored. Safe for concurrent calls; nothing is mapped, so that a
// file that is cut meanwhile is an Error and no signal.
class RandomFile {
 public:
  // Error{bad_input} for what cannot be opened, or is no regular file.
  explicit RandomFile(const std::string& path);
  ~RandomFile();
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  std::int64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // Up to `size` bytes from `offset`; fewer only where the file ends.
  std::size_t read(std::int64_t offset, void* buffer, std::size_t size) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

// For lib/io, which puts files in their places and says why they cannot be written or read.
[[noreturn]] void throw_cannot_write(const std::string& path, int error);
// Error{bad_input}; of ENOMEM Error{environment}.
[[noreturn]] void throw_cannot_read(const std::string& path, int error);
// A rename in the folder outlives a loss of power from then on.
void sync_folder(const std::string& path);

}  // namespace bigbird
