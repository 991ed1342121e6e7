// What a fine-tuned genome model was made for: the window it reads and the profiles it predicts. Kept beside
// its weights as window.json and profiles.tsv, so that every verb that uses the model cuts the same windows
// and names its columns. And the strands of a window that it is asked to read: one set of words for all;
// which of its outputs are wanted, as users list them.
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

// The middle of [begin, end): of an even number of bases the last of the first half.
constexpr std::int64_t middle_base(std::int64_t begin, std::int64_t end) {
  return begin + (end - begin - 1) / 2;
}

// Where a base that is scored stands in the window: the middle of the target, DeepSEA's 499 of 1,000. Counted
// from the window's left end on the forward strand of the genome, whichever strands are read: they are two
// readings of one piece of the genome. Every verb that scores a base asks here (docs/variants.md, Windows).
constexpr std::int64_t scored_place(const ModelWindow& window) {
  return middle_base(window.target_offset, window.target_offset + window.target_length);
}

// The window of a model that does not tell its target: that is the base in the middle.
ModelWindow centred_window(std::int64_t length);
// The same window with its target, one base, at `offset`; as it is for an offset below 0. Error{usage} for an
// offset outside of the window.
ModelWindow with_offset(ModelWindow window, std::int64_t offset);

// One output column. Names need not be unique (replicates share one): the column number is the key.
struct Profile {
  std::string name;
  std::string group;  // "TF", "DHS", "HM" ...; "." for none (NA in tables)
  bool operator==(const Profile&) const = default;
};

// What tells the outputs apart in tables and in a VCF: the name, and NAME:INDEX of a name that several have.
// Blanks and the signs , ; = become _, since INFO fields of a VCF have no place for them.
std::vector<std::string> profile_labels(const std::vector<Profile>& profiles);
// The output of such a label; of a number, as earlier versions wrote, the output of that index.
std::optional<std::size_t> find_profile(const std::vector<Profile>& profiles, std::string_view label);

// Table "index name group", indices 0, 1, 2 ... Error naming file and line where they are not.
std::vector<Profile> read_profiles(const std::string& path);
std::string profiles_tsv(const std::vector<Profile>& profiles, const std::vector<std::string>& comments = {});

std::string window_json(const ModelWindow& window);
// Nothing when the folder has no window.json (its windows were not cut from a genome).
std::optional<ModelWindow> read_model_window(const std::string& model_folder);
// profiles.tsv of the folder; without it `outputs` profiles with the names given (config.json's labels) or
// "output<k>". Error when the file has another number of profiles.
std::vector<Profile> read_model_profiles(const std::string& model_folder, std::size_t outputs,
                                         const std::vector<std::string>& label_names);

// Of a classifier of two classes: the share of class 1 among the examples that it was trained on, as
// profiles.tsv tells it ("##train_prior=0.1"). Nothing where it does not.
std::optional<double> read_train_prior(const std::string& model_folder);

// The files above as FolderExtras::files takes them. An empty list of profiles, or no window, leaves its file
// out.
std::map<std::string, std::string> model_task_files(const std::optional<ModelWindow>& window,
                                                    const std::vector<Profile>& profiles,
                                                    std::optional<double> train_prior = std::nullopt);
// Copies those that are there, for whoever makes a model folder of another.
void copy_model_task(const std::string& from, const std::string& to);

// forward: the window as it is given; reverse: its reverse complement; both: one and the other. automatic:
// forward for models of promoters, whose windows have a direction, else both.
enum class Strands { automatic, both, forward, reverse };

// "auto", "both", "+" or "forward", "-" or "reverse". Error{usage} for anything else.
Strands parse_strands(const std::string& word);
// "auto", "both", "+", "-".
std::string name_of(Strands strands);

// What is written of a model's outputs.
struct PredictionColumns {
  std::vector<Profile> profiles;      // of the model
  std::vector<std::size_t> selected;  // columns of the output, in this order
};
// "0,5,125-130", or names, each standing for every profile of that name; "all" or empty: all. Error{usage}
// for what is neither, and for "none".
PredictionColumns select_profiles(const std::vector<Profile>& profiles, const std::string& list);

// Which profiles get numbers of their own in an output: the indices that a list means, ascending, each once.
// "none", or what select_profiles takes; an empty list: all of at most `all_up_to` profiles, none of more.
// Error{usage} for what is no list, or no such profile.
std::vector<std::size_t> written_profiles(const std::string& list, const std::vector<Profile>& profiles,
                                          std::size_t all_up_to);

}  // namespace bigbird
