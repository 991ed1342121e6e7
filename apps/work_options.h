// What the verbs that work in parts (lib/parts/sharded_verbs.h) ask in the same words: --shard, --resume and
// --force.
#pragma once

#include <cstdint>
#include <string>

#include "apps/command_line.h"
#include "lib/parts/parts.h"

namespace bigbird::apps {

// Bound to the options by add(); read after parsing.
class WorkOptions {
 public:
  // --shard, --resume, --force. Error{runtime}: a verb that the table does not have.
  void add(Verb& verb);
  // --chunk-size, for outputs that do not depend on it. `otherwise`: the default in words, where it is not
  // always `size`.
  void add_chunk(Verb& verb, const std::string& records, std::uint64_t size,
                 const std::string& otherwise = "");
  // After parsing: the size where --chunk-size was not given, in place of that of add_chunk().
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
