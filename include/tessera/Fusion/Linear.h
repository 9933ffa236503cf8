//===- Linear.h - Linear combinations of expressions ------------*- C++ -*-===//
#ifndef TESSERA_FUSION_LINEAR_H
#define TESSERA_FUSION_LINEAR_H

#include "tessera/Fusion/Expr.h"

namespace tessera {

/// A sum of coefficient · expression terms plus a constant: the form of exponents.
class Linear {
public:
  std::map<unsigned, std::pair<Expr, double>> terms; ///< by expression id
  double constant = 0;

  void add(Expr e, double coefficient);
  void add(const Linear &other, double scale = 1);
  bool isZero() const { return terms.empty() && constant == 0; }
  bool operator==(const Linear &other) const {
    return terms == other.terms && constant == other.constant;
  }
  bool operator<(const Linear &other) const {
    return std::tie(terms, constant) < std::tie(other.terms, other.constant);
  }
  /// The expression scale · this, of the given type; coefficients are folded into products and
  /// masks.
  Expr build(ExprPool &pool, mlir::Type type, double scale = 1) const;
};

} // namespace tessera

#endif
