// Private to lib/io: names of what is written beside its place until it is whole, and what ended processes
// left under such names.
//
//   NAME.tmp.HOST-PID-START-RANDOM  a file
//   NAME.tmp-...                    a folder
//   NAME.old-...                    a folder set aside
//
// HOST stands for this start of this machine and this container (12 hexadecimal digits), PID and START for
// the process (its number, and when it began: numbers are used again), RANDOM keeps two writers apart and
// cannot be guessed. Of a NAME longer than 200 bytes the beginning is taken.
#pragma once

#include <cstdint>
#include <string>

namespace bigbird {

// Which process of which machine this is, in a form that other machines can read in a shared folder.
struct ProcessIdentity {
  std::string host;         // 12 hexadecimal digits: this start of this machine and this container
  std::int64_t pid = 0;     // its number there
  std::uint64_t start = 0;  // when it began, in clock ticks: numbers are used again; 0 where nobody says

  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity this_process();

// Only for processes of this host: those of others cannot be seen.
bool is_on_this_host(const ProcessIdentity& process);
// Of a process on this host: false when it has ended, a later one with its number notwithstanding.
bool is_running(const ProcessIdentity& process);

// A new name beside `target`; `kind` is ".tmp.", ".tmp-" or ".old-".
std::string temporary_name(const std::string& target, const char* kind);

// Opens a new file for writing; -1 with errno when anything is there already, be it a link that leads
// nowhere.
int create_new_file(const std::string& path);

// Removes what writers of `target` left when they were killed: those of this host that run no more, and those
// of other hosts after 30 days without a change. A folder is looked through once in a process. Never an
// error.
void remove_leftovers(const std::string& target);
// Removes what `process`, which is known to be gone, has left in `folder`, be it of another host; not what it
// set aside. Never an error.
void remove_leftovers_of(const ProcessIdentity& process, const std::string& folder);

}  // namespace bigbird
