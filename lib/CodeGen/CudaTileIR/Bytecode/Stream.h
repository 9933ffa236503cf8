//===- Stream.h - Byte streams ----------------------------------*- C++ -*-===//
//
// The reader's failure is sticky: after the first malformed byte every read returns zero, and the
// first message is reported. Loops over a number from the file use count(), which rejects numbers
// that the remaining bytes cannot hold, so that the cost of an input is bounded by its size.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CUDATILEIR_BYTECODE_STREAM_H
#define TESSERA_LIB_CODEGEN_CUDATILEIR_BYTECODE_STREAM_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::cudatile {

/// The byte that fills alignment gaps.
inline constexpr uint8_t kPaddingByte = 0xCB;

class ByteReader {
public:
  /// `base` is the offset of the bytes in the file, for messages.
  ByteReader(std::span<const uint8_t> bytes, size_t base, std::string &error)
      : bytes(bytes), base(base), error(error) {}

  bool ok() const { return error.empty(); }
  bool atEnd() const { return position == bytes.size(); }
  size_t remaining() const { return bytes.size() - position; }
  size_t offset() const { return base + position; }

  /// Records an error, unless there is one already. Returns false.
  bool fail(const std::string &message) {
    if (ok())
      error = "offset " + std::to_string(offset()) + ": " + message;
    position = bytes.size();
    return false;
  }

  uint8_t byte() {
    if (!remaining()) {
      fail("unexpected end");
      return 0;
    }
    return bytes[position++];
  }

  uint64_t varint() {
    auto [low, high] = wideVarint();
    if (high)
      fail("number of more than 64 bits");
    return low;
  }

  int64_t signedVarint() {
    uint64_t value = varint();
    return int64_t((value >> 1) ^ (0 - (value & 1)));
  }

  /// Reads up to 70 bits, as the low 64 and the rest.
  std::pair<uint64_t, uint64_t> wideVarint() {
    uint64_t low = 0, high = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      uint8_t next = byte();
      low |= uint64_t(next & 0x7f) << shift;
      if (shift == 63)
        high = (next & 0x7f) >> 1;
      if (!(next & 0x80))
        return {low, high};
    }
    fail("number of more than 70 bits");
    return {0, 0};
  }

  uint64_t littleEndian(unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i)
      value |= uint64_t(byte()) << (8 * i);
    return value;
  }

  int64_t signedLittleEndian(unsigned width) {
    uint64_t value = littleEndian(width);
    unsigned unused = 64 - 8 * width;
    return int64_t(value << unused) >> unused;
  }

  /// Reads a number of elements that take at least `size` bytes each.
  size_t count(const char *what, size_t size = 1) {
    uint64_t value = varint();
    if (value > remaining() / size) {
      fail(std::to_string(value) + " " + what + " do not fit in " + std::to_string(remaining()) +
           " bytes");
      return 0;
    }
    return ok() ? value : 0;
  }

  std::span<const uint8_t> take(size_t size) {
    if (size > remaining()) {
      fail("unexpected end");
      return {};
    }
    position += size;
    return bytes.subspan(position - size, size);
  }

  /// Skips the bytes up to a multiple of `alignment`, relative to the start of this reader.
  void alignTo(size_t alignment) {
    while (ok() && position % alignment)
      if (byte() != kPaddingByte)
        fail("expected padding");
  }

private:
  std::span<const uint8_t> bytes;
  size_t base;
  size_t position = 0;
  std::string &error;
};

class ByteWriter {
public:
  std::vector<uint8_t> bytes;

  void byte(uint8_t value) { bytes.push_back(value); }

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      byte(uint8_t(value) | 0x80);
    byte(uint8_t(value));
  }

  void signedVarint(int64_t value) { varint((uint64_t(value) << 1) ^ uint64_t(value >> 63)); }

  void littleEndian(uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i)
      byte(uint8_t(value >> (8 * i)));
  }

  void append(std::span<const uint8_t> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  }

  void alignTo(size_t alignment) {
    while (bytes.size() % alignment)
      byte(kPaddingByte);
  }
};

} // namespace tessera::cudatile

#endif
