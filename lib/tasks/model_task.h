// What a fine-tuned genome model was made for: the window it reads and the profiles it predicts. Kept beside
// its weights as window.json and profiles.tsv, so that every verb that uses the model cuts the same windows
// and names its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bigbird {

// The window around a target, the stretch that the labels speak of: for chromatin a 200-bp bin, for promoters
// the one base of the TSS. Offsets count on the strand that the model reads.
struct ModelWindow {
  std::string task;                // "promoter" or "chromatin"
  std::int64_t length = 0;         // bp
  std::int64_t target_offset = 0;  // bases of the window before the target
  std::int64_t target_length = 1;  // bp
  bool operator==(const ModelWindow&) const = default;
};

// One output column. Names need not be unique (replicates share one): the column number is the key.
struct Profile {
  std::string name;
  std::string group;  // "TF", "DHS", "HM" ...; "." for none
  bool operator==(const Profile&) const = default;
};

// Table "#index name group", indices 0, 1, 2 ... Error naming file and line where they are not.
std::vector<Profile> read_profiles(const std::string& path);
std::string profiles_tsv(const std::vector<Profile>& profiles, const std::vector<std::string>& comments = {});

std::string window_json(const ModelWindow& window);
// Nothing when the folder has no window.json (its windows were not cut from a genome).
std::optional<ModelWindow> read_model_window(const std::string& model_folder);
// profiles.tsv of the folder; without it `outputs` profiles with the names given (config.json's labels) or
// "output<k>". Error when the file has another number of profiles.
std::vector<Profile> read_model_profiles(const std::string& model_folder, std::size_t outputs,
                                         const std::vector<std::string>& label_names);

// The files above as FolderExtras::files takes them. An empty list of profiles, or no window, leaves its file
// out.
std::map<std::string, std::string> model_task_files(const std::optional<ModelWindow>& window,
                                                    const std::vector<Profile>& profiles);
// Their names, for whoever copies a model folder.
const std::vector<std::string>& model_task_file_names();

}  // namespace bigbird
