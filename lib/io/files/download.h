// Files from a web server, by libcurl: whole or not at all, checked, and gone on with where a transfer was
// cut. Redirects are followed; proxies are those of the environment (https_proxy, no_proxy: curl(1)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bigbird {

struct DownloadOptions {
  std::string bearer = {};  // a token, sent to the host of the URL and to none that it redirects to
  std::string sha256 = {};  // of the file; empty: not known
  std::optional<std::uint64_t> bytes = {};  // of the file, where it is known
  std::string task = {};                    // of the progress, "fetch"; empty: none
};

// The answer of at most 16 MiB to a GET. Errors: {bad_input} where the server says that there is no such file
// or that it needs leave to read it, {runtime} where it cannot be reached, fails, or the transfer ends too
// early.
std::string download_text(const std::string& url, const DownloadOptions& options = {});

// The same as the file `path`, in a folder that exists. PATH.part keeps what came of a transfer that was cut
// or stopped, and the next call goes on behind it (HTTP's Range); a server that cannot do that sends all of
// it again. Three attempts. Error{runtime} too where size or digest are not those that were asked for:
// nothing is left then. Error{interrupted} on a request to stop.
void download_file(const std::string& url, const std::string& path, const DownloadOptions& options = {});

}  // namespace bigbird
