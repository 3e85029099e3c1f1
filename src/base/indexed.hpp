// A vector whose index is an id, an enum or an int, without a cast at every use. A key of another
// type does not compile.
//
//   Indexed<Layer, LayerId> layers;   layers[layer], layers[0], layers[i]
//   Indexed<double> sums(stages);     sums[s]
//
// As with std::vector, nothing checks that an index is below size().
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace pipetrain {

template <class Key>
constexpr std::size_t position_of(Key key) {
  if constexpr (std::is_integral_v<Key> || std::is_enum_v<Key>)
    return static_cast<std::size_t>(key);
  else
    return static_cast<std::size_t>(key.value);
}

template <class T, class Key = int>
class Indexed : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  Indexed() = default;
  Indexed(Base values) : Base(std::move(values)) {}  // NOLINT: a vector is one already
  explicit Indexed(int size, const T& value = T()) : Base(position_of(size), value) {}

  decltype(auto) operator[](Key key) { return Base::operator[](position_of(key)); }
  decltype(auto) operator[](Key key) const { return Base::operator[](position_of(key)); }
  template <std::integral I>
  requires(!std::same_as<I, Key>) decltype(auto) operator[](I i) {
    return Base::operator[](position_of(i));
  }
  template <std::integral I>
  requires(!std::same_as<I, Key>) decltype(auto) operator[](I i) const {
    return Base::operator[](position_of(i));
  }
};

// One element for each value of an enum, which is the index.
template <class T, std::size_t size, class Key>
struct IndexedArray : std::array<T, size> {
  using std::array<T, size>::operator[];
  T& operator[](Key key) { return (*this)[position_of(key)]; }
  const T& operator[](Key key) const { return (*this)[position_of(key)]; }
};

}  // namespace pipetrain
