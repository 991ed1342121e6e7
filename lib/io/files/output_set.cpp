// Outputs that appear together; see output_set.h.
#include "lib/io/files/output_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/temporary_names.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

std::mutex sets_mutex;
std::vector<OutputSet*> open_sets;  // the innermost last

std::string place_of(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : place.string();
}

bool is_device(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

std::string settings_of(const OutputName& first, const OutputName& second) {
  if (first.setting.empty() || second.setting.empty()) return "two outputs";
  return fmt::format("{} and {}", first.setting, second.setting);
}

// A file that was placed, and where what it replaced waits (empty: there was nothing).
struct Placed {
  std::string target;
  std::string aside;
};

// Puts a file in its place and keeps what was there. Returns 0, or the number of the error.
int place_beside(const std::string& temporary, const std::string& target, std::vector<Placed>& placed) {
  std::error_code ignored;
  const bool is_there = fs::is_regular_file(target, ignored);
  if (!is_there) {
    if (std::rename(temporary.c_str(), target.c_str()) != 0) return errno;
    placed.push_back({target, ""});
    return 0;
  }
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    placed.push_back({target, temporary});
    return 0;
  }
  // A file system that cannot exchange two names.
  const std::string aside = temporary_name(target, ".tmp.");
  if (std::rename(target.c_str(), aside.c_str()) != 0) return errno;
  placed.push_back({target, aside});
  return std::rename(temporary.c_str(), target.c_str()) == 0 ? 0 : errno;
}

void take_back(const std::vector<Placed>& placed) {
  for (const Placed& file : placed) {
    if (file.aside.empty()) {
      unlink(file.target.c_str());
    } else if (std::rename(file.aside.c_str(), file.target.c_str()) != 0) {
      throw_cannot_write(file.target, errno);
    }
  }
}

}  // namespace

OutputSet::OutputSet(const std::vector<OutputName>& names) {
  for (const OutputName& name : names) add(name);
  const std::lock_guard lock(sets_mutex);
  open_sets.push_back(this);
}

OutputSet::~OutputSet() {
  const std::lock_guard lock(sets_mutex);
  std::erase(open_sets, this);
  for (const Finished& file : finished_) unlink(file.temporary.c_str());
  for (const std::string& folder : folders_) rmdir(folder.c_str());  // fails where something is in it
}

void OutputSet::add(const OutputName& name) {
  if (name.path.empty()) return;
  const bool is_stdout = name.path == "-";
  Name added{name, is_stdout ? "-" : place_of(name.path)};
  for (const Name& other : names_) {
    if (other.place != added.place || (!is_stdout && is_device(added.place))) continue;
    if (is_stdout) {
      throw_usage(fmt::format("{} both go to stdout", settings_of(other.given, name)),
                  "give a file for one of them");
    }
    throw_usage(fmt::format("{}: {} name the same file", name.path, settings_of(other.given, name)),
                "give two");
  }
  names_.push_back(std::move(added));
}

void OutputSet::make_folder(const std::string& path) {
  if (folder_exists(path)) return;
  make_folders(path);
  folders_.push_back(path);
}

std::string OutputSet::written_path(const std::string& path) const {
  const std::string place = place_of(path);
  for (const Finished& file : finished_) {
    if (file.place == place) return file.temporary;
  }
  return path;
}

void require_different(const std::vector<OutputName>& names) {
  const OutputSet looked_at(names);
}

void close_together(const std::vector<std::string>& paths, const std::function<void()>& close) {
  OutputSet outputs({});
  for (const std::string& path : paths) outputs.add({"", path});
  close();
  outputs.commit();
}

OutputSet* OutputSet::naming(const std::string& place) {
  for (auto set = open_sets.rbegin(); set != open_sets.rend(); ++set) {
    const auto& names = (*set)->names_;
    if (std::any_of(names.begin(), names.end(), [&](const Name& name) { return name.place == place; }))
      return *set;
  }
  return nullptr;
}

void OutputSet::keep(Finished file) {
  for (const Finished& other : finished_) {
    if (other.place != file.place) continue;
    unlink(file.temporary.c_str());
    throw_usage(fmt::format("{}: two outputs go to this file", file.target), "give each its own");
  }
  finished_.push_back(std::move(file));
}

bool OutputSet::take(const std::string& path, const std::string& temporary, const std::string& target) {
  const std::lock_guard lock(sets_mutex);
  if (open_sets.empty()) return false;
  std::string place = place_of(path);
  OutputSet* const set = naming(place);
  if (set == nullptr) return false;
  set->keep({std::move(place), temporary, target});
  return true;
}

void OutputSet::commit() {
  const std::lock_guard lock(sets_mutex);
  std::vector<Finished> own;
  std::erase(open_sets, this);  // what is named by an outer set is that one's
  std::vector<Finished> finished = std::exchange(finished_, {});
  for (Finished& file : finished) {
    OutputSet* const outer = naming(file.place);
    outer != nullptr ? outer->keep(std::move(file)) : own.push_back(std::move(file));
  }
  open_sets.push_back(this);

  std::vector<Placed> placed;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool last = i + 1 == own.size();  // nothing comes after it that could fail
    const int error = last ? (std::rename(own[i].temporary.c_str(), own[i].target.c_str()) == 0 ? 0 : errno)
                           : place_beside(own[i].temporary, own[i].target, placed);
    if (error == 0) continue;
    const std::string target = own[i].target;
    for (; i < own.size(); ++i) unlink(own[i].temporary.c_str());
    take_back(placed);
    throw_cannot_write(target, error);
  }
  std::set<std::string> folders;
  for (const Finished& file : own) folders.insert(parent_folder(file.target));
  for (const std::string& folder : folders) sync_folder(folder);
  for (const Placed& file : placed) {
    if (!file.aside.empty()) unlink(file.aside.c_str());
  }
}

}  // namespace bigbird
