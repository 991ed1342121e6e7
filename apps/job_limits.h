// What a verb takes from the Slurm job that it runs in (lib/core/environment.h): its threads, and the time
// after which it stops by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/core/environment.h"

namespace bigbird::apps {

// "90", "90s", "2m", "1h", "1d" as seconds. Error{usage} naming `option` for anything else.
std::int64_t parse_duration(const std::string& text, const std::string& option);

// A time limit as sbatch takes it, in seconds: "90" (minutes), "90:30", "4:00:00", "1-12", "1-12:30",
// "1-12:30:00"; nothing for "UNLIMITED" and "INFINITE". Error{usage} naming `option` for anything else.
std::optional<std::int64_t> parse_time_limit(const std::string& text, const std::string& option);

// One line for people: "Slurm job 12_3: 4 threads, 8.0 GB of memory, 58m20s left".
std::string grant_text(const SlurmGrant& grant);

// Has SIGTERM raised in this process `before` (as parse_duration) the end of the job: the verb saves and
// stops. Error{usage} where no end is known, Error{runtime} when less than that is left already.
void stop_before_end(const std::string& before);
// Whether that has happened.
bool time_is_up();

}  // namespace bigbird::apps
