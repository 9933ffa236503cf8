//===- Level.h - Ready kernels of one level of the CPU ---------*- C++ -*-===//
//
// Elementwise.cpp, Evaluate.cpp and Contract.cpp are compiled once for each level of instructions
// (x86-64: the baseline, v3 and v4), each into a namespace of its own. They use neither the
// standard library's templates nor inline functions of other headers: the linker might take an
// instance that only a newer CPU can run.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_INTERPRETER_READY_LEVEL_H
#define TESSERA_LIB_INTERPRETER_READY_LEVEL_H

#include "Words.h"
#include "tessera_rt.h"

namespace tessera::ready {

/// The kernels that depend on the level.
struct LevelKernels {
  tessera_rt_kernel expression, contract;
};

/// One elementwise operation on n elements; operands that it does not have are null.
using BlockFunction = void (*)(void *result, const void *a, const void *b, const void *c,
                               int64_t n);

/// Elements at a stride of memory to a compute type, and back.
using LoadFunction = void (*)(void *block, const char *from, int64_t stride, int64_t n);
using StoreFunction = void (*)(char *to, int64_t stride, const void *block, int64_t n);

/// By the definition of the operation, for those that have no function of their own.
void evaluateSlowly(ScalarOp op, Compute type, void *result, const void *const *operands,
                    int64_t n);
/// Floats of 8 bits.
float decodeSlowly(uint8_t bits, DType dtype);
uint8_t encodeSlowly(float value, DType dtype);

} // namespace tessera::ready

#ifdef TESSERA_READY_LEVEL
namespace tessera::ready::TESSERA_READY_LEVEL {

namespace {
/// The bytes of an element in memory, and in a register.
inline int64_t bytesOf(DType dtype) {
  int64_t bits = rt::dtypeInfos[unsigned(dtype)].bits;
  return bits < 8 ? 1 : bits / 8;
}
inline int64_t widthOf(DType dtype) { return bytesOf(dtypeOf(computeOf(dtype))); }
inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
} // namespace

/// Null: the operation has no function of its own.
BlockFunction blockFunction(ScalarOp op, Compute type);
BlockFunction castFunction(Compute from, Compute to);
LoadFunction loadFunction(DType dtype);
StoreFunction storeFunction(DType dtype);
/// Rounds elements of F64 to odd ones of F32: what was between two floats still is, for a rounding
/// to fewer digits.
void narrowBlock(float *block, const double *from, int64_t n);
/// Rounds elements of F32 to a narrower type, in place.
void roundBlock(float *block, DType dtype, int64_t n);

void contract(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env);
void evaluate(const int64_t *args, int64_t begin, int64_t end, const tessera_rt_kernel_env *env);

} // namespace tessera::ready::TESSERA_READY_LEVEL
#endif

#endif
