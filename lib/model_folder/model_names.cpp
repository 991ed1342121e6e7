// Names of models to folders; see model_names.h.
#include "lib/model_folder/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/core/environment.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/files/download.h"
#include "lib/io/files/file.h"
#include "lib/io/files/lease.h"
#include "lib/io/files/sha256.h"
#include "lib/model_folder/shipped_models.h"

namespace bigbird {
namespace {

using Json = nlohmann::json;

constexpr std::string_view hub_prefix = "hf:";
constexpr std::size_t digest_length = 64;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_offline() {
  const auto is_set = [](const char* name) {
    const std::string value = variable(name);
    return !value.empty() && value != "0";
  };
  return is_set("BIGBIRD_OFFLINE") || is_set("HF_HUB_OFFLINE");
}

std::string cache_of_models() {
  const std::string cache = user_cache_folder([](const char* name) { return std::getenv(name); });
  if (cache.empty()) {
    throw_environment("a fetched model has no place: neither HOME nor XDG_CACHE_HOME is set",
                      "set XDG_CACHE_HOME to a folder");
  }
  return cache + "/models";
}

struct ListedFile {
  std::string name;
  std::string sha256;  // empty: not known
  std::optional<std::uint64_t> bytes;
};

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

// What a model folder is made of, of all that a repository holds: settings, vocabulary, and weights once.
std::vector<ListedFile> wanted_files(const std::vector<ListedFile>& all) {
  const auto has = [&](std::string_view end) {
    return std::any_of(all.begin(), all.end(),
                       [&](const ListedFile& file) { return file.name.ends_with(end); });
  };
  const bool safetensors = has(".safetensors");
  std::vector<ListedFile> wanted;
  for (const ListedFile& file : all) {
    const std::string_view name = file.name;
    const bool plain = !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos;
    const bool weights = name.ends_with(".safetensors") ||
                         (!safetensors && name.starts_with("pytorch_model") && name.ends_with(".bin"));
    const bool other_index = safetensors && name.starts_with("pytorch_model");
    if (plain && !other_index &&
        (weights ||
         ends_with_one_of(name, {".json", ".txt", ".model", ".vocab", ".tsv", ".toml", "README.md"})))
      wanted.push_back(file);
  }
  return wanted;
}

// A folder of the cache that is whole has this beside it, with the names of its files.
std::string mark_of(const std::string& folder) {
  return folder + ".json";
}

bool is_whole(const std::string& folder) {
  if (!file_exists(mark_of(folder))) return false;
  const Json files = Json::parse(read_file(mark_of(folder)), nullptr, false);
  if (!files.is_array()) return false;
  return std::all_of(files.begin(), files.end(), [&](const Json& name) {
    return name.is_string() && file_exists(folder + "/" + name.get<std::string>());
  });
}

// All files into the folder, which is whole then. `url_of` of a name; one process at a time.
template <typename UrlOf>
void fill(const std::string& what, const std::string& folder, const std::vector<ListedFile>& files,
          const std::string& bearer, const UrlOf& url_of) {
  make_folders(folder);
  const Lease lease(folder + ".lease", LeaseBusy::wait);
  if (is_whole(folder)) return;
  std::uint64_t bytes = 0;
  for (const ListedFile& file : files) bytes += file.bytes.value_or(0);
  log_info(fmt::format("{}: fetching {} files{} into {}", what, files.size(),
                       bytes == 0 ? "" : fmt::format(", {:.1f} MB", static_cast<double>(bytes) / 1e6),
                       folder));
  Json names = Json::array();
  for (const ListedFile& file : files) {
    names.push_back(file.name);
    const std::string path = folder + "/" + file.name;
    if (file_exists(path)) continue;
    download_file(url_of(file.name), path, {bearer, file.sha256, file.bytes, "fetch"});
  }
  write_text_atomic(mark_of(folder), names.dump() + "\n");
}

[[noreturn]] void throw_offline(const std::string& name) {
  throw_environment(
      name + ": not in the cache, and BIGBIRD_OFFLINE or HF_HUB_OFFLINE is set",
      "fetch it once with the network, or copy ~/.cache/bigbird/models from a machine that has it");
}

// "hf:google/bigbird-roberta-base@main".
struct HubName {
  std::string repository;  // "google/bigbird-roberta-base"
  std::string revision = "main";
};

HubName parse_hub_name(const std::string& typed) {
  HubName name;
  name.repository = typed.substr(hub_prefix.size());
  if (const std::size_t at = name.repository.find('@'); at != std::string::npos) {
    name.revision = name.repository.substr(at + 1);
    name.repository.resize(at);
  }
  const auto is_word = [](std::string_view text) {
    return !text.empty() && text.front() != '.' &&
           std::all_of(text.begin(), text.end(), [](unsigned char letter) {
             return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
           });
  };
  const std::size_t slash = name.repository.find('/');
  const bool good = slash != std::string::npos && is_word(name.repository.substr(0, slash)) &&
                    is_word(name.repository.substr(slash + 1)) && is_word(name.revision);
  if (!good)
    throw_usage(typed + ": no name of a model on a hub",
                "as in hf:google/bigbird-roberta-base, or with @REVISION");
  return name;
}

bool is_commit(const std::string& revision) {
  constexpr std::size_t length = 40;
  return revision.size() == length && revision.find_first_not_of("0123456789abcdef") == std::string::npos;
}

class HubModel {
 public:
  explicit HubModel(const std::string& typed) : typed_(typed), name_(parse_hub_name(typed)) {
    cache_ = cache_of_models() + "/hub/" + name_.repository;
    endpoint_ = variable("HF_ENDPOINT");
    if (endpoint_.empty()) endpoint_ = "https://huggingface.co";
    while (endpoint_.ends_with('/')) endpoint_.pop_back();
  }

  std::string folder() {
    if (is_commit(name_.revision) && is_whole(place(name_.revision))) return place(name_.revision);
    if (is_offline()) return known_or_throw();
    Json answer;
    try {
      answer = ask();
    } catch (const Error& error) {
      const std::optional<std::string> known = known_folder();
      if (error.kind() != ErrorKind::runtime || !known) throw;
      log_warning(fmt::format("{}: the hub was not reached ({}); this is the copy of the last time", typed_,
                              error.message()));
      return *known;
    }
    const std::string commit = answer.at("sha").get<std::string>();
    if (!is_commit(commit)) throw_runtime(url_of_list() + ": no commit in the answer", "is it a hub?");
    if (!is_whole(place(commit))) {
      const std::vector<ListedFile> files = wanted_files(listed(answer));
      if (files.empty())
        throw_bad_input(typed_ + ": no model: the repository has no settings and no weights");
      fill(typed_, place(commit), files, variable("HF_TOKEN"), [&](const std::string& file) {
        return fmt::format("{}/{}/resolve/{}/{}", endpoint_, name_.repository, commit, file);
      });
    }
    make_folders(cache_ + "/refs");
    write_text_atomic(cache_ + "/refs/" + name_.revision, commit);
    return place(commit);
  }

 private:
  std::string place(const std::string& commit) const { return cache_ + "/" + commit; }
  std::string url_of_list() const {
    return fmt::format("{}/api/models/{}/revision/{}?blobs=true", endpoint_, name_.repository,
                       name_.revision);
  }
  // Of a branch the commit that it was when it was asked for last.
  std::optional<std::string> known_folder() const {
    std::string commit = name_.revision;
    if (!is_commit(commit)) {
      const std::string ref = cache_ + "/refs/" + name_.revision;
      if (!file_exists(ref)) return std::nullopt;
      commit = read_file(ref);
    }
    if (!is_commit(commit) || !is_whole(place(commit))) return std::nullopt;
    return place(commit);
  }
  std::string known_or_throw() const {
    const std::optional<std::string> known = known_folder();
    if (!known) throw_offline(typed_);
    return *known;
  }
  Json ask() const {
    const std::string url = url_of_list();
    Json answer = Json::parse(download_text(url, {.bearer = variable("HF_TOKEN")}), nullptr, false);
    if (!answer.is_object() || !answer.contains("sha") || !answer["sha"].is_string() ||
        !answer.contains("siblings"))
      throw_runtime(url + ": the answer is not a hub's list of files",
                    "HF_ENDPOINT names the hub that is asked");
    return answer;
  }
  // Large files have their SHA-256 in the list, others their size.
  static std::vector<ListedFile> listed(const Json& answer) {
    std::vector<ListedFile> files;
    for (const Json& sibling : answer["siblings"]) {
      if (!sibling.is_object() || !sibling.contains("rfilename") || !sibling["rfilename"].is_string())
        continue;
      ListedFile file{sibling["rfilename"].get<std::string>(), "", std::nullopt};
      if (sibling.contains("size") && sibling["size"].is_number_unsigned())
        file.bytes = sibling["size"].get<std::uint64_t>();
      if (const auto lfs = sibling.find("lfs"); lfs != sibling.end() && lfs->is_object())
        file.sha256 = lfs->value("sha256", std::string());
      files.push_back(std::move(file));
    }
    return files;
  }

  std::string typed_;
  HubName name_;
  std::string cache_;
  std::string endpoint_;
};

// Lines "DIGEST  NAME", or "DIGEST *NAME".
std::vector<ListedFile> read_sums(const std::string& url, const std::string& text) {
  std::vector<ListedFile> files;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const bool good = line.size() > digest_length + 2 && line[digest_length] == ' ' &&
                      line.find_first_not_of("0123456789abcdef") == digest_length;
    const std::string name = good ? line.substr(digest_length + 2) : "";
    if (name.empty() || name.find('/') != std::string::npos || name.front() == '.') {
      throw_bad_input(fmt::format("{}: '{}' is not a line of a digest and the name of a file", url,
                                  text_for_message(line)),
                      "as `sha256sum *` writes it");
    }
    files.push_back({name, line.substr(0, digest_length), std::nullopt});
  }
  return files;
}

std::string folder_of_url(const std::string& typed) {
  const std::string base = typed.ends_with('/') ? typed : typed + "/";
  const std::string cache = cache_of_models() + "/url";
  const std::string ref = cache + "/" + sha256_bytes(base);
  const auto known = [&]() -> std::optional<std::string> {
    if (!file_exists(ref)) return std::nullopt;
    const std::string folder = cache + "/" + read_file(ref);
    return is_whole(folder) ? std::optional(folder) : std::nullopt;
  };
  if (is_offline()) {
    if (const auto folder = known()) return *folder;
    throw_offline(typed);
  }
  std::string sums;
  try {
    sums = download_text(base + "SHA256SUMS");
  } catch (const Error& error) {
    const auto folder = known();
    if (error.kind() != ErrorKind::runtime || !folder) throw;
    log_warning(fmt::format("{}: the server was not reached ({}); this is the copy of the last time", typed,
                            error.message()));
    return *folder;
  }
  const std::vector<ListedFile> files = read_sums(base + "SHA256SUMS", sums);
  if (files.empty()) throw_bad_input(base + "SHA256SUMS: no file is listed");
  const std::string digest = sha256_bytes(sums);
  const std::string folder = cache + "/" + digest;
  if (!is_whole(folder)) fill(typed, folder, files, "", [&](const std::string& name) { return base + name; });
  write_text_atomic(ref, digest);
  return folder;
}

}  // namespace

bool is_remote_model(const std::string& name) {
  return name.starts_with(hub_prefix) || name.starts_with("https://") || name.starts_with("http://");
}

std::string model_folder_of(const std::string& name) {
  std::error_code ignored;
  if (name.empty() || std::filesystem::exists(name, ignored)) return name;
  if (name.starts_with(hub_prefix)) return HubModel(name).folder();
  if (is_remote_model(name)) return folder_of_url(name);
  return find_shipped_model(name).value_or(name);
}

}  // namespace bigbird
