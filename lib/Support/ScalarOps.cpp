//===- ScalarOps.cpp - Elementwise operations and monoids -----------------===//
#include "tessera/Support/ScalarOps.h"

#include <iterator>

using namespace tessera;

static constexpr ScalarOpInfo table[] = {
#define TESSERA_SCALAR_OP(Enumerator, name, arity, rule, visibility, meaning)                      \
  {ScalarOp::Enumerator, #name, arity, TypeRule::rule, Visibility::visibility, meaning},
#include "tessera/Support/ScalarOps.def"
};

const ScalarOpInfo &tessera::scalarOpInfo(ScalarOp op) { return table[static_cast<uint32_t>(op)]; }

std::optional<ScalarOp> tessera::scalarOpByName(std::string_view name) {
  for (const ScalarOpInfo &info : table)
    if (info.name == name)
      return info.op;
  return std::nullopt;
}

static constexpr std::string_view reduceNames[] = {"sum", "prod", "max", "min", "any", "all"};

std::string_view tessera::reduceOpName(ReduceOp op) {
  return reduceNames[static_cast<uint32_t>(op)];
}

std::optional<ReduceOp> tessera::reduceOpByName(std::string_view name) {
  for (uint32_t i = 0; i < std::size(reduceNames); ++i)
    if (reduceNames[i] == name)
      return static_cast<ReduceOp>(i);
  return std::nullopt;
}

ScalarOp tessera::reduceOpCombiner(ReduceOp op) {
  switch (op) {
  case ReduceOp::Sum:
    return ScalarOp::Add;
  case ReduceOp::Prod:
    return ScalarOp::Mul;
  case ReduceOp::Max:
    return ScalarOp::Maximum;
  case ReduceOp::Min:
    return ScalarOp::Minimum;
  case ReduceOp::Any:
    return ScalarOp::Or;
  case ReduceOp::All:
    return ScalarOp::And;
  }
  return ScalarOp::Add;
}
