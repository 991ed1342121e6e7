// The program: finds the verb, runs it, and turns what it throws into two lines and an exit status.
// 0 done, 1 bad input or run-time failure, 2 usage, 3 environment, 128 + signal after SIGINT or SIGTERM.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "apps/console.h"
#include "apps/job_limits.h"
#include "apps/option_names.h"
#include "apps/rank_options.h"
#include "apps/verb_command.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "kernels/devices.h"
#include "kernels/errors.h"
#include "kernels/parallel.h"
#include "kernels/ranks/ranks.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/process_memory.h"

namespace bigbird::apps {
namespace {

int no_input = -1;                 // /dev/null
const VerbRow* running = nullptr;  // its --help explains the options of a usage error

// The first signal asks the running work to save and stop; a second one does not wait. Work that waits on the
// standard input would not see the request: the read is begun again after the signal (SA_RESTART), by
// libraries too, and then meets the end. Its readers tell this end from that of the data (lib/io).
extern "C" void on_signal(int number) {
  if (cancel_signal() != 0) _exit(128 + number);
  request_cancel(number);
  const int error = errno;
  if (no_input >= 0) dup2(no_input, STDIN_FILENO);
  errno = error;
}

// A file that is mapped (weights, shards, arrays) was cut by somebody else: its pages are no longer there.
extern "C" void on_lost_page(int number, siginfo_t* what, void*) {
  constexpr std::string_view text =
      "bigbird: error: a file was cut short while it was read\n"
      "hint: run again once nothing writes to the inputs, the model or the cache of packed weights\n";
  if (what->si_code == BUS_ADRERR && write(STDERR_FILENO, text.data(), text.size()) >= 0) _exit(1);
  std::signal(number, SIG_DFL);  // damage of another kind: as without this handler
}

// The handler has a stack of its own: code that a library writes at run time may keep its stack pointer in
// buffers of the heap (oneDNN's did), and what the kernel puts below it when a signal comes would overwrite
// what lies before them. The signal goes to this thread, the first, whose stack it is.
void use_signal_stack() {
  alignas(64) static std::array<char, 64 << 10> memory;  // the registers of AMX alone take 8 KiB
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;  // a sanitizer's
  stack = {};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
}

// A file that is opened while a standard descriptor is closed (daemons, `<&- >&- 2>&-`) would take its
// number, and what is meant for stdout or stderr would end up in it. /dev/null the wrong way round: reads and
// writes still fail as those of a closed descriptor do.
void fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    const int filled = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (filled != descriptor) std::_Exit(3);  // the lowest number that is free: this one
  }
}

void install_signal_handlers() {
  no_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  use_signal_stack();
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;  // library calls need not know about EINTR
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction lost {};
  lost.sa_sigaction = on_lost_page;
  lost.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &lost, nullptr);
  // A file over the size limit (ulimit -f) then fails as a full disk does: with an error that is noticed.
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, nullptr);
}

std::string overview() {
  std::string text = fmt::format(
      "bigbird {}: train and run BigBird encoders (sparse attention) on DNA and text.\n\n"
      "Usage: bigbird VERB [options]\n",
      BIGBIRD_VERSION);
  std::string title;
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) {
      title = fmt::format("\n{}\n", row.name);
      continue;
    }
    text += title + verb_line(row);
    title.clear();
  }
  return text +
         "\nbigbird VERB --help (or: bigbird help VERB) explains a verb; bigbird --version, "
         "--version-only.\n";
}

// What the program can do here, a line each.
std::string version_text() {
  std::string text = fmt::format("bigbird {}\n", BIGBIRD_VERSION);
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<10} {}\n", name, value);
  };
  line("compiler", __VERSION__);
  line("processor", kernels::make_cpu_backend(kernels::Precision::fp32)->description());
  const kernels::CudaStatus cuda = kernels::cuda_status();
  line("CUDA", !cuda.versions.empty() ? cuda.versions : "no: " + cuda.why);
  line("ranks", "in a folder; by Open MPI, MPICH and NCCL where they are found");
  line("libraries", BIGBIRD_LIBRARIES);
  return text;
}

// Of words that only begin verbs: "text", "text qa".
std::string family_help(const std::string& begun) {
  std::string text = "Usage: bigbird " + begun + " VERB [options]\n\n";
  for (const VerbRow& row : verbs_after(begun)) text += verb_line(row);
  return text;
}

// Which verb argv names, and how many words its name took. Without a row argv has the first words of several
// verbs, alone or before --help.
struct Choice {
  const VerbRow* row = nullptr;
  int words = 0;
  std::string begun = {};  // the longest beginning of verbs, "text qa"
};

std::vector<std::string> names_of(std::span<const VerbRow> rows) {
  std::vector<std::string> names;
  for (const VerbRow& row : rows) {
    if (row.run != nullptr) names.emplace_back(row.name);
  }
  return names;
}

// Words of other tools and of papers for what a verb has another word for.
constexpr std::array<std::pair<const char*, const char*>, 14> synonyms = {{{"train", "finetune"},
                                                                           {"fit", "finetune"},
                                                                           {"fine-tune", "finetune"},
                                                                           {"score", "variants"},
                                                                           {"vep", "variants"},
                                                                           {"annotate", "variants"},
                                                                           {"call", "scan"},
                                                                           {"infer", "predict"},
                                                                           {"test", "evaluate"},
                                                                           {"eval", "evaluate"},
                                                                           {"mutate", "ism"},
                                                                           {"explain", "attribute"},
                                                                           {"answer", "qa"},
                                                                           {"summarise", "summarize"}}};

// The verbs that have this word, or what it is called here, in their name behind `begun`.
std::vector<std::string> verbs_with(const std::string& begun, const std::string& word) {
  std::string ours = word;
  for (const auto& [theirs, name] : synonyms) {
    if (word == theirs) ours = name;
  }
  std::vector<std::string> found;
  if (word == "train" && begun.empty()) found.emplace_back("pretrain");
  for (const VerbRow& row : verb_table()) {
    const std::string name = row.name;
    const std::string behind = begun.empty()                   ? name
                               : name.starts_with(begun + " ") ? name.substr(begun.size() + 1)
                                                               : "";
    if (row.run != nullptr && (" " + behind + " ").find(" " + ours + " ") != std::string::npos)
      found.push_back(name);
  }
  return found;
}

Choice choose_verb(const std::vector<std::string>& words) {
  std::string spoken;
  Choice choice;
  std::size_t next = 0;  // behind `begun`
  for (std::size_t i = 0; i < words.size() && i < most_verb_words && words[i][0] != '-'; ++i) {
    spoken += (i == 0 ? "" : " ") + words[i];
    if (const VerbRow* row = find_verb(spoken)) choice = {row, static_cast<int>(i) + 1};
    if (verbs_after(spoken).empty()) continue;
    choice.begun = spoken;
    next = i + 1;
  }
  const bool begun = !choice.begun.empty();
  const bool asks = next == words.size() || words[next] == "--help" || words[next] == "-h";
  if (choice.row != nullptr || (begun && asks)) return choice;

  const std::string family =
      fmt::format("choose one: {}", fmt::join(names_of(verbs_after(choice.begun)), ", "));
  if (begun && words[next][0] == '-')
    throw_usage(fmt::format("'{}' needs a {} word", choice.begun, next == 1 ? "second" : "third"), family);
  const std::string asked = begun ? choice.begun + " " + words[next] : words[0];
  if (const std::vector<std::string> meant = verbs_with(choice.begun, begun ? words[next] : words[0]);
      !meant.empty()) {
    throw_usage("there is no verb '" + asked + "'",
                fmt::format("{}: {}", meant.size() == 1 ? "it is" : "one of", fmt::join(meant, ", ")));
  }
  const std::vector<std::string> names = names_of(verb_table());
  std::string near = nearest(spoken, names);
  if (near.empty()) near = nearest(asked, names);
  throw_usage("there is no verb '" + asked + "'",
              (near.empty() ? "" : "did you mean `bigbird " + near + "`? ") +
                  (begun ? family : "`bigbird` without a verb lists the verbs"));
}

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::cerr << overview();
    return 2;
  }
  if (words[0] == "--version" || words[0] == "-V") {
    std::cout << version_text();
    return 0;
  }
  if (words[0] == "--version-only") {
    std::cout << BIGBIRD_VERSION << "\n";
    return 0;
  }
  const bool asks_help = words[0] == "help";
  if (words[0] == "--help" || words[0] == "-h" || (asks_help && words.size() == 1)) {
    std::cout << overview();
    return 0;
  }
  if (words[0][0] == '-')
    throw_usage("unknown option '" + words[0] + "'",
                "a verb comes first; `bigbird` without a verb lists the verbs");
  if (asks_help) words.erase(words.begin());
  const Choice choice = choose_verb(words);
  if (choice.row == nullptr) {
    std::cout << family_help(choice.begun);
    return 0;
  }
  if (asks_help) {
    std::string ask = "--help", all = "all";
    const bool asks_all = words.size() > static_cast<std::size_t>(choice.words) &&
                          words[static_cast<std::size_t>(choice.words)] == all;
    char* arguments[] = {words[static_cast<std::size_t>(choice.words) - 1].data(), ask.data(),
                         asks_all ? all.data() : nullptr, nullptr};
    return choice.row->run(asks_all ? 3 : 2, arguments);
  }
  running = choice.row;
  const int status = choice.row->run(argc - choice.words, argv + choice.words);
  if (status == 0) write_provenance_beside();
  return status;
}

// Data that never reached the disk must not end in status 0.
int finish_output(int status) {
  std::cout.flush();
  const bool written = std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || status != 0) return status;
  throw_runtime("standard output: not everything could be written", "is the disk full, or the reader gone?");
}

int status_of(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::interrupted:
      return cancel_signal() != 0 ? 128 + cancel_signal() : 1;
    case ErrorKind::usage:
      return 2;
    case ErrorKind::environment:
      return 3;
    default:
      return 1;
  }
}

int report(const Error& error) {
  if (error.kind() == ErrorKind::interrupted && cancel_signal() != 0) {
    const int number = cancel_signal();
    std::cerr << "bigbird: stopped "
              << (time_is_up()       ? "before the end of the job (--stop-before)"
                  : number == SIGINT ? "by SIGINT"
                                     : "by SIGTERM");
    if (error.message() != "interrupted") std::cerr << ": " << shown_line(error.message());
    std::cerr << "\n";
    return status_of(error);
  }
  std::cerr << "bigbird: error: " << shown_line(error.message()) << "\n";
  std::string hint = shown_line(error.hint());
  if (hint.empty() && error.kind() == ErrorKind::usage && running != nullptr)
    hint = fmt::format("see bigbird {} --help", running->name);
  if (!hint.empty()) std::cerr << "hint: " << hint << "\n";
  return status_of(error);
}

// Of several processes that run a verb together, one says what all of them met.
int end_with(const Error& error) {
  const RankFailure failure = share_failure(error, report);
  return failure.said_here ? report(failure.error) : status_of(failure.error);
}

int run_verb(int argc, char** argv) {
  try {
    const int status = finish_output(run(argc, argv));
    if (const std::string line = closing_line(); !line.empty()) std::cerr << line << "\n";
    return status;
  } catch (const Error& error) {
    return end_with(error);
  } catch (const kernels::OutOfMemory& error) {
    return end_with(Error(ErrorKind::environment, error.what(),
                          "run less at once (--batch, --batch-tokens), choose another --device, or cpu"));
  } catch (const kernels::RanksError& error) {
    return end_with(Error(ErrorKind::environment, error.what(), error.hint()));
  } catch (const kernels::DeviceError& error) {
    return end_with(
        Error(ErrorKind::environment, error.what(), "--device cpu runs the same on the processor"));
  } catch (const std::bad_alloc&) {
    return end_with(Error(ErrorKind::environment, "out of memory", memory_hint()));
  } catch (const std::filesystem::filesystem_error& error) {
    return end_with(Error(ErrorKind::runtime,
                          fmt::format("{}: {}", error.path1().string(), error.code().message()),
                          "check the path, and that another process does not change it"));
  } catch (const std::exception& error) {
    const auto* system = dynamic_cast<const std::system_error*>(&error);
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
      return end_with(
          Error(ErrorKind::environment, "no thread can be started: " + system->code().message(),
                "take fewer threads (-@), or raise the limits of the process (ulimit -u, ulimit -v)"));
    }
    if (is_json_problem(error)) {
      return end_with(Error(ErrorKind::bad_input, "a file of JSON that was read: " + json_problem(error),
                            "give files as verbs and transformers write them"));
    }
    return end_with(Error(ErrorKind::runtime, std::string("unexpected: ") + error.what(),
                          "this is a defect of bigbird; please report it with the command line"));
  }
}

int guarded(int argc, char** argv) {
  const int status = run_verb(argc, argv);
  close_team(status);
  return status;
}

// Threads that wait for each other sleep instead of spinning (docs/command-line.md 5.3). Measured in
// benchmarks/reliability.md, "Waiting threads sleep": on cores that others use too, threads that spin double
// the CPU time of short passes; on cores of their own nothing is gained by it.
constexpr std::array<const char*, 3> said_by = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};

// "-@ 1", "-@1", "--threads 1", "--threads=1", BIGBIRD_THREADS=1; the command line wins.
bool asks_for_one_thread(const std::vector<std::string_view>& words) {
  const char* set = std::getenv("BIGBIRD_THREADS");
  std::string_view threads = set == nullptr ? "" : set;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") break;
    for (const std::string_view option : {"-@", "--threads=", "--threads"}) {
      if (words[i] == option && i + 1 < words.size()) {
        threads = words[i + 1];
        break;
      }
      if (option != "--threads" && words[i].size() > option.size() && words[i].starts_with(option)) {
        threads = words[i].substr(option.size());
        break;
      }
    }
  }
  return threads == "1";
}

// Whether what was typed may come to work at all, as far as its words tell.
bool may_work(const std::vector<std::string_view>& words) {
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (words.empty() || words[0].starts_with("-")) return false;
  for (const char* verb : {"help", "man", "completion", "info"}) {
    if (words[0] == verb) return false;
  }
  return !has("-h") && !has("--help");
}

// Empty where the program was started as the argument of a loader (ld-linux-x86-64.so.2 bigbird ...), which
// would take the verb for its program the second time.
std::string own_path() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size < 0 || static_cast<std::size_t>(size) == path.size() ? 0 : static_cast<std::size_t>(size));
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-") || name.starts_with("ld.so") ? "" : path;
}

// To be called first in main. OpenMP's library reads how threads wait before main begins, so the program
// starts itself once more, with OMP_WAIT_POLICY=passive in its environment, where a verb may run several
// threads and nobody has said how they wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME). Returns where
// that is not so, and where it cannot be done.
#if defined(BIGBIRD_STD_THREADS)
void let_waiting_threads_sleep(int, char**) {}
#else
void let_waiting_threads_sleep(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  const bool is_said = std::any_of(said_by.begin(), said_by.end(),
                                   [](const char* name) { return std::getenv(name) != nullptr; });
  if (is_said || !may_work(words) || asks_for_one_thread(words) || kernels::thread_count() == 1) return;
  const std::string path = own_path();
  if (path.empty() || setenv("OMP_WAIT_POLICY", "passive", 0) != 0) return;
  execv(path.c_str(), argv);  // returns where it cannot be done
}
#endif

}  // namespace
}  // namespace bigbird::apps

int main(int argc, char** argv) {
  bigbird::apps::fill_standard_descriptors();
  bigbird::apps::let_waiting_threads_sleep(argc, argv);
  bigbird::apps::install_signal_handlers();
  return bigbird::apps::guarded(argc, argv);
}
