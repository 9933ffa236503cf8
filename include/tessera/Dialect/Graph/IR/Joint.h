//===- Joint.h - Attributes of joint functions ------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_JOINT_H
#define TESSERA_DIALECT_GRAPH_IR_JOINT_H

#include "llvm/ADT/StringRef.h"

namespace tessera::gir {

/// On a function: how `gir-partition` splits it into forward and backward, and what it decided.
inline constexpr llvm::StringLiteral kJointAttr = "gir.joint";
inline constexpr llvm::StringLiteral kPartitionAttr = "gir.partition";
/// On `gir.reduce max`: exponents are relative to the result, and nobody else sees it. Any number
/// near the maximum can take its place.
inline constexpr llvm::StringLiteral kReferenceAttr = "gir.reference";
/// On `gir.map`: its elements are at most zero, about, or NaN. In the backward part of a function
/// nothing else says that an argument is a maximum.
inline constexpr llvm::StringLiteral kAtMostZeroAttr = "gir.at_most_zero";

} // namespace tessera::gir

#endif
