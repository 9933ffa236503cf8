//===- Emitter.h - A thin builder of scf and llvm operations ---*- C++ -*-===//
//
// Kernels are built from `scf` control flow and `llvm` operations on scalars and one-dimensional
// vectors. The emitter knows how element types are held (`valueType`) and stored (`storageType`):
// bool is i1 and one byte, bf16 and floats of 8 bits are carried as their bits, tf32 is an f32,
// unsigned integers are signless. Index arithmetic folds constants, so that addresses become a run-time part plus a
// constant.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_LLVM_EMITTER_H
#define TESSERA_CODEGEN_LLVM_EMITTER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Support/CpuDescription.h"
#include "tessera/Support/ScalarOps.h"
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

/// Which memory an access touches: accesses in different scopes never overlap.
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

  // Constants; one operation per number, at the head of the kernel.
  Value integer(int64_t value, Type type);
  Value integer(int64_t value) { return integer(value, i64); }
  Value real(double value, Type type);
  Value integerOrReal(int64_t value, Type type);
  Value number(mlir::TypedAttr attribute, Type element, int64_t lanes);
  Value iota(Type element, int64_t lanes);
  /// Where constants are put: the first block of the kernel.
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

  // Floating point; products and sums may be contracted.
  /// What optimisations may do with additions and multiplications.
  mlir::LLVM::FastmathFlags freedom() const;
  Value fadd(Value a, Value b), fsub(Value a, Value b), fmul(Value a, Value b),
      fdiv(Value a, Value b);
  Value fcmp(mlir::LLVM::FCmpPredicate predicate, Value a, Value b);
  /// a * b + c for floats (one rounding where the machine can) and integers.
  Value mulAdd(Value a, Value b, Value c);
  /// The same integer, of which LLVM's passes know nothing.
  Value opaque(Value integer);
  Value intrinsic(llvm::StringRef name, Type result, ValueRange operands);
  void procedure(llvm::StringRef name, ValueRange operands);

  // Vectors.
  Value splat(Value scalar, int64_t lanes);
  Value shuffle(Value a, Value b, llvm::ArrayRef<int32_t> mask);
  /// The first `lanes` lanes are `value`'s, the others `filler`'s.
  Value widen(Value value, Value filler);
  Value concat(Value a, Value b);
  /// As many vectors of one type as a power of two.
  Value concat(llvm::ArrayRef<Value> vectors);
  /// So many lanes from `first` on.
  Value part(Value vector, int64_t first, int64_t count);
  Value insert(Value vector, Value scalar, int64_t lane);
  Value extract(Value vector, int64_t lane);
  /// iota + start < limit, lane by lane.
  Value laneMask(int64_t lanes, Value count);

  // Memory. Types are storage types; alignment is the element's.
  Value address(Value base, Ix bytes);
  Value load(Type type, Value address, Scope scope);
  void store(Value value, Value address, Scope scope);
  /// A whole vector at a multiple of its bytes, without reading the line that it is written to.
  void storePastCaches(Value value, Value address, Scope scope);
  Value maskedLoad(Type type, Value address, Value mask, Value passThrough);
  /// The first `count` lanes, however many there are; the others are the padding's. Where masked accesses are no
  /// instructions, they are found half by half.
  Value loadLanes(Type type, Value address, Value count, Value padding);
  void storeLanes(Value value, Value address, Value count);
  /// The elements that lie so many bytes behind an address, lane by lane.
  Value maskedGather(Type type, Value address, Value bytes, Value mask, Value passThrough);
  void maskedScatter(Value value, Value address, Value bytes, Value mask);
  void maskedStore(Value value, Value address, Value mask);
  /// Scopes that do not alias each other; made once per kernel.
  Scope newScope(llvm::StringRef name);
  void closeScopes();

  // Between the form in registers and the form in memory.
  Value fromStorage(Value stored, Type element);
  Value toStorage(Value value, Type element);

  // Scalar semantics (ScalarLowering.cpp), lane by lane.
  Value scalarOp(ScalarOp op, ValueRange operands, Type element);
  /// Forms of f32 that keep the digits of 16-bit types (QuickMath.cpp); null: there is none.
  Value quickOp(ScalarOp op, Value x);
  Value cast(Value value, Type from, Type to);
  /// The same for several vectors of f32; they share the look for numbers that need special care.
  llvm::SmallVector<Value> bf16FromF32(ValueRange values);
  Value bitcast(Value value, Type to);
  /// The monoid's unit, and the join of all lanes.
  Value unit(ReduceOp op, Type element, int64_t lanes);
  /// With `skipNan` a maximum or minimum is one instruction that may lose a nan.
  Value join(ReduceOp op, Value a, Value b, Type element, bool skipNan = false);
  Value horizontal(ReduceOp op, Value vector, Type element, bool skipNan = false);

  // Control flow.
  using LoopBody = llvm::function_ref<llvm::SmallVector<Value>(Value, ValueRange)>;
  llvm::SmallVector<Value> loop(Value lower, Value upper, int64_t step, ValueRange inits,
                                LoopBody body);
  void loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body);
  void branch(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise);
  Value choose(Type type, Value condition, llvm::function_ref<Value()> then, llvm::function_ref<Value()> otherwise);
  /// `usual`, but where any lane of `isRare` holds what `instead` computes, for all lanes.
  llvm::SmallVector<Value> unlessAny(Value isRare, ValueRange usual,
                                     llvm::function_ref<llvm::SmallVector<Value>()> instead);

private:
  bool masksMemory(Type type) const;
  Value loadPieces(Type type, Value address, Value count, Value padding);
  void storePieces(Value value, Value address, Value count);
  Value floatMax(Value a, Value b, bool max);
  Value bound(Value condition, Value x, Value y);
  /// sum + f32(halves), rounded once.
  Value addHalves(Value sum, Value halves);
  llvm::DenseMap<Value, Value> halvesOf; // registers that were made of halves by such a sum
  bool isWholeF32(Value value) const;
  Value integerDivision(ScalarOp op, Value a, Value b, bool isSigned);
  Value scaleB(Value x, Value exponent);
  Value quickWhole(ScalarOp op, Value x);
  /// Rounded to odd: a further rounding to fewer bits gives what one rounding of the f64 would.
  Value oddF32FromF64(Value value);
  Value float8ToF32(Value value, Type from);
  Value float8FromF32(Value value, Type to);
  Value roundedToBf16(Value value);
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
