#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace dynquant {

/// std::variant whose copy may throw. libstdc++ 12 takes strings and lists for alternatives that never leave a variant
/// without a value; where the copy of one throws, it destroys an alternative that was never made: clang++'s programs
/// die.
template <typename... T>
class copyable_variant : public std::variant<T...> {
  public:
    using base = std::variant<T...>;
    using base::base;

    copyable_variant(const copyable_variant &other)
        : base(std::visit([]<typename U>(const U &value) { return base(std::in_place_type<U>, value); },
                static_cast<const base &>(other))) {}
    copyable_variant(copyable_variant &&) noexcept = default;
    copyable_variant &operator=(copyable_variant other) noexcept {
        base::operator=(std::move(static_cast<base &>(other)));
        return *this;
    }
    ~copyable_variant() = default;
};

} // namespace dynquant
