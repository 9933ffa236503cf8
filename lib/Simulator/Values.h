//===- Values.h - Numbers and tiles of simulated warps ---------*- C++ -*-===//
//
// Floats are held in double, rounded to their element type after every operation; integers and
// bools in 64 bits, wrapped. A tile is what one warp holds of it: its registers, of 32 lanes each.
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

/// An element type: what its numbers are rounded or wrapped to, and how they lie in memory.
class Element {
public:
  Element() = default;
  /// Nothing for a type that no tile has.
  static std::optional<Element> of(mlir::Type type);

  bool isFloat() const { return floating; }
  unsigned bytes() const { return width; }
  DType dtype() const { return type; }
  IntegerFormat format() const;

  double round(double value) const;
  Number wrap(int64_t value) const { return integer(format().wrap(value)); }
  /// The number in this type.
  Number convert(Number value, const Element &from) const;

  /// The bits in memory, and back.
  uint64_t encode(Number value) const;
  Number decode(uint64_t bits) const;
  Number load(const std::byte *from) const;
  void store(std::byte *to, Number value) const;

private:
  DType type = DType::Int64;
  unsigned width = 8;
  bool floating = false, tf32 = false;
};

/// The registers of a warp, register by register: number `reg * 32 + lane`. Never changed once
/// made.
struct Tile : llvm::RefCountedBase<Tile> {
  std::vector<Number> numbers;
  uint64_t made = ++count; ///< when, among the tiles of this thread of the host
  int64_t group = 0;       ///< of products that goes on until it is waited for; 0: of none
  explicit Tile(size_t count, Number each = integer(0)) : numbers(count, each) {}
  static thread_local uint64_t count;
};
using TileRef = llvm::IntrusiveRefCntPtr<Tile>;

/// The value of an operation of the scalar vocabulary for each number; inputs have `count` numbers.
void evaluateMap(ScalarOp op, const Element &operand, const Element &result,
                 const std::vector<const Number *> &inputs, Number *to, size_t count);

/// Joins two partial results of a reduction.
Number join(ReduceOp op, const Element &element, Number a, Number b, bool skipNan);

} // namespace tessera::simulator

#endif
