// What the verbs that do long work in chunks (lib/tasks/chunks.h) ask in the same words: --shard, --resume
// and --force.
#pragma once

#include <cstdint>
#include <string>

#include "apps/command_line.h"
#include "lib/tasks/chunked_outputs.h"
#include "lib/tasks/chunks.h"

namespace bigbird::apps {

// Bound to the options by add(); read after parsing.
class WorkOptions {
 public:
  // --shard, --resume, --force. `records`: what the chunks hold, in words; `merge`: the verb that puts shards
  // together.
  void add(Verb& verb, const std::string& records, const std::string& merge);
  // --chunk, for outputs that do not depend on it.
  void add_chunk(Verb& verb, const std::string& records, std::uint64_t size);
  // After parsing: the size where --chunk was not given, in place of that of add_chunk().
  void set_usual_chunk(std::uint64_t size);

  // Whether work in parts was asked for.
  bool asked() const { return !shard_.empty() || goes_on(); }
  // Error{usage} as parse_shard.
  Shard shard() const;
  // Error{usage} for --resume with --force.
  Restart restart(const Verb& verb) const;
  ChunkedWork work(const Verb& verb) const {
    return {chunk_, shard(), restart(verb), !shard_.empty(), asked()};
  }

 private:
  // Error{usage} for a word that --resume does not take.
  bool goes_on() const;

  std::string shard_;
  std::string resume_;  // "true", "auto"; CLI11's words for a flag with a value
  std::uint64_t chunk_ = 0;
  CLI::Option* chunk_option_ = nullptr;
};

}  // namespace bigbird::apps
