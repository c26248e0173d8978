// What devices hold of something that never changes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace nearfield {

// Made by the first search on a device, for those that follow; gone with what has it.
class DeviceCopies {
 public:
  // That of the device, or what `make` gives: of null nothing is kept.
  template <class Copy, class Make>
  std::shared_ptr<const Copy> of(const void* device, const Make& make) const {
    const std::lock_guard lock(mutex_);
    for (const Held& held : held_) {
      if (held.device == device) return std::static_pointer_cast<const Copy>(held.copy);
    }
    std::shared_ptr<const Copy> made = make();
    if (made != nullptr) held_.push_back({device, made});
    return made;
  }

 private:
  struct Held {
    const void* device;
    std::shared_ptr<const void> copy;
  };

  mutable std::mutex mutex_;
  mutable std::vector<Held> held_;
};

}  // namespace nearfield
