// The machine: a stack of indices into a pool of values, so that neither depth nor cycles can hurt; see
// torch_file.h.
#include "lib/io/weights/torch_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::size_t most_pickle_bytes = 64u << 20;
constexpr std::size_t most_values = 1'000'000;
constexpr std::size_t most_stack = 100'000;
constexpr std::size_t most_marks = 1'000;
constexpr std::size_t most_text = 4'096;
constexpr std::size_t most_pickled_axes = 16;
constexpr std::size_t most_tensors = 200'000;  // and storages
constexpr std::size_t most_arguments = 8;
constexpr std::size_t most_storage_key = 64;

struct StorageClass {
  const char* name;
  TensorType type;
};
constexpr std::array<StorageClass, 12> storage_classes{{{"torch.FloatStorage", TensorType::f32},
                                                        {"torch.HalfStorage", TensorType::f16},
                                                        {"torch.BFloat16Storage", TensorType::bf16},
                                                        {"torch.DoubleStorage", TensorType::f64},
                                                        {"torch.LongStorage", TensorType::i64},
                                                        {"torch.IntStorage", TensorType::i32},
                                                        {"torch.ShortStorage", TensorType::i16},
                                                        {"torch.CharStorage", TensorType::i8},
                                                        {"torch.ByteStorage", TensorType::u8},
                                                        {"torch.BoolStorage", TensorType::boolean},
                                                        {"torch.ComplexFloatStorage", TensorType::c64},
                                                        {"torch.ComplexDoubleStorage", TensorType::c128}}};
// What torch.save asks for where tensors are of a kind that is not read, with the words for it.
struct UnreadTensors {
  const char* name;
  const char* words;
};
constexpr std::array<UnreadTensors, 8> unread_tensors{
    {{"torch._utils._rebuild_tensor_v3",
      "tensors of a number type without a storage class (float8, uint16 ...)"},
     {"torch.storage.UntypedStorage",
      "tensors of a number type without a storage class (float8, uint16 ...)"},
     {"torch._utils._rebuild_qtensor", "quantized tensors"},
     {"torch._utils._rebuild_sparse_tensor", "sparse tensors"},
     {"torch._utils._rebuild_nested_tensor", "nested tensors"},
     {"torch._utils._rebuild_wrapper_subclass",
      "tensors of a class of their own (quantized, distributed ...)"},
     {"torch._tensor._rebuild_from_type_v2", "tensors of a class of their own (quantized, distributed ...)"},
     {"torch._utils._rebuild_meta_tensor_no_storage", "tensors without values (device meta)"}}};
constexpr const char* ordered_dict = "collections.OrderedDict";
constexpr const char* rebuild_tensor = "torch._utils._rebuild_tensor_v2";
constexpr const char* rebuild_parameter = "torch._utils._rebuild_parameter";

// Names of the opcodes for messages, as pickletools gives them.
struct OpcodeName {
  unsigned char code;
  const char* name;
};
constexpr std::array<OpcodeName, 68> opcode_names{{{'(', "MARK"},
                                                   {'.', "STOP"},
                                                   {'0', "POP"},
                                                   {'1', "POP_MARK"},
                                                   {'2', "DUP"},
                                                   {'F', "FLOAT"},
                                                   {'I', "INT"},
                                                   {'J', "BININT"},
                                                   {'K', "BININT1"},
                                                   {'L', "LONG"},
                                                   {'M', "BININT2"},
                                                   {'N', "NONE"},
                                                   {'P', "PERSID"},
                                                   {'Q', "BINPERSID"},
                                                   {'R', "REDUCE"},
                                                   {'S', "STRING"},
                                                   {'T', "BINSTRING"},
                                                   {'U', "SHORT_BINSTRING"},
                                                   {'V', "UNICODE"},
                                                   {'X', "BINUNICODE"},
                                                   {'a', "APPEND"},
                                                   {'b', "BUILD"},
                                                   {'c', "GLOBAL"},
                                                   {'d', "DICT"},
                                                   {'}', "EMPTY_DICT"},
                                                   {'e', "APPENDS"},
                                                   {'g', "GET"},
                                                   {'h', "BINGET"},
                                                   {'i', "INST"},
                                                   {'j', "LONG_BINGET"},
                                                   {'l', "LIST"},
                                                   {']', "EMPTY_LIST"},
                                                   {'o', "OBJ"},
                                                   {'p', "PUT"},
                                                   {'q', "BINPUT"},
                                                   {'r', "LONG_BINPUT"},
                                                   {'s', "SETITEM"},
                                                   {'t', "TUPLE"},
                                                   {')', "EMPTY_TUPLE"},
                                                   {'u', "SETITEMS"},
                                                   {'G', "BINFLOAT"},
                                                   {0x80, "PROTO"},
                                                   {0x81, "NEWOBJ"},
                                                   {0x82, "EXT1"},
                                                   {0x83, "EXT2"},
                                                   {0x84, "EXT4"},
                                                   {0x85, "TUPLE1"},
                                                   {0x86, "TUPLE2"},
                                                   {0x87, "TUPLE3"},
                                                   {0x88, "NEWTRUE"},
                                                   {0x89, "NEWFALSE"},
                                                   {0x8a, "LONG1"},
                                                   {0x8b, "LONG4"},
                                                   {'B', "BINBYTES"},
                                                   {'C', "SHORT_BINBYTES"},
                                                   {0x8c, "SHORT_BINUNICODE"},
                                                   {0x8d, "BINUNICODE8"},
                                                   {0x8e, "BINBYTES8"},
                                                   {0x8f, "EMPTY_SET"},
                                                   {0x90, "ADDITEMS"},
                                                   {0x91, "FROZENSET"},
                                                   {0x92, "NEWOBJ_EX"},
                                                   {0x93, "STACK_GLOBAL"},
                                                   {0x94, "MEMOIZE"},
                                                   {0x95, "FRAME"},
                                                   {0x96, "BYTEARRAY8"},
                                                   {0x97, "NEXT_BUFFER"},
                                                   {0x98, "READONLY_BUFFER"}}};

std::string name_of_opcode(unsigned char code) {
  for (const OpcodeName& opcode : opcode_names) {
    if (opcode.code == code) return opcode.name;
  }
  return fmt::format("0x{:02x}", code);
}

enum class Kind { none, boolean, integer, real, text, global, tuple, list, dict, storage, tensor };

using Index = std::uint32_t;

struct Value {
  Kind kind = Kind::none;
  std::int64_t number = 0;   // boolean, integer; storage and tensor: place among the tensors
  std::string text;          // text; global: "module.name"
  std::vector<Index> items;  // tuple and list; dict: key, value, key, value ...
};

class Machine {
 public:
  Machine(std::span<const std::byte> pickle, const std::string& where) : pickle_(pickle), where_(where) {}

  std::vector<PickledTensor> run() {
    while (step()) {
    }
    if (stack_.size() != 1) fail("the pickle ends with more than one value");
    return tensors_of(stack_[0]);
  }

 private:
  [[noreturn]] void fail(const std::string& what,
                         const std::string& hint =
                             "the file is damaged, or no state dictionary; save it again: "
                             "torch.save(model.state_dict(), FILE)") const {
    throw_bad_input(
        fmt::format("{}: {} (byte {}, opcode {})", where_, what, opcode_at_, name_of_opcode(opcode_)), hint);
  }

  // --- bytes

  std::span<const std::byte> take(std::uint64_t size) {
    if (size > pickle_.size() - at_) fail("the pickle is cut short");
    const std::span<const std::byte> part = pickle_.subspan(at_, size);
    at_ += size;
    return part;
  }
  template <typename Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text(std::uint64_t size) {
    if (size > most_text) fail(fmt::format("a text of {} bytes", size));
    const std::span<const std::byte> part = take(size);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::string line() {
    std::string result;
    for (char letter = number<char>(); letter != '\n'; letter = number<char>()) {
      if (result.size() == most_text) fail("a name without an end");
      result += letter;
    }
    return result;
  }

  // --- values

  Index add(Value value) {
    if (values_.size() == most_values) fail("more than a million values");
    values_.push_back(std::move(value));
    return static_cast<Index>(values_.size() - 1);
  }
  void push(Index index) {
    if (stack_.size() == most_stack) fail("the stack is deeper than 100,000");
    stack_.push_back(index);
  }
  void push(Value value) { push(add(std::move(value))); }
  void push_number(Kind kind, std::int64_t value) { push(Value{kind, value, {}, {}}); }
  Index pop() {
    if (stack_.size() <= floor()) fail("the stack is empty");
    const Index index = stack_.back();
    stack_.pop_back();
    return index;
  }
  Index top() const {
    if (stack_.size() <= floor()) fail("the stack is empty");
    return stack_.back();
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  // What lies above the last mark, which goes.
  std::vector<Index> pop_mark() {
    if (marks_.empty()) fail("there is no mark");
    std::vector<Index> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push_tuple(std::size_t size) {
    std::vector<Index> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push(Value{Kind::tuple, 0, {}, std::move(items)});
  }
  Value& expect(Index index, Kind kind, const char* what) {
    if (values_[index].kind != kind) fail(fmt::format("{} was expected", what));
    return values_[index];
  }

  // --- opcodes

  void memoize(std::uint32_t place) {
    if (place >= most_values) fail("a memo place beyond a million");
    memo_[place] = top();
  }
  void recall(std::uint32_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail(fmt::format("memo place {} is empty", place));
    push(found->second);
  }

  void push_global(const std::string& module, const std::string& name) {
    const std::string joined = module + "." + name;
    const std::string_view full = joined;
    bool known = full == ordered_dict || full == rebuild_tensor || full == rebuild_parameter;
    for (const StorageClass& storage : storage_classes) known = known || full == storage.name;
    for (const UnreadTensors& tensors : unread_tensors) {
      if (full != tensors.name) continue;
      throw_bad_input(
          fmt::format("{}: holds {}, which are not read; plain ones of F64, F32, F16 and BF16 are", where_,
                      tensors.words),
          unread_type_hint(where_));
    }
    if (module == "torch" && name.ends_with("Storage") && !known)
      throw_bad_input(where_ + ": " + unread_type_words("torch." + one_line_name(name)),
                      unread_type_hint(where_));
    if (!known) {
      fail(fmt::format("the pickle asks for {}, and only tensors are read", one_line_name(joined)),
           "no code of a file is run here; in Python: torch.save(model.state_dict(), FILE), or take a file "
           "that you trust");
    }
    push(Value{Kind::global, 0, joined, {}});
  }

  void set_items(Index target, const std::vector<Index>& items) {
    Value& dict = expect(target, Kind::dict, "a dictionary");
    if (items.size() % 2 != 0) fail("a key without a value");
    dict.items.insert(dict.items.end(), items.begin(), items.end());
  }

  // ('storage', class, key, location, elements)
  void persistent_storage() {
    const std::vector<Index>& parts = expect(pop(), Kind::tuple, "a storage").items;
    if (parts.size() != 5 || expect(parts[0], Kind::text, "a storage").text != "storage") {
      fail("a persistent id that is not a storage");
    }
    PickledTensor storage;
    const std::string& name = expect(parts[1], Kind::global, "a storage class").text;
    bool known = false;
    for (const StorageClass& entry : storage_classes) {
      if (name != entry.name) continue;
      storage.type = entry.type;
      known = true;
    }
    if (!known) fail(fmt::format("{} is not a storage class", name));
    storage.storage = expect(parts[2], Kind::text, "a storage key").text;
    if (storage.storage.size() > most_storage_key) fail("a storage key of more than 64 bytes");
    storage.storage_elements = size_of(parts[4], "the size of a storage");
    add_tensor(Kind::storage, std::move(storage));
  }

  std::uint64_t size_of(Index index, const char* what) {
    const std::int64_t value = expect(index, Kind::integer, what).number;
    if (value < 0) fail(fmt::format("{} is negative", what));
    return static_cast<std::uint64_t>(value);
  }
  std::vector<std::int64_t> sizes(Index index, const char* what) {
    const std::vector<Index>& items = expect(index, Kind::tuple, what).items;
    if (items.size() > most_pickled_axes) fail(fmt::format("{} of {} axes", what, items.size()));
    std::vector<std::int64_t> result;
    for (const Index item : items) result.push_back(static_cast<std::int64_t>(size_of(item, what)));
    return result;
  }
  void add_tensor(Kind kind, PickledTensor tensor) {
    if (tensors_.size() == most_tensors) fail("more than 200,000 tensors and storages");
    tensors_.push_back(std::move(tensor));
    push_number(kind, static_cast<std::int64_t>(tensors_.size()) - 1);
  }

  void reduce() {
    const Index tuple = pop();
    if (expect(tuple, Kind::tuple, "a tuple of arguments").items.size() > most_arguments)
      fail("too many arguments");
    const std::vector<Index> arguments = values_[tuple].items;
    const std::string called = expect(pop(), Kind::global, "a function").text;
    if (called == ordered_dict && arguments.empty()) {
      push(Value{Kind::dict, 0, {}, {}});
    } else if (called == rebuild_tensor && arguments.size() >= 6) {
      // (storage, offset, shape, strides, requires_grad, hooks, ...)
      const Value& storage = expect(arguments[0], Kind::storage, "a storage");
      PickledTensor tensor = tensors_[static_cast<std::size_t>(storage.number)];
      tensor.offset = size_of(arguments[1], "the offset of a tensor");
      tensor.shape = sizes(arguments[2], "a shape");
      tensor.strides = sizes(arguments[3], "strides");
      if (tensor.shape.size() != tensor.strides.size()) fail("a shape and strides of different lengths");
      add_tensor(Kind::tensor, std::move(tensor));
    } else if (called == rebuild_parameter && !arguments.empty()) {  // (tensor, requires_grad, hooks)
      expect(arguments[0], Kind::tensor, "a tensor");
      push(arguments[0]);
    } else {
      fail(fmt::format("{} is called with {} arguments", called, arguments.size()));
    }
  }

  void long_integer(std::size_t size) {
    if (size > 8) fail("an integer of more than 64 bits");
    const std::span<const std::byte> bytes = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    const bool negative = size > 0 && size < 8 && (std::to_integer<unsigned>(bytes[size - 1]) & 0x80u) != 0;
    if (negative) value |= ~std::uint64_t{0} << (8 * size);
    push_number(Kind::integer, static_cast<std::int64_t>(value));
  }

  // One opcode; false after STOP.
  bool step() {
    opcode_at_ = at_;
    opcode_ = number<unsigned char>();
    switch (opcode_) {
      case 0x80:  // PROTO
        if (const auto protocol = number<unsigned char>(); protocol < 2 || protocol > 5) {
          fail(fmt::format("pickle protocol {}; 2 to 5 are read", protocol));
        }
        return true;
      case 0x95:  // FRAME
        take(8);
        return true;
      case '.':  // STOP
        return false;
      case '(':  // MARK
        if (marks_.size() == most_marks) fail("nested deeper than 1,000");
        marks_.push_back(stack_.size());
        return true;
      case '0':  // POP
        pop();
        return true;
      case 'N':
        push(Value{});
        return true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        push_number(Kind::boolean, opcode_ == 0x88 ? 1 : 0);
        return true;
      case 'K':  // BININT1
        push_number(Kind::integer, number<std::uint8_t>());
        return true;
      case 'M':  // BININT2
        push_number(Kind::integer, number<std::uint16_t>());
        return true;
      case 'J':  // BININT
        push_number(Kind::integer, number<std::int32_t>());
        return true;
      case 0x8a:  // LONG1
        long_integer(number<std::uint8_t>());
        return true;
      case 'G':  // BINFLOAT: never part of a tensor's description
        take(8);
        push(Value{Kind::real, 0, {}, {}});
        return true;
      case 'X':  // BINUNICODE
        push(Value{Kind::text, 0, text(number<std::uint32_t>()), {}});
        return true;
      case 0x8c:  // SHORT_BINUNICODE
        push(Value{Kind::text, 0, text(number<std::uint8_t>()), {}});
        return true;
      case 0x8d:  // BINUNICODE8
        push(Value{Kind::text, 0, text(number<std::uint64_t>()), {}});
        return true;
      case ')':  // EMPTY_TUPLE
      case 0x85:
      case 0x86:
      case 0x87:
        push_tuple(opcode_ == ')' ? 0 : opcode_ - 0x84u);
        return true;
      case 't':  // TUPLE
        push(Value{Kind::tuple, 0, {}, pop_mark()});
        return true;
      case ']':  // EMPTY_LIST
        push(Value{Kind::list, 0, {}, {}});
        return true;
      case 'a': {  // APPEND
        const Index item = pop();
        expect(top(), Kind::list, "a list").items.push_back(item);
        return true;
      }
      case 'e': {  // APPENDS
        const std::vector<Index> items = pop_mark();
        Value& list = expect(top(), Kind::list, "a list");
        list.items.insert(list.items.end(), items.begin(), items.end());
        return true;
      }
      case '}':  // EMPTY_DICT
        push(Value{Kind::dict, 0, {}, {}});
        return true;
      case 's': {  // SETITEM
        const Index value = pop(), key = pop();
        set_items(top(), {key, value});
        return true;
      }
      case 'u': {  // SETITEMS
        const std::vector<Index> items = pop_mark();
        set_items(top(), items);
        return true;
      }
      case 'q':  // BINPUT
        memoize(number<std::uint8_t>());
        return true;
      case 'r':  // LONG_BINPUT
        memoize(number<std::uint32_t>());
        return true;
      case 0x94:  // MEMOIZE
        memoize(static_cast<std::uint32_t>(memo_.size()));
        return true;
      case 'h':  // BINGET
        recall(number<std::uint8_t>());
        return true;
      case 'j':  // LONG_BINGET
        recall(number<std::uint32_t>());
        return true;
      case 'c': {  // GLOBAL
        const std::string module = line();
        push_global(module, line());
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const std::string name = expect(pop(), Kind::text, "a name").text;
        push_global(expect(pop(), Kind::text, "a module").text, name);
        return true;
      }
      case 'Q':  // BINPERSID
        persistent_storage();
        return true;
      case 'R':  // REDUCE
        reduce();
        return true;
      case 'b':  // BUILD: the attributes of an OrderedDict (_metadata) say nothing about the tensors
        pop();
        expect(top(), Kind::dict, "a dictionary to give attributes to");
        return true;
      default:
        fail("an opcode that no state dictionary needs",
             "no code of a file is run here; in Python: torch.save(model.state_dict(), FILE), or take a file "
             "that you trust");
    }
  }

  std::vector<PickledTensor> tensors_of(Index top) {
    const Value& dict = expect(top, Kind::dict, "a dictionary of tensors");
    std::vector<PickledTensor> result;
    std::set<std::string> names;
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const std::string& name = expect(dict.items[i], Kind::text, "a text as key").text;
      const Value& value = values_[dict.items[i + 1]];
      if (value.kind != Kind::tensor) {
        fail(fmt::format("'{}' in the dictionary is not a tensor", one_line_name(name)),
             "save only the state dictionary: torch.save(model.state_dict(), FILE)");
      }
      if (!names.insert(name).second) fail(fmt::format("tensor {} is listed twice", one_line_name(name)));
      result.push_back(tensors_[static_cast<std::size_t>(value.number)]);
      result.back().name = name;
    }
    return result;
  }

  std::span<const std::byte> pickle_;
  const std::string& where_;
  std::uint64_t at_ = 0;
  std::uint64_t opcode_at_ = 0;
  unsigned char opcode_ = 0x80;
  std::vector<Value> values_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint32_t, Index> memo_;
  std::vector<PickledTensor> tensors_;  // of every storage and tensor seen
};

}  // namespace

std::vector<PickledTensor> read_torch_pickle(std::span<const std::byte> pickle, const std::string& where) {
  if (pickle.size() > most_pickle_bytes) {
    throw_bad_input(fmt::format("{}: a pickle of {} bytes; at most 64 MB are read", where, pickle.size()),
                    "weights belong into the archive's data/ entries, as torch.save puts them");
  }
  return Machine(pickle, where).run();
}

}  // namespace bigbird
