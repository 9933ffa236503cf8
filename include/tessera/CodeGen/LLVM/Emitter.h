//===- Emitter.h - A thin builder of scf and llvm operations ---*- C++ -*-===//
//
// Kernels consist of `scf` control flow and `llvm` operations on scalars and one-dimensional
// vectors. The emitter maps element types to their type in registers (`valueType`) and in memory
// (`storageType`): bool is i1 and one byte, bf16 and fp8 are carried as their bits, tf32 is an f32,
// unsigned integers are signless. Index arithmetic folds constants, so that an address is a
// run-time part plus a constant.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_LLVM_EMITTER_H
#define TESSERA_CODEGEN_LLVM_EMITTER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Support/ScalarOps.h"
#include "tessera/Target/CpuDescription.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera::codegen {

using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// A 64-bit index: a run-time part (may be absent) plus a constant.
struct Ix {
  Value value;
  int64_t constant = 0;
  Ix() = default;
  Ix(int64_t constant) : constant(constant) {}
  Ix(Value value, int64_t constant = 0) : value(value), constant(constant) {}
  bool isConstant() const { return !value; }
};

/// The alias scope of an access: accesses in different scopes never overlap.
using Scope = mlir::Attribute;

class Emitter {
public:
  Emitter(mlir::OpBuilder builder, mlir::Location loc, const CpuDescription &cpu);

  mlir::ImplicitLocOpBuilder b;
  const CpuDescription &cpu;
  Type i1, i8, i16, i32, i64, f32, f64, ptr;

  // Types. `lanes` 0 means a scalar.
  static Type elementOf(Type type);
  static int64_t lanesOf(Type type);
  static Type withLanes(Type element, int64_t lanes);
  Type valueType(Type element) const;
  Type storageType(Type element) const;
  static int64_t byteWidth(Type element);

  // Constants: one operation per value, in the first block of the kernel.
  Value integer(int64_t value, Type type);
  Value integer(int64_t value) { return integer(value, i64); }
  Value real(double value, Type type);
  Value integerOrReal(int64_t value, Type type);
  Value number(mlir::TypedAttr attribute, Type element, int64_t lanes);
  Value iota(Type element, int64_t lanes);
  void setConstantBlock(mlir::Block *block) { constantBlock = block; }

  // Index arithmetic.
  Value materialize(Ix index);
  Ix add(Ix a, Ix b);
  Ix mul(Ix a, Ix b);
  Value addI(Value a, Value b), subI(Value a, Value b), mulI(Value a, Value b);
  Value minI(Value a, Value b), maxI(Value a, Value b);
  Value cmp(mlir::LLVM::ICmpPredicate predicate, Value a, Value b);
  Value andI(Value a, Value b), orI(Value a, Value b), xorI(Value a, Value b);
  Value select(Value condition, Value a, Value b);

  // Floating point.
  /// Whether multiplications and additions may be contracted to FMA.
  mlir::LLVM::FastmathFlags fastmathFlags() const;
  Value fadd(Value a, Value b), fsub(Value a, Value b), fmul(Value a, Value b),
      fdiv(Value a, Value b);
  Value fcmp(mlir::LLVM::FCmpPredicate predicate, Value a, Value b);
  /// a * b + c for floats (by FMA where the target has it) and integers.
  Value mulAdd(Value a, Value b, Value c);
  /// The same integer, opaque to LLVM's passes.
  Value opaque(Value integer);
  Value intrinsic(llvm::StringRef name, Type result, ValueRange operands);
  void procedure(llvm::StringRef name, ValueRange operands);

  // Vectors.
  Value splat(Value scalar, int64_t lanes);
  Value shuffle(Value a, Value b, llvm::ArrayRef<int32_t> mask);
  /// The first `lanes` lanes are `value`'s, the others `filler`'s.
  Value widen(Value value, Value filler);
  Value concat(Value a, Value b);
  /// Concatenates 2^n vectors of one type.
  Value concat(llvm::ArrayRef<Value> vectors);
  /// `count` lanes from `first` on.
  Value part(Value vector, int64_t first, int64_t count);
  Value insert(Value vector, Value scalar, int64_t lane);
  Value extract(Value vector, int64_t lane);
  /// Lane i is i < count.
  Value laneMask(int64_t lanes, Value count);

  // Memory. Types are storage types; alignment is the element's.
  Value address(Value base, Ix bytes);
  Value load(Type type, Value address, Scope scope);
  void store(Value value, Value address, Scope scope);
  /// A non-temporal store of a whole vector at an aligned address.
  void storePastCaches(Value value, Value address, Scope scope);
  Value maskedLoad(Type type, Value address, Value mask, Value passThrough);
  /// Loads the first `count` lanes; the others are the padding's. Without masked accesses, the
  /// count is bisected.
  Value loadLanes(Type type, Value address, Value count, Value padding);
  void storeLanes(Value value, Value address, Value count);
  /// Gathers and scatters at byte offsets from an address.
  Value maskedGather(Type type, Value address, Value bytes, Value mask, Value passThrough);
  void maskedScatter(Value value, Value address, Value bytes, Value mask);
  void maskedStore(Value value, Value address, Value mask);
  /// Scopes that do not alias each other; made once per kernel.
  Scope newScope(llvm::StringRef name);
  void closeScopes();

  // Conversions between the type in registers and the type in memory.
  Value fromStorage(Value stored, Type element);
  Value toStorage(Value value, Type element);

  // Scalar semantics on each lane (ScalarLowering.cpp). Null for an operation that is not
  // primitive.
  Value scalarOp(ScalarOp op, ValueRange operands, Type element);
  /// Approximate f32 forms with the precision of 16-bit types (FastMath.cpp); null: there is none.
  Value quickOp(ScalarOp op, Value x);
  Value cast(Value value, Type from, Type to);
  /// Rounds several vectors of f32; they share one test for subnormal values.
  llvm::SmallVector<Value> bf16FromF32(ValueRange values);
  Value bitcast(Value value, Type to);
  /// The neutral element of a reduction.
  Value unit(ReduceOp op, Type element, int64_t lanes);
  /// Combines two operands. With `skipNan` a maximum or minimum is one instruction that may drop a
  /// nan.
  Value join(ReduceOp op, Value a, Value b, Type element, bool skipNan = false);
  /// Reduces over the lanes of a vector.
  Value horizontal(ReduceOp op, Value vector, Type element, bool skipNan = false);
  /// The sums of the lanes of each vector, as the first lanes of one vector.
  Value horizontalSums(llvm::ArrayRef<Value> vectors, Type element);

  // Control flow.
  using LoopBody = llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)>;
  llvm::SmallVector<Value> loop(Value lower, Value upper, int64_t step, ValueRange inits,
                                LoopBody body);
  void loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body);
  void branch(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise);
  Value choose(Type type, Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);
  /// `usual`; but where any lane of `isRare` is set, `instead` for all lanes, behind a branch.
  llvm::SmallVector<Value> selectUnlessAny(Value isRare, ValueRange usual,
                                           llvm::function_ref<llvm::SmallVector<Value>()> instead);

private:
  bool hasMaskedAccess(Type type) const;
  Value loadByHalves(Type type, Value address, Value count, Value padding);
  void storeByHalves(Value value, Value address, Value count);
  Value floatMax(Value a, Value b, bool max);
  Value clampToBound(Value condition, Value x, Value y);
  Value arithmeticOp(ScalarOp op, Value x, Value y, Type element);
  Value unaryOp(ScalarOp op, Value x, Type element);
  Value comparisonOp(ScalarOp op, Value x, Value y, Type element);
  Value bitwiseOp(ScalarOp op, Value x, Value y, Type element);
  /// sum + f32(halves), rounded once.
  Value addHalves(Value sum, Value halves);
  llvm::DenseMap<Value, Value> halvesOf; // the f16 operand of each f32 that was converted so
  bool isZmmOfF32(Value value) const;
  Value integerDivision(ScalarOp op, Value a, Value b, bool isSigned);
  Value scaleB(Value x, Value exponent);
  Value approximateRegister(ScalarOp op, Value x);
  /// Rounds to odd: a second rounding to fewer bits then equals one rounding of the f64.
  Value roundToOddF32(Value value);
  /// A signed integer of 32 bits rounded to odd to 24 digits, which f32 has.
  Value roundToOdd24(Value value);
  Value float8ToF32(Value value, Type from);
  Value float8FromF32(Value value, Type to);
  Value roundToBf16(Value value);
  Value bf16ToF32(Value value);
  Value halfToF32(Value value);
  Value halfFromF32(Value value);
  Value constantOp(Type type, mlir::Attribute attribute);
  void tag(mlir::Operation *op, Scope scope);

  mlir::Block *constantBlock = nullptr;
  llvm::DenseMap<std::pair<Type, mlir::Attribute>, Value> constants;
  mlir::LLVM::AliasScopeDomainAttr domain;
  llvm::SmallVector<mlir::Attribute> scopes;
  llvm::SmallVector<std::pair<mlir::Operation *, Scope>> tagged;
};

} // namespace tessera::codegen

#endif
