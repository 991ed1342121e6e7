// Transfers by libcurl's easy interface; see download.h.
#include "lib/io/files/download.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

constexpr int attempts = 3;
constexpr std::size_t longest_text = std::size_t{16} << 20;

// Where the bytes of an answer go.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Before the first bytes of an answer with this status. False: they are none that are wanted.
  virtual bool begin(long status) = 0;
  virtual bool take(const char* bytes, std::size_t size) = 0;
};

struct Answer {
  CURLcode code = CURLE_OK;
  long status = 0;
  std::string problem;  // of libcurl
};

// One GET, from the byte `from` on.
class Transfer {
 public:
  Transfer(const std::string& url, const DownloadOptions& options, Receiver& receiver, curl_off_t from)
      : easy_(curl_easy_init()), receiver_(receiver) {
    if (!easy_) throw_runtime("libcurl cannot start a transfer");
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_USERAGENT, "bigbird/" BIGBIRD_VERSION);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    // What was asked for in private is not sent on in the open.
    set(CURLOPT_REDIR_PROTOCOLS_STR, url.starts_with("https:") ? "https" : "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, 30L);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);  // bytes a second, for so many seconds: then it is cut
    set(CURLOPT_LOW_SPEED_TIME, 60L);
    set(CURLOPT_ERRORBUFFER, problem_);
    if (from > 0) set(CURLOPT_RANGE, fmt::format("{}-", from).c_str());  // libcurl keeps a copy
    if (!options.bearer.empty()) {
      set(CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
      set(CURLOPT_XOAUTH2_BEARER, options.bearer.c_str());
    }
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_bytes);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
    set(CURLOPT_NOPROGRESS, 0L);
  }

  Answer run() {
    Answer answer;
    answer.code = curl_easy_perform(easy_.get());
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    answer.problem = problem_[0] != '\0' ? problem_ : curl_easy_strerror(answer.code);
    return answer;
  }

 private:
  struct Close {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };

  template <typename Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK)
      throw_runtime(fmt::format("libcurl does not know option {}", static_cast<int>(option)));
  }

  static std::size_t on_bytes(char* bytes, std::size_t, std::size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (!transfer.begun_) {
      long status = 0;
      curl_easy_getinfo(transfer.easy_.get(), CURLINFO_RESPONSE_CODE, &status);
      transfer.begun_ = true;
      transfer.wanted_ = transfer.receiver_.begin(status);
    }
    if (!transfer.wanted_) return size;  // the page that comes with an error: read and forgotten
    return transfer.receiver_.take(bytes, size) ? size : 0;
  }
  static int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return cancel_signal() != 0 ? 1 : 0;
  }

  std::unique_ptr<CURL, Close> easy_;
  Receiver& receiver_;
  char problem_[CURL_ERROR_SIZE] = {};
  bool begun_ = false;
  bool wanted_ = false;
};

bool is_good(long status) {
  return status >= 200 && status < 300;
}

// Worth another attempt: the line failed, or the server did.
bool may_pass(const Answer& answer) {
  if (answer.code == CURLE_OK) return answer.status >= 500 || answer.status == 429;
  switch (answer.code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return true;
    default:
      return false;
  }
}

// Throws what an answer that is no good means.
[[noreturn]] void refuse(const std::string& url, const Answer& answer) {
  throw_if_cancelled();
  if (answer.code == CURLE_WRITE_ERROR) {  // of a file's bytes its receiver tells
    throw_bad_input(fmt::format("{}: the answer is longer than {} MiB", url, longest_text >> 20),
                    "it is not a list of files: check the name");
  }
  if (answer.code != CURLE_OK) {
    throw_runtime(
        fmt::format("{}: {}", url, answer.problem),
        "is the machine connected? A proxy is taken from https_proxy; the same command goes on with what "
        "came");
  }
  if (answer.status == 401 || answer.status == 403) {
    throw_bad_input(fmt::format("{}: the server refuses it (status {})", url, answer.status),
                    "a model that needs leave is read with a token: HF_TOKEN");
  }
  if (answer.status == 404) throw_bad_input(url + ": there is no such file (status 404)", "check the name");
  throw_runtime(fmt::format("{}: the server answers with status {}", url, answer.status), "try again later");
}

// Answers of an attempt until one is good; `attempt` is told how many came before.
template <typename Attempt>
void try_often(const std::string& url, const Attempt& attempt) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw_runtime("libcurl cannot be started");
  for (int tried = 0;; ++tried) {
    const Answer answer = attempt();
    if (answer.code == CURLE_OK && is_good(answer.status)) return;
    if (cancel_signal() != 0 || !may_pass(answer) || tried + 1 == attempts) refuse(url, answer);
    log_info(fmt::format("{}: {}; once more", url,
                         answer.code != CURLE_OK ? answer.problem : fmt::format("status {}", answer.status)));
    std::this_thread::sleep_for(std::chrono::milliseconds(200 << tried));
  }
}

class TextReceiver : public Receiver {
 public:
  bool begin(long status) override {
    text_.clear();
    return is_good(status);
  }
  bool take(const char* bytes, std::size_t size) override {
    if (text_.size() + size > longest_text) return false;
    text_.append(bytes, size);
    return true;
  }
  std::string take_text() { return std::move(text_); }

 private:
  std::string text_;
};

// Into PATH.part, behind what is there.
class PartReceiver : public Receiver {
 public:
  PartReceiver(std::string path, const DownloadOptions& options) : path_(std::move(path)) {
    std::error_code ignored;
    const auto there = std::filesystem::file_size(path_, ignored);
    size_ = ignored ? 0 : there;
    if (options.bytes && size_ > *options.bytes) size_ = 0;  // of something else
    if (!options.task.empty()) {
      progress_ = std::make_unique<Progress>(options.task, options.bytes.value_or(0), "B");
      progress_->advance(size_);
    }
  }

  std::uint64_t size() const { return size_; }
  bool begin(long status) override {
    constexpr long partial = 206;
    if (!is_good(status)) return false;
    if (status != partial) size_ = 0;  // the server sends all of it
    file_.reset(std::fopen(path_.c_str(), size_ == 0 ? "wb" : "ab"));
    if (!file_) throw_cannot_write(path_, errno);
    return true;
  }
  bool take(const char* bytes, std::size_t size) override {
    if (std::fwrite(bytes, 1, size, file_.get()) != size) return false;
    size_ += size;
    if (progress_) progress_->advance(size);
    return true;
  }
  // What came is in the file. Error{runtime} where it could not be written.
  void close() {
    if (file_ && (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0))
      throw_cannot_write(path_, errno);
    file_.reset();
  }
  // Everything anew: what is there is of another file.
  void forget() {
    close();
    size_ = 0;
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::uint64_t size_ = 0;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<Progress> progress_;
};

// Empty where the part is the whole file that is wanted, else what is wrong with it.
std::string wrong_with(const std::string& part, std::uint64_t size, const DownloadOptions& options) {
  if (options.bytes && size != *options.bytes)
    return fmt::format("{} bytes came, {} are listed", size, *options.bytes);
  if (options.sha256.empty()) return {};
  const std::string digest = sha256_file(part);
  return digest == options.sha256 ? std::string()
                                  : fmt::format("its SHA-256 is {}, {} is listed", digest, options.sha256);
}

}  // namespace

std::string download_text(const std::string& url, const DownloadOptions& options) {
  TextReceiver receiver;
  try_often(url, [&] { return Transfer(url, options, receiver, 0).run(); });
  return receiver.take_text();
}

void download_file(const std::string& url, const std::string& path, const DownloadOptions& options) {
  const std::string part = path + ".part";
  PartReceiver receiver(part, options);
  std::string wrong;
  // What was there may be of another version: then all of it once more.
  for (const bool anew : {false, true}) {
    if (anew) receiver.forget();
    const bool went_on = receiver.size() > 0;
    const bool is_there = options.bytes && receiver.size() == *options.bytes;
    if (!is_there) {
      try_often(url, [&] {
        constexpr long nothing_behind_it = 416;  // HTTP: Range Not Satisfiable
        Answer answer = Transfer(url, options, receiver, static_cast<curl_off_t>(receiver.size())).run();
        receiver.close();
        if (answer.code == CURLE_OK && answer.status == nothing_behind_it) answer.status = 200;
        return answer;
      });
    }
    wrong = wrong_with(part, receiver.size(), options);
    if (wrong.empty()) {
      if (receiver.size() == 0) write_text_atomic(part, "");
      std::filesystem::rename(part, path);
      sync_folder(parent_folder(path));
      return;
    }
    if (!went_on) break;
  }
  receiver.forget();
  throw_runtime(fmt::format("{}: {}", url, wrong),
                "the file was changed or damaged on its way: fetch it again");
}

}  // namespace bigbird
