//===- Words.h - The argument words of ready kernels -----------*- C++ -*-===//
//
// Ready kernels are compiled with the package. What a launch computes stands in its argument words:
//
//   expression  rank, reduced dimensions, reduction, registers, leaves, instructions, the result's
//               register, its dtype, address, and strides over the parallel dimensions; sizes of
//               the iteration dimensions, parallel ones first; leaves; instructions
//   contract    the dtype of lhs, rhs and result, address of each; the numbers of batch, m, n and k
//               dimensions, their sizes; strides of lhs over batch, m and k, of rhs over batch, n
//               and k. The result is dense.
//   scan        reduction, dtype, address of input and result, outer size, length, inner size,
//               strides of the input over the three; the result is dense
//   scan_by_key the same, then the keys' dtype, address, strides, and how many keys there are
//   scatter_add dtype, address of the dense result, rank, dimension, its sizes; sizes of the
//               sources, their address and strides; dtype, address and strides of the indices
//   scatter     dtype, address of the dense result, rows, row length; rank and sizes of the
//               sources, address, strides; dtype, address and strides of the indices
//   argsort     dtype, address of the input, address of the dense result, rows' rank, their sizes,
//               length, results for each row, whether it descends; strides over rows, then along
//   take_rows   bytes of an element, elements of a row, address of the dense result; outer rank and
//               sizes, address of the table, its strides over them; how many indices there are, and
//               of each the dtype, address, strides, the table's size and stride along its
//               dimension
//   check       rank, sizes; address and strides of the condition; dtype, address and strides of
//               the value
//
// An expression is evaluated in blocks of elements that stay in the cache. A register holds a block
// in a compute type. A leaf fills one from memory (or uses the memory itself, where it is dense and
// of the compute type), with a constant, or with an affine function of the indices.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_INTERPRETER_READY_WORDS_H
#define TESSERA_LIB_INTERPRETER_READY_WORDS_H

#include "tessera/Support/DType.h"
#include "tessera/Support/ScalarOps.h"

#include <cstdint>

namespace tessera::ready {

/// The types that expressions compute in. Floats narrower than F32 are computed in F32.
enum class Compute : uint8_t { F64, F32, I64, I32, I16, I8, U8, B8 };
inline constexpr unsigned numComputes = 8;

constexpr Compute computeOf(DType dtype) {
  switch (dtype) {
  case DType::FP64:
    return Compute::F64;
  case DType::Int64:
    return Compute::I64;
  case DType::Int32:
    return Compute::I32;
  case DType::Int16:
    return Compute::I16;
  case DType::Int8:
    return Compute::I8;
  case DType::UInt8:
    return Compute::U8;
  case DType::Bool:
    return Compute::B8;
  default:
    return Compute::F32;
  }
}

/// The format of an integer compute type.
constexpr DType dtypeOf(Compute type) {
  constexpr DType types[] = {DType::FP64,  DType::FP32, DType::Int64, DType::Int32,
                             DType::Int16, DType::Int8, DType::UInt8, DType::Bool};
  return types[unsigned(type)];
}

inline constexpr unsigned maxRank = 16, maxRegisters = 64, maxLeaves = 48, maxInstructions = 96;
inline constexpr int64_t blockElements = 512, registerBytes = blockElements * 8;

/// What fills a register: its kind, dtype and register; then an address, the bits of a constant or
/// the value at index 0; then strides over the iteration dimensions.
struct LeafWord {
  enum Kind : uint8_t { Memory, Constant, Iota, Base };
  Kind kind;   ///< Base: an address for `take`
  DType dtype; ///< of Constant and Iota: any dtype of their compute type
  uint16_t destination;

  static int64_t encode(Kind kind, DType dtype, unsigned destination) {
    return int64_t(kind) | int64_t(dtype) << 8 | int64_t(destination) << 16;
  }
  static LeafWord decode(int64_t word) {
    return {Kind(word & 0xff), DType(word >> 8 & 0xff), uint16_t(word >> 16)};
  }
};

/// Operations of instructions: those of ScalarOps.def, and further ones.
enum Opcode : uint16_t {
  OpCast = 512, ///< from the compute type c
  OpRound,      ///< to the float dtype c
  OpNarrow,     ///< F64 to F32, so that another rounding to a narrower type is the only one
  OpTake,       ///< the element of dtype c, at offset a from base b
};

struct Instruction {
  uint16_t op;
  Compute type; ///< of the operands; of a cast, of the result
  uint16_t destination, a, b, c;

  int64_t encode() const {
    return int64_t(op) | int64_t(type) << 12 | int64_t(destination) << 16 | int64_t(a) << 28 |
           int64_t(b) << 40 | int64_t(c) << 52;
  }
  static Instruction decode(int64_t word) {
    auto bits = uint64_t(word);
    auto field = [&](unsigned at) { return uint16_t(bits >> at & 0xfff); };
    return {field(0), Compute(bits >> 12 & 0xf), field(16), field(28), field(40), field(52)};
  }
};

} // namespace tessera::ready

#endif
