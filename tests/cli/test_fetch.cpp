// Models by name: those that come with the program, a hub's, a folder of a web server.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lib/io/files/sha256.h"
#include "tests/cli/shell.h"
#include "tests/support/hub_server.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::apps {
namespace {

using testing::HubServer;
using testing::read_text;
using testing::run_shell;
using testing::RunResult;

constexpr const char* commit = "0123456789abcdef0123456789abcdef01234567";

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Fetch : public ::testing::Test {
 protected:
  Fetch() {
    testing::write_tiny_classifier(folder_ / "model");
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "model"))
      files_[entry.path().filename().string()] = read_text(entry.path());
    files_["pytorch_model.bin"] = "the same weights once more";
    files_[".gitattributes"] = "x";
    files_["onnx/model.onnx"] = "x";
    give_hub();
  }

  // The list, small files by the hub itself, weights by a store that it leads to.
  void give_hub() {
    std::string siblings;
    for (const auto& [name, text] : files_) {
      const bool large = name.ends_with(".safetensors") || name.ends_with(".bin");
      siblings += fmt::format(R"({}{{"rfilename": "{}", "size": {}{}}})", siblings.empty() ? "" : ", ", name,
                              text.size(),
                              large ? fmt::format(R"(, "lfs": {{"sha256": "{}"}})", sha256_bytes(text)) : "");
      const std::string path = fmt::format("/lab/tiny/resolve/{}/{}", commit, name);
      hub_.give(path, large ? HubServer::Answer{"", store_.url() + "/" + name} : HubServer::Answer{text});
      if (large) store_.give("/" + name, {text});
    }
    const std::string list = fmt::format(R"({{"sha": "{}", "siblings": [{}]}})", commit, siblings);
    for (const char* revision : {"main", "v1"})
      hub_.give(std::string("/api/models/lab/tiny/revision/") + revision, {list});
  }
  RunResult run(const std::string& words, const std::string& before = "") {
    return run_shell(
        fmt::format("unset HF_TOKEN BIGBIRD_OFFLINE HF_HUB_OFFLINE; no_proxy=127.0.0.1 HF_ENDPOINT={} "
                    "XDG_CACHE_HOME='{}' {} \"$bigbird\" {}",
                    hub_.url(), (folder_ / "cache").string(), before, words));
  }
  std::filesystem::path cached() const { return folder_ / "cache/bigbird/models/hub/lab/tiny" / commit; }

  testing::TemporaryFolder folder_;
  HubServer hub_, store_;
  std::map<std::string, std::string> files_;
};

TEST_F(Fetch, AHubsModelIsFetchedOnce) {
  const RunResult first = run("info hf:lab/tiny");
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(holds(first.out, "kind\tmodel")) << first.out;
  EXPECT_TRUE(holds(first.err, "hf:lab/tiny: fetching ")) << first.err;
  for (const auto& [name, text] : files_) {
    const bool wanted = name != "pytorch_model.bin" && name.front() != '.' && !holds(name, "/");
    ASSERT_EQ(std::filesystem::exists(cached() / name), wanted) << name;
    if (wanted) {
      EXPECT_EQ(read_text(cached() / name), text) << name;
    }
  }
  EXPECT_EQ(store_.requests().size(), 1u) << "the weights";
  EXPECT_GT(hub_.requests().size(), 3u);

  EXPECT_EQ(run("info hf:lab/tiny@v1").out, first.out) << "another name of the same commit";
  const auto again = hub_.requests();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].path, "/api/models/lab/tiny/revision/v1?blobs=true");
  // What never changes is not asked for, and without a network nothing is.
  EXPECT_EQ(run(std::string("info hf:lab/tiny@") + commit).out, first.out);
  EXPECT_EQ(run("info hf:lab/tiny", "BIGBIRD_OFFLINE=1").out, first.out);
  EXPECT_TRUE(hub_.requests().empty());
  EXPECT_TRUE(store_.requests().empty());
  const RunResult unknown = run("info hf:lab/other", "HF_HUB_OFFLINE=1");
  EXPECT_EQ(unknown.status, 3);
  EXPECT_TRUE(holds(unknown.err, "hf:lab/other: not in the cache")) << unknown.err;
}

// A verb sees a folder; what an output tells has the name.
TEST_F(Fetch, VerbsTakeNamesForFolders) {
  testing::write_text(folder_ / "w.fa", ">a\n" + std::string(100, 'A') + "\n");
  const std::string rest = fmt::format(" '{}' --provenance inline", (folder_ / "w.fa").string());
  const RunResult fetched = run("embed -m hf:lab/tiny" + rest + " -o '" + (folder_ / "v.npy").string() + "'");
  EXPECT_EQ(fetched.status, 0) << fetched.err;
  EXPECT_TRUE(holds(read_text(folder_ / "v.rows.tsv"), "##bigbird_command=bigbird embed -m hf:lab/tiny "));

  std::filesystem::create_directories(folder_ / "shipped/small");
  std::filesystem::copy(folder_ / "model", folder_ / "shipped/small/tracks");
  const std::string models = fmt::format("BIGBIRD_MODELS='{}'", (folder_ / "shipped").string());
  const RunResult shipped = run("info small/tracks", models);
  EXPECT_EQ(shipped.status, 0) << shipped.err;
  EXPECT_TRUE(holds(shipped.out, "kind\tmodel"));
  EXPECT_EQ(run("info small/none", models).status, 1);
  EXPECT_EQ(run("info ../shipped/small/tracks", models).status, 1)
      << "a name leads out of the folder of models";
}

TEST_F(Fetch, ATransferThatIsCutGoesOn) {
  const std::string& weights = files_["model.safetensors"];
  store_.give("/model.safetensors", {weights, "", 200, weights.size() / 2});
  const RunResult cut = run("info hf:lab/tiny");
  ASSERT_EQ(cut.status, 0) << cut.err;
  auto requests = store_.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].range, "");
  EXPECT_EQ(requests[1].range, fmt::format("bytes={}-", weights.size() / 2));
  EXPECT_EQ(read_text(cached() / "model.safetensors"), weights);

  // The same over two runs of the program, and by a server that cannot go on in the middle.
  std::filesystem::remove_all(folder_ / "cache");
  std::filesystem::create_directories(cached());
  testing::write_text(cached() / "model.safetensors.part", weights.substr(0, 100));
  store_.give("/model.safetensors", {weights, "", 200, 0, false});
  EXPECT_EQ(run("info hf:lab/tiny").status, 0);
  EXPECT_EQ(store_.requests().at(0).range, "bytes=100-");
  EXPECT_EQ(read_text(cached() / "model.safetensors"), weights);

  // A part of something else: all of it anew.
  std::filesystem::remove_all(folder_ / "cache");
  std::filesystem::create_directories(cached());
  testing::write_text(cached() / "model.safetensors.part", std::string(100, '?'));
  store_.give("/model.safetensors", {weights});
  EXPECT_EQ(run("info hf:lab/tiny").status, 0);
  EXPECT_EQ(store_.requests().size(), 2u);
  EXPECT_EQ(read_text(cached() / "model.safetensors"), weights);
}

TEST_F(Fetch, AFileWithAnotherDigestIsRefused) {
  std::string other = files_["model.safetensors"];
  other.back() = static_cast<char>(other.back() ^ 1);
  store_.give("/model.safetensors", {other});
  const RunResult wrong = run("info hf:lab/tiny");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(holds(wrong.err, "its SHA-256 is " + sha256_bytes(other))) << wrong.err;
  EXPECT_TRUE(holds(wrong.err, sha256_bytes(files_["model.safetensors"]) + " is listed")) << wrong.err;
  EXPECT_FALSE(std::filesystem::exists(cached() / "model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(cached() / "model.safetensors.part"));
  EXPECT_EQ(run("info hf:lab/tiny", "BIGBIRD_OFFLINE=1").status, 3) << "what is not whole is not there";
  give_hub();
  EXPECT_EQ(run("info hf:lab/tiny").status, 0);
}

TEST_F(Fetch, ATokenGoesToTheHubAlone) {
  EXPECT_EQ(run("info hf:lab/tiny", "HF_TOKEN=secret").status, 0);
  for (const auto& request : hub_.requests()) EXPECT_EQ(request.token, "Bearer secret") << request.path;
  for (const auto& request : store_.requests()) EXPECT_EQ(request.token, "") << request.path;
  hub_.give("/api/models/lab/closed/revision/main", {"{}", "", 401});
  const RunResult closed = run("info hf:lab/closed");
  EXPECT_EQ(closed.status, 1);
  EXPECT_TRUE(holds(closed.err, "HF_TOKEN")) << closed.err;
}

TEST_F(Fetch, WhatIsNotThereIsSaid) {
  const RunResult none = run("info hf:lab/none");
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(holds(none.err, "there is no such file (status 404)")) << none.err;
  for (const char* name :
       {"hf:tiny", "hf:lab/", "hf:lab/a/b", "hf:lab/tiny@", "hf:../x", "hf:lab/tiny@a/../b"})
    EXPECT_EQ(run(std::string("info '") + name + "'").status, 2) << name;
  hub_.give("/api/models/lab/page/revision/main", {"<html>"});
  EXPECT_TRUE(holds(run("info hf:lab/page").err, "not a hub's list of files"));

  // A hub that is not reached: the copy of the last time, with a warning.
  ASSERT_EQ(run("info hf:lab/tiny").status, 0);
  const RunResult later = run("info hf:lab/tiny", "HF_ENDPOINT=http://127.0.0.1:9");
  EXPECT_EQ(later.status, 0) << later.err;
  EXPECT_TRUE(holds(later.err, "the copy of the last time")) << later.err;
  EXPECT_EQ(run("info hf:lab/new", "HF_ENDPOINT=http://127.0.0.1:9").status, 1);
}

TEST_F(Fetch, AFolderOfAWebServerHasDigests) {
  std::string sums;
  for (const char* name : {"config.json", "model.safetensors", "spiece.model", "tokenizer.json"}) {
    if (files_.count(name) == 0) continue;
    sums += sha256_bytes(files_[name]) + "  " + name + "\n";
    store_.give(std::string("/models/tiny/") + name, {files_[name]});
  }
  store_.give("/models/tiny/SHA256SUMS", {sums});
  const std::string url = store_.url() + "/models/tiny";
  const RunResult first = run("info " + url + "/");
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(holds(first.out, "kind\tmodel"));
  store_.requests();
  EXPECT_EQ(run("info " + url).out, first.out);
  EXPECT_EQ(store_.requests().size(), 1u) << "the digests alone";
  EXPECT_EQ(run("info " + url, "BIGBIRD_OFFLINE=1").out, first.out);
  for (const char* bad : {"config.json\n", "0123  config.json\n", "<html>\n"}) {
    store_.give("/bad/SHA256SUMS", {bad});
    const RunResult run_bad = run("info " + store_.url() + "/bad/");
    EXPECT_EQ(run_bad.status, 1);
    EXPECT_TRUE(holds(run_bad.err, "not a line of a digest")) << run_bad.err;
  }
  store_.give("/bad/SHA256SUMS", {std::string(64, '0') + "  ../../etc/x\n"});
  EXPECT_EQ(run("info " + store_.url() + "/bad/").status, 1);
}

}  // namespace
}  // namespace bigbird::apps
