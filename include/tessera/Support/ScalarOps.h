//===- ScalarOps.h - Elementwise operations and monoids --------*- C++ -*-===//
//
// The scalar operations that every level shares (ScalarOps.def), and the monoids of reductions.
// This file is independent of any IR: an operation is an enumerator with a name, an arity, a type
// rule and a meaning.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_SUPPORT_SCALAROPS_H
#define TESSERA_SUPPORT_SCALAROPS_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class ScalarOp : uint32_t {
#define TESSERA_SCALAR_OP(Enumerator, name, arity, rule, visibility, meaning) Enumerator,
#include "tessera/Support/ScalarOps.def"
};

enum class TypeRule { Same, Number, Float, Integer, Int64, Compare, Test, Order, Select };
enum class Visibility { User, Operator, Internal };

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;
  unsigned arity;
  TypeRule rule;
  Visibility visibility;
  std::string_view meaning;
};

const ScalarOpInfo &scalarOpInfo(ScalarOp op);
std::optional<ScalarOp> scalarOpByName(std::string_view name);
/// Calls `visit` for every operation in table order.
template <typename Visit> void forEachScalarOp(Visit visit) {
#define TESSERA_SCALAR_OP(Enumerator, name, arity, rule, visibility, meaning)                      \
  visit(scalarOpInfo(ScalarOp::Enumerator));
#include "tessera/Support/ScalarOps.def"
}

/// The commutative monoids of reductions. Max and Min propagate NaN.
enum class ReduceOp : uint32_t { Sum, Prod, Max, Min, Any, All };

std::string_view reduceOpName(ReduceOp op);
std::optional<ReduceOp> reduceOpByName(std::string_view name);
/// The scalar operation that combines two partial results.
ScalarOp reduceOpCombiner(ReduceOp op);

/// Names for generated enum printing (ODS).
inline std::string_view stringifyScalarOp(ScalarOp op) { return scalarOpInfo(op).name; }
inline std::string_view stringifyReduceOp(ReduceOp op) { return reduceOpName(op); }

} // namespace tessera

#endif
