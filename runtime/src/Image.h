//===- Image.h - A code image mapped into the process ---------------------===//

#ifndef TESSERA_RT_SRC_IMAGE_H
#define TESSERA_RT_SRC_IMAGE_H

#include <cstdint>
#include <span>
#include <string>

namespace tessera::rt {

/// Position-independent code in a separate mapping: written once, then executable and never
/// writable again.
class Image {
public:
  Image() = default;
  Image(Image &&other) noexcept : base(other.base), length(other.length) { other.base = nullptr; }
  Image(const Image &) = delete;
  ~Image();

  bool map(std::span<const uint8_t> code, std::string &error);
  const void *at(uint64_t offset) const { return static_cast<const uint8_t *>(base) + offset; }

private:
  void *base = nullptr;
  size_t length = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_IMAGE_H
