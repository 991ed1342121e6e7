// A web server on this machine for tests of downloads: answers GET with what it was given, as a hub and its
// store do (redirects, ranges, tokens), and fails as networks do (a transfer that is cut, a file that is
// another one).
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace bigbird::testing {

class HubServer {
 public:
  struct Answer {
    std::string body;
    std::string redirect = {};  // where to, instead of a body
    int status = 200;
    std::size_t cut_once = 0;  // the first transfer ends after so many bytes of the body
    bool ranges = true;        // whether it can go on in the middle
  };
  struct Request {
    std::string path;   // with what stands after '?'
    std::string range;  // of the header Range
    std::string token;  // of the header Authorization
  };

  HubServer() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket_, 8) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      std::abort();
    url_ = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~HubServer() {
    stop_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    ::close(socket_);
    thread_.join();
  }
  HubServer(const HubServer&) = delete;
  HubServer& operator=(const HubServer&) = delete;

  const std::string& url() const { return url_; }
  void give(const std::string& path, Answer answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_[path] = std::move(answer);
  }
  // Since the last call.
  std::vector<Request> requests() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  static std::string header(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return text.substr(begin, text.find("\r\n", begin) - begin);
  }
  static void send_all(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void serve() {
    while (!stop_) {
      const int connection = ::accept(socket_, nullptr, nullptr);
      if (connection < 0) return;
      std::string asked;
      char buffer[4096];
      while (asked.find("\r\n\r\n") == std::string::npos) {
        const ssize_t size = ::recv(connection, buffer, sizeof buffer, 0);
        if (size <= 0) break;
        asked.append(buffer, static_cast<std::size_t>(size));
      }
      if (asked.starts_with("GET ")) answer(connection, asked);
      ::shutdown(connection, SHUT_RDWR);
      ::close(connection);
    }
  }

  void answer(int connection, const std::string& asked) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string path = asked.substr(4, asked.find(' ', 4) - 4);
    requests_.push_back({path, header(asked, "Range"), header(asked, "Authorization")});
    const auto found = answers_.find(path.substr(0, path.find('?')));
    if (found == answers_.end())
      return send_all(connection,
                      "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: close\r\n\r\nnone\n");
    Answer& given = found->second;
    if (!given.redirect.empty()) {
      return send_all(connection, fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n"
                                              "Connection: close\r\n\r\n",
                                              given.redirect));
    }
    std::string_view body = given.body;
    std::string status = fmt::format("{} Answer", given.status), range;
    if (const std::string from = header(asked, "Range"); given.ranges && from.starts_with("bytes=")) {
      const std::size_t first = std::stoul(from.substr(6));
      if (first >= body.size())
        return send_all(connection, "HTTP/1.1 416 Range\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      status = "206 Partial Content";
      range = fmt::format("Content-Range: bytes {}-{}/{}\r\n", first, body.size() - 1, body.size());
      body.remove_prefix(first);
    }
    send_all(connection, fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n",
                                     status, body.size(), range));
    const std::size_t cut = std::exchange(given.cut_once, 0);
    send_all(connection, cut == 0 ? body : body.substr(0, cut));
  }

  int socket_;
  std::string url_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace bigbird::testing
