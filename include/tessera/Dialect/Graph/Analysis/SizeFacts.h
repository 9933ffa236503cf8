//===- SizeFacts.h - Facts about run-time sizes -----------------*- C++ -*-===//
//
// Reads the `gir.symbols` attribute of a function: for each size its divisor, bounds and a typical
// value. Under a batch-invariant policy the typical value is fixed and does not depend on the call.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_ANALYSIS_SIZEFACTS_H
#define TESSERA_DIALECT_GRAPH_ANALYSIS_SIZEFACTS_H

#include "mlir/IR/Operation.h"
#include "tessera/Support/SymExpr.h"

#include <map>
#include <string>

namespace tessera {

struct SizeFact {
  int64_t divisor = 1;
  int64_t min = 0;
  int64_t max = INT64_MAX;
  int64_t hint = 1024;
};

class SizeFacts {
public:
  SizeFacts() = default;
  explicit SizeFacts(mlir::Operation *function);

  /// Uses the actual value of a size as the typical one.
  void assume(const std::string &name, int64_t size) { facts[name].hint = size; }
  /// Adds facts about another symbol.
  void add(const std::string &name, SizeFact fact) { facts[name] = fact; }

  /// A typical value of the expression.
  int64_t hint(SymExpr e) const;
  /// An upper bound; INT64_MAX if none is known.
  int64_t max(SymExpr e) const;
  int64_t divisor(SymExpr e) const;
  /// Whether the expression is a multiple of `n` for every size.
  bool divisibleBy(SymExpr e, int64_t n) const { return divisor(e) % n == 0; }

private:
  std::map<std::string, SizeFact> facts;
};

} // namespace tessera

#endif
