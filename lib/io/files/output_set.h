// Outputs of one run that appear together or not at all. While a set is open, a file that is written under
// one of its names (AtomicFile, and all that writes through it) stays beside its place when it is finished,
// whole and synced; commit() gives all of them their names.
//
//   OutputSet outputs({{message("`output`"), options.output}, {message("`unmapped`"), options.unmapped}});
//   OutputStream out(options.output);
//   ...
//   out.close();       // whole, and not under its name yet
//   outputs.commit();  // both are there
//
// Only a process that is killed between two renames leaves some of them. What goes to stdout, a pipe or a
// device is written as it comes: close it before commit(). Files that no open set names are placed at once.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bigbird {

struct OutputName {
  std::string setting;  // for an error: message("`output`"), as it is typed in apps; may be empty
  std::string path;     // empty: none; "-": stdout, and no file
};

// Sets may be open within one another: what an outer one names as well is handed on to it by commit().
class OutputSet {
 public:
  // Error{usage}: two of them are one file (whatever the way that leads there), or both stdout.
  explicit OutputSet(const std::vector<OutputName>& names);
  // What was not committed is removed.
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  void add(const OutputName& name);
  // A folder for outputs, made where there is none; it goes with them, where it is empty then.
  void make_folder(const std::string& path);
  // Where a finished output can be read: beside its place until commit(). Of any other file: its own path.
  std::string written_path(const std::string& path) const;
  // Error{runtime}: one cannot be placed; then all are as they were before.
  void commit();

  // For AtomicFile: whether an open set took the finished file `temporary`, which is to be named `target`.
  // Error{usage}: it took another one for that name before.
  static bool take(const std::string& path, const std::string& temporary, const std::string& target);

 private:
  struct Name {
    OutputName given;
    std::string place;  // one text for one file, whatever the way that leads there
  };
  struct Finished {
    std::string place;
    std::string temporary;
    std::string target;
  };
  static OutputSet* naming(const std::string& place);
  void keep(Finished file);

  std::vector<Name> names_;
  std::vector<Finished> finished_;
  std::vector<std::string> folders_;  // that were made
};

// A set for the moment: `close` finishes the files, and they appear together.
void close_together(const std::vector<std::string>& paths, const std::function<void()>& close);
// That no two of them are one file, before the work begins. Error{usage}.
void require_different(const std::vector<OutputName>& names);

}  // namespace bigbird
