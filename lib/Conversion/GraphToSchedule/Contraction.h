//===- Contraction.h - Products that are matrix multiplications -*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_CONTRACTION_H
#define TESSERA_LIB_CONVERSION_GRAPHTOSCHEDULE_CONTRACTION_H

#include "KernelPlan.h"

namespace tessera {

/// A summed product whose factors fall into two sides: `rows` occur only on the left, `columns`
/// only on the right.
struct Contraction {
  Expr lhs = nullptr, rhs = nullptr; ///< null: the weight alone
  bool weightOnLeft = false, weightOnRight = false;
  DimSet rows, columns;
};

/// Splits the factors of `value` (and of a weight with dimensions `weight`, if not null) that are
/// summed over `over`. `lastOutput` names the dimension that varies fastest in the output: it
/// belongs to the columns.
std::optional<Contraction> splitContraction(ExprPool &pool, Expr value, const DimSet &over,
                                            const DimSet *weight,
                                            const std::vector<std::string> &outputOrder);

} // namespace tessera

#endif
