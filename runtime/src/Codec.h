//===- Codec.h - Little-endian writing and bounds-checked reading ---------===//
//
// The reader never reads past its end: after the first failure every further read returns zero, and
// `ok()` is false.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_CODEC_H
#define TESSERA_RT_SRC_CODEC_H

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::rt {

class Writer {
public:
  void u8(uint8_t value) { bytes.push_back(value); }
  void u32(uint32_t value) { integer(value, 4); }
  void u64(uint64_t value) { integer(value, 8); }
  void i64(int64_t value) { integer(static_cast<uint64_t>(value), 8); }
  void raw(const void *data, size_t length) {
    auto *begin = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), begin, begin + length);
  }
  void string(std::string_view text) {
    u32(static_cast<uint32_t>(text.size()));
    raw(text.data(), text.size());
  }
  void alignTo(size_t alignment) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  }

  std::vector<uint8_t> bytes;

private:
  void integer(uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
};

class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  bool ok() const { return good; }
  bool atEnd() const { return good && position == bytes.size(); }
  size_t remaining() const { return bytes.size() - position; }
  /// The value is invalid.
  void refuse() { good = false; }

  uint8_t u8() { return static_cast<uint8_t>(integer(1)); }
  uint32_t u32() { return static_cast<uint32_t>(integer(4)); }
  uint64_t u64() { return integer(8); }
  int64_t i64() { return static_cast<int64_t>(integer(8)); }

  std::span<const uint8_t> raw(uint64_t length) {
    if (!good || length > remaining()) {
      good = false;
      return {};
    }
    auto result = bytes.subspan(position, length);
    position += length;
    return result;
  }

  std::string string() {
    auto data = raw(u32());
    return {data.begin(), data.end()};
  }

  /// A count of elements that take at least `least` bytes each: an impossible count is a failure,
  /// so that a corrupt count never causes large allocations.
  uint32_t count(size_t least) {
    uint32_t value = u32();
    if (value > remaining() / least)
      good = false;
    return good ? value : 0;
  }

private:
  uint64_t integer(unsigned length) {
    auto data = raw(length);
    uint64_t value = 0;
    for (size_t i = 0; i < data.size(); ++i)
      value |= static_cast<uint64_t>(data[i]) << (8 * i);
    return value;
  }

  std::span<const uint8_t> bytes;
  size_t position = 0;
  bool good = true;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_CODEC_H
