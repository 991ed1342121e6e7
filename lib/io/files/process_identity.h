// Private to lib/io: which process of which machine this is, in a form that other machines can read in a
// shared folder, and whether such a process still runs.
#pragma once

#include <cstdint>
#include <string>

namespace bigbird {

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

}  // namespace bigbird
