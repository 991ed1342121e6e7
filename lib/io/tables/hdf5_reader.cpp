// HDF5 files read by a child process; see hdf5.h and hdf5_library.h. libhdf5 (1.10.8 and others) reads and
// writes past its arrays over some damaged files: here that ends the child.
#include <cstring>
#include <string_view>
#include <utility>

#include "lib/io/files/file.h"
#include "lib/io/files/library_child.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/hdf5_library.h"

namespace bigbird {
namespace {

// Of what only looks at a file. Values take as long as there are many.
constexpr unsigned seconds_to_look = 10;

// Of bytes_of_texts().
std::vector<std::string> texts_of(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    texts.emplace_back(bytes.substr(sizeof size, size));
    bytes.remove_prefix(sizeof size + size);
  }
  return texts;
}

LibraryChild::Serve server_of(const std::string& path) {
  return [path, file = std::shared_ptr<Hdf5Library>()](std::string_view request) mutable {
    if (!file) file = std::make_shared<Hdf5Library>(path);
    Hdf5Request head;
    std::memcpy(&head, request.data(), sizeof head);
    return file->answer(head, std::string(request.substr(sizeof head)));
  };
}

}  // namespace

struct Hdf5Reader::State {
  explicit State(const std::string& path) : child(path, "HDF5", server_of(path)) {}

  static std::string request(Hdf5Question what, const std::string& name, std::int64_t begin,
                             std::int64_t end) {
    const Hdf5Request head{what, begin, end};
    return std::string(reinterpret_cast<const char*>(&head), sizeof head) + name;
  }
  std::string look(Hdf5Question what, const std::string& name = {}) {
    return child.answer(request(what, name, 0, 0), seconds_to_look);
  }
  template <typename Value>
  void read(Hdf5Question what, const std::string& name, std::int64_t begin, std::int64_t end,
            std::vector<Value>& out) {
    out.resize(child.ask(request(what, name, begin, end)) / sizeof(Value));
    child.receive(out.data(), out.size() * sizeof(Value));
  }
  template <typename Value>
  std::vector<Value> whole(Hdf5Question what, const std::string& name) {
    std::vector<Value> values;
    read(what, name, 0, 0, values);
    return values;
  }

  LibraryChild child;
};

Hdf5Reader::Hdf5Reader(const std::string& path) {
  MappedFile{path};  // a missing file is said as everywhere, and without a process
  state_ = std::make_unique<State>(path);
  state_->look(Hdf5Question::open);
}

Hdf5Reader::~Hdf5Reader() = default;

std::vector<std::string> Hdf5Reader::names() const {
  return texts_of(state_->look(Hdf5Question::names));
}

std::vector<std::int64_t> Hdf5Reader::shape(const std::string& name) const {
  return state_->whole<std::int64_t>(Hdf5Question::shape, name);
}

std::int64_t Hdf5Reader::chunk_of_last_axis(const std::string& name) const {
  return state_->whole<std::int64_t>(Hdf5Question::chunk_of_last_axis, name).at(0);
}

void Hdf5Reader::read_slab(const std::string& name, std::int64_t begin, std::int64_t end,
                           std::vector<std::uint8_t>& out) const {
  state_->read(Hdf5Question::slab, name, begin, end, out);
}

std::vector<float> Hdf5Reader::read_floats(const std::string& name) const {
  return state_->whole<float>(Hdf5Question::floats, name);
}

void Hdf5Reader::read_rows(const std::string& name, std::int64_t begin, std::int64_t end,
                           std::vector<float>& out) const {
  state_->read(Hdf5Question::rows, name, begin, end, out);
}

std::vector<std::int64_t> Hdf5Reader::read_int64(const std::string& name) const {
  return state_->whole<std::int64_t>(Hdf5Question::integers, name);
}

std::vector<std::string> Hdf5Reader::read_strings(const std::string& name) const {
  return texts_of(state_->child.answer(State::request(Hdf5Question::strings, name, 0, 0)));
}

std::string Hdf5Reader::attribute(const std::string& name) const {
  return state_->look(Hdf5Question::attribute, name);
}

}  // namespace bigbird
