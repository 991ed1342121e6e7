// The members of a JSON object in the order in which they came, each found in constant time. nlohmann's own
// ordered_map searches from the front, so that an object of n keys takes n * n comparisons to read; this one
// takes its place: `using Json = nlohmann::basic_json<OrderedMap>;`.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bigbird {

// What nlohmann::basic_json wants of an ObjectType. Key must convert to std::string_view. Invalidation as
// std::vector. The third parameter, an order of keys, is not used.
template <class Key, class Value, class Order = std::less<>,
          class Allocator = std::allocator<std::pair<const Key, Value>>>
class OrderedMap : public std::vector<std::pair<const Key, Value>, Allocator> {
  using Members = std::vector<std::pair<const Key, Value>, Allocator>;
  template <class Other>
  using IfKey = std::enable_if_t<std::is_convertible_v<const Other&, std::string_view>, int>;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using key_compare = std::equal_to<>;
  using typename Members::const_iterator;
  using typename Members::iterator;
  using typename Members::size_type;
  using typename Members::value_type;

  OrderedMap() = default;
  explicit OrderedMap(const Allocator& allocator) : Members(allocator) {}
  template <class Iterator>
  OrderedMap(Iterator first, Iterator last, const Allocator& allocator = Allocator()) : Members(allocator) {
    insert(first, last);
  }
  OrderedMap(std::initializer_list<value_type> members, const Allocator& allocator = Allocator())
      : Members(allocator) {
    insert(members.begin(), members.end());
  }

  template <class Other, IfKey<Other> = 0>
  std::pair<iterator, bool> emplace(Other&& key, Value&& value) {
    const std::size_t place = place_of(key);
    if (place != Members::size()) return {at_place(place), false};
    Members::emplace_back(std::forward<Other>(key), std::move(value));
    remember(place);
    return {at_place(place), true};
  }
  std::pair<iterator, bool> insert(value_type&& member) {
    return emplace(member.first, std::move(member.second));
  }
  std::pair<iterator, bool> insert(const value_type& member) {
    return emplace(member.first, Value(member.second));
  }
  template <class Iterator, typename = typename std::iterator_traits<Iterator>::iterator_category>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(value_type(*first));
  }

  template <class Other, IfKey<Other> = 0>
  Value& operator[](Other&& key) {
    return emplace(std::forward<Other>(key), Value{}).first->second;
  }
  template <class Other, IfKey<Other> = 0>
  const Value& operator[](const Other& key) const {
    return at(key);
  }
  template <class Other, IfKey<Other> = 0>
  Value& at(const Other& key) {
    return at_place(known_place(key))->second;
  }
  template <class Other, IfKey<Other> = 0>
  const Value& at(const Other& key) const {
    return (*this).data()[known_place(key)].second;
  }
  template <class Other, IfKey<Other> = 0>
  size_type count(const Other& key) const {
    return place_of(key) == Members::size() ? 0 : 1;
  }
  template <class Other, IfKey<Other> = 0>
  iterator find(const Other& key) {
    return at_place(place_of(key));
  }
  template <class Other, IfKey<Other> = 0>
  const_iterator find(const Other& key) const {
    return Members::begin() + static_cast<std::ptrdiff_t>(place_of(key));
  }

  template <class Other, IfKey<Other> = 0>
  size_type erase(const Other& key) {
    const std::size_t place = place_of(key);
    if (place == Members::size()) return 0;
    erase(at_place(place));
    return 1;
  }
  iterator erase(iterator member) { return erase(member, std::next(member)); }
  iterator erase(iterator first, iterator last) {
    // Keys cannot be assigned: what stays behind is built again.
    const std::ptrdiff_t place = first - Members::begin();
    Members kept(Members::get_allocator());
    kept.reserve(Members::size());
    for (iterator member = Members::begin(); member != first; ++member) kept.push_back(std::move(*member));
    for (iterator member = last; member != Members::end(); ++member) kept.push_back(std::move(*member));
    Members::swap(kept);
    index_.clear();
    return Members::begin() + place;
  }
  void clear() noexcept {
    Members::clear();
    index_.clear();
  }
  void swap(OrderedMap& other) noexcept {
    Members::swap(other);
    index_.swap(other.index_);
  }

 private:
  // Fewer are searched from the front.
  static constexpr std::size_t most_without_index = 16;

  iterator at_place(std::size_t place) { return Members::begin() + static_cast<std::ptrdiff_t>(place); }

  // The place of a key; size() for one that is not there.
  std::size_t place_of(std::string_view key) const {
    const std::size_t size = Members::size();
    if (size <= most_without_index || index_.empty()) {
      std::size_t place = 0;
      while (place < size && std::string_view((*this).data()[place].first) != key) ++place;
      return place;
    }
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & (index_.size() - 1)) {
      const std::uint32_t place = index_[slot];
      if (place == 0) return size;
      if (std::string_view((*this).data()[place - 1].first) == key) return place - 1;
    }
  }
  template <class Other>
  std::size_t known_place(const Other& key) const {
    const std::size_t place = place_of(key);
    if (place == Members::size()) throw std::out_of_range("key not found");
    return place;
  }

  std::size_t slot_of(std::string_view key) const {
    return std::hash<std::string_view>{}(key) & (index_.size() - 1);
  }

  // Puts the last member, at `place`, into the index; makes the index larger, or for the first time.
  void remember(std::size_t place) {
    const std::size_t size = place + 1;
    if (size <= most_without_index) return;
    const bool grow = index_.size() < 2 * size;
    if (grow) index_.assign(index_.empty() ? 4 * std::bit_ceil(size) : 2 * index_.size(), 0);
    for (std::size_t i = grow ? 0 : place; i < size; ++i) {
      std::size_t slot = slot_of((*this).data()[i].first);
      while (index_[slot] != 0) slot = (slot + 1) & (index_.size() - 1);
      index_[slot] = static_cast<std::uint32_t>(i + 1);
    }
  }

  // Open addressing: a power of two of slots, each 0 or the place of a member and 1. Empty: no index, as
  // after a member was taken out; the next one that is added makes it anew.
  std::vector<std::uint32_t> index_;
};

}  // namespace bigbird
