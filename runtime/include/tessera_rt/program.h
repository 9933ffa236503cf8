//===- program.h - The host program of a compiled function, as data -------===//
//
// A Program says everything the host does in a call: which sizes and strides of the arguments it
// needs (slots), what must hold (guards), what comes out (results), which memory it needs between
// kernels (temporaries), and the launches in order (steps). The compiler builds one and encodes it;
// the runtime decodes, validates and interprets it.
//
// Arithmetic is on 64-bit integers. An overflow anywhere makes the call fail with a clear error, it
// never wraps. Division by zero gives 0. Comparisons and logic give 0 or 1.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_PROGRAM_H
#define TESSERA_RT_PROGRAM_H

#include "tessera_rt/dtype.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::rt {

enum class ExprOp : uint8_t {
  Const, // push operand
  Slot,  // push slots[operand]
  Add,
  Sub,
  Mul,
  FloorDiv, // rounds to minus infinity
  CeilDiv,  // rounds to plus infinity
  Mod,      // sign of the divisor, as in Python
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
  Select, // condition, value if it is not 0, value if it is
};
inline constexpr unsigned numExprOps = 20;

struct ExprInstr {
  ExprOp op;
  int64_t operand = 0; // of Const and Slot
};

/// An integer expression over slots in postfix order.
struct Expr {
  std::vector<ExprInstr> code;

  static Expr constant(int64_t value) { return {{{ExprOp::Const, value}}}; }
  static Expr slot(uint32_t index) { return {{{ExprOp::Slot, index}}}; }
  static Expr binary(ExprOp op, const Expr &lhs, const Expr &rhs);
  static Expr logicalNot(const Expr &operand);
  static Expr select(const Expr &condition, const Expr &then, const Expr &otherwise);
  bool empty() const { return code.empty(); }
};

struct Argument {
  enum Kind : uint8_t { Tensor, Int, Float, Bool };
  Kind kind = Tensor;
  std::string name;
  DType dtype = DType::FP32; // of a tensor
  uint32_t rank = 0;         // of a tensor
};

/// What a program may ask about the device that it runs on.
enum class DeviceFact : uint8_t {
  SmCount, // of a GPU; the threads of a CPU
  L2Bytes, // 0: not known
};
inline constexpr unsigned numDeviceFacts = 2;

/// One 64-bit integer of a call. A derived slot may use the slots before it.
struct Slot {
  enum Source : uint8_t { ArgSize, ArgStride, ArgInt, Derived, ArgAddress, Device };
  Source source = ArgSize;
  uint32_t arg = 0; // ArgInt: an int or bool argument; ArgAddress: a tensor
  uint32_t dim = 0; // ArgSize, ArgStride (in elements); Device: a DeviceFact
  Expr expr;        // Derived
};

struct Guard {
  /// Specialisation: when it does not hold, another specialisation is wanted. Error: the call is
  /// wrong.
  enum Kind : uint8_t { Specialisation, Error };
  Kind kind = Specialisation;
  Expr condition;
  std::string message; // {0}, {1}, … stand for the operands' values
  std::vector<Expr> operands;
};

/// A dense row-major tensor that the caller allocates.
struct Result {
  DType dtype = DType::FP32;
  std::vector<Expr> sizes;
};

/// Memory that lives from the first to the last step that uses it, 64-byte aligned, not
/// initialised.
struct Temporary {
  Expr bytes;
  uint32_t firstStep = 0;
  uint32_t lastStep = 0;
};

/// One 64-bit word of a kernel's argument block.
struct Word {
  enum Kind : uint8_t {
    ArgAddress,    // address of argument `index` plus `expr` bytes
    ResultAddress, // of result `index`
    TempAddress,   // of temporary `index`
    Integer,       // value of `expr`
    Scalar,        // scalar argument `index` converted to `dtype`; its bits, zero-extended
  };
  Kind kind = Integer;
  uint32_t index = 0;
  DType dtype = DType::FP32;
  Expr expr; // an empty byte offset is 0
};

/// What is reported if a kernel finds invalid data.
struct Check {
  enum Kind : uint8_t { Index, Assertion };
  Kind kind = Index;
  std::string message; // {0} stands for the value that was found, {1}, … for the operands' values
  std::vector<Expr> operands;
  std::string excerpt; // lines of the source to show below; may be empty
};

/// What a GPU's tensor copies have to know of a tensor, of which they bring boxes into shared
/// memory: 128 bytes that are a parameter of a kernel. The tensor's address, sizes and strides (in
/// elements) are words of the step.
struct TensorMap {
  static constexpr uint32_t maxDims = 5, maxBox = 256; // of a tensor; elements along each of them
  uint32_t word = 0;         // that of the address; sizes follow, and then strides
  uint32_t elementBytes = 1; // 1, 2, 4 or 8
  uint32_t span = 0;         // bytes that swizzles stay within: 128, 64, 32, or 16 for none
  uint32_t spans =
      1; // of a box; several are one more dimension, of a tensor whose rows they divide
  std::vector<uint32_t> dims;  // of the tensor, those with neighbours in memory first
  std::vector<uint32_t> sizes; // of a box, along these
  uint32_t rounded = 0;        // 1: copies round elements of fp32 to tf32
};

struct Step {
  uint32_t kernel = 0;     // index into Program::kernels
  std::vector<Expr> grid;  // 1 to 3 sizes, the first varies fastest; an empty grid is not launched
  std::vector<Word> words; // the kernel's argument block
  uint32_t grain = 1;      // least number of consecutive grid indices worth handing to a thread
  Expr work; // estimate in nanoseconds of one core for the whole launch; empty: unknown
  std::vector<Check> checks;   // as the kernel numbers them
  std::vector<TensorMap> maps; // after the words
};

/// A tensor that is printed when all steps have run.
struct Print {
  std::string label;
  bool isTemporary = false; // or a result
  uint32_t index = 0;
  DType dtype = DType::FP32;
  std::vector<Expr> sizes;
};

struct Program {
  std::vector<Argument> arguments;
  std::vector<Slot> slots;
  std::vector<Guard> guards;
  std::vector<Result> results;
  std::vector<Temporary> temporaries;
  std::vector<std::string> kernels; // names, looked up in the code image
  std::vector<Step> steps;
  std::vector<Print> prints;
};

/// Limits that a valid program respects.
inline constexpr uint32_t maxExprDepth = 64;
inline constexpr uint32_t maxExprLength = 1u << 16;
inline constexpr uint32_t maxArguments = 1u << 12;
inline constexpr uint32_t maxRank = 64;
inline constexpr uint32_t maxWords = 1u << 12;

/// Whether the program is well formed; `error` says what is wrong.
bool validate(const Program &program, std::string &error);

std::vector<uint8_t> encode(const Program &program);

/// Decodes and validates. Any byte sequence is accepted as input; on failure `error` says why.
bool decode(std::span<const uint8_t> bytes, Program &program, std::string &error);

/// A readable listing, for `inspect_ir("target")` and for tests.
std::string toString(const Program &program);

} // namespace tessera::rt

#endif // TESSERA_RT_PROGRAM_H
