//===- Values.h - Scalars and tiles of simulated warps ---------*- C++ -*-===//
//
// Floats are doubles, rounded to their element type after every operation; integers and bools have
// 64 bits, wrapped. A tile is the part of it that one warp holds: registers of 32 lanes each.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_SIMULATOR_VALUES_H
#define TESSERA_LIB_SIMULATOR_VALUES_H

#include "mlir/IR/BuiltinTypes.h"
#include "tessera/Support/DType.h"
#include "tessera/Support/ScalarEval.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace tessera::simulator {

inline constexpr unsigned kLanes = 32;

/// A float in `real`, anything else in `integer`.
union Number {
  double real;
  int64_t integer;
};
inline Number real(double value) { return {.real = value}; }
inline Number integer(int64_t value) { return {.integer = value}; }

/// An element type: how values are rounded or wrapped to it, and their bits in memory.
class Element {
public:
  Element() = default;
  /// None for a type that is no element type of tiles.
  static std::optional<Element> of(mlir::Type type);

  bool isFloat() const { return floating; }
  bool isTf32() const { return tf32; }
  unsigned bytes() const { return width; }
  DType dtype() const { return type; }
  IntegerFormat format() const;

  double round(double value) const;
  Number wrap(int64_t value) const { return integer(format().wrap(value)); }
  /// Converts a value to this type.
  Number convert(Number value, const Element &from) const;

  /// The bits of a value in memory, and back.
  uint64_t encode(Number value) const;
  Number decode(uint64_t bits) const;
  Number load(const std::byte *from) const;
  void store(std::byte *to, Number value) const;

private:
  DType type = DType::Int64;
  unsigned width = 8;
  bool floating = false, tf32 = false;
};

/// The registers of a warp, register by register: value `reg * 32 + lane`. Immutable.
struct Tile : llvm::RefCountedBase<Tile> {
  std::vector<Number> values;
  uint64_t made = ++count; ///< a time stamp, as a count of the tiles of this host thread
  int64_t group = 0;       ///< the group of MMA in flight that writes it; 0: none
  explicit Tile(size_t count, Number each = integer(0)) : values(count, each) {}
  static thread_local uint64_t count;
};
using TileRef = llvm::IntrusiveRefCntPtr<Tile>;

/// Applies an operation of the scalar vocabulary to each of `count` values.
void evaluateMap(ScalarOp op, const Element &operand, const Element &result,
                 const std::vector<const Number *> &inputs, Number *to, size_t count);

/// Combines two partial results of a reduction.
Number combine(ReduceOp op, const Element &element, Number a, Number b, bool skipNan);

} // namespace tessera::simulator

#endif
