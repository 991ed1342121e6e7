// Which process writes a set of files, said in a file beside them that others look at first: two tasks of a
// cluster that were started for the same output (a requeued one while the first still lives, a shard that
// was submitted twice) do not work in each other's way.
//
// The file says who holds it (machine, process, since when) and is touched every few seconds while the
// holder lives; no locks, which network file systems lose or refuse. A lease is over when its process has
// ended (seen at once on the same host) or, of another host, when the file was not touched for a while by the
// clock of whoever waits: the clocks of two machines are never compared.
//
//   const Lease lease("out.tsv.parts.lease", LeaseBusy::wait);  // removed again at the end of its life
//   ...
//   lease.check();  // before each write that others must not do as well
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace bigbird {

enum class LeaseBusy {
  refuse,  // Error{runtime} that names the holder
  wait     // until the holder is done or gone; says once for whom. Error{interrupted} on a request to stop
};

struct LeaseTimes {
  std::chrono::milliseconds touched_every{10'000};
  // Not touched for so long, as seen from here: its holder is gone. With LeaseBusy::refuse, a lease of
  // another host is watched for as long before it is refused.
  std::chrono::milliseconds over_after{60'000};
};

class Lease {
 public:
  // `path` is in a folder that exists. Error{runtime}: held; it cannot be written.
  Lease(const std::string& path, LeaseBusy busy, LeaseTimes times = {});
  ~Lease();
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;

  // Error{runtime} naming who has it now, when this process was thought gone (it was stopped, or cut off
  // from the file system, for longer than a lease lasts) and another took over.
  void check() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
