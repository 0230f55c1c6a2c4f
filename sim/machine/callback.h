#pragma once

#include <cstdint>

namespace hoccl::sim {

/// What to call when something happens: a function, the object it acts on and one argument.
/// Three words, copied freely and never allocated, because a run makes millions of them. The
/// object must outlive the event.
class Callback {
 public:
  using Function = void (*)(void* object, std::uint64_t argument);

  constexpr Callback() = default;
  constexpr Callback(Function function, void* object, std::uint64_t argument = 0)
      : function_(function), object_(object), argument_(argument) {}

  /// `Callback::to<&Proxy::copy_done>(*this, ticket)` calls `this->copy_done(ticket)`; a method
  /// without a parameter may be named too.
  template <auto kMethod, class Object>
  static Callback to(Object& object, std::uint64_t argument = 0) {
    return Callback(
        [](void* target, std::uint64_t value) {
          auto* self = static_cast<Object*>(target);
          if constexpr (requires { (self->*kMethod)(value); }) {
            (self->*kMethod)(value);
          } else {
            (self->*kMethod)();
          }
        },
        &object, argument);
  }

  explicit constexpr operator bool() const { return function_ != nullptr; }
  void operator()() const {
    if (function_ != nullptr) function_(object_, argument_);
  }

 private:
  Function function_ = nullptr;
  void* object_ = nullptr;
  std::uint64_t argument_ = 0;
};

}  // namespace hoccl::sim
