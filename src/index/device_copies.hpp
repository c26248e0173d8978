// What devices hold of something that never changes.
#pragma once

#include <memory>
#include <mutex>
#include <typeindex>
#include <vector>

namespace nearfield {

// Made by the first search on a device, for those that follow; gone with what has it.
class DeviceCopies {
 public:
  // That of the device and this type, or what `make` gives: of null nothing is kept.
  template <class Copy, class Make>
  std::shared_ptr<const Copy> of(const void* device, const Make& make) const {
    const std::lock_guard lock(mutex_);
    for (const Held& held : held_) {
      if (held.device == device && held.type == typeid(Copy)) {
        return std::static_pointer_cast<const Copy>(held.copy);
      }
    }
    std::shared_ptr<const Copy> made = make();
    if (made != nullptr) held_.push_back({device, typeid(Copy), made});
    return made;
  }

  // Of any type: gone when the last search that uses them ends.
  void forget(const void* device) const {
    const std::lock_guard lock(mutex_);
    std::erase_if(held_, [&](const Held& held) { return held.device == device; });
  }

 private:
  struct Held {
    const void* device;
    std::type_index type;
    std::shared_ptr<const void> copy;
  };

  mutable std::mutex mutex_;
  mutable std::vector<Held> held_;
};

}  // namespace nearfield
