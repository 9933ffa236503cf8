//===- SizeFacts.cpp - Facts about run-time sizes -------------------------===//
#include "tessera/Dialect/Graph/Analysis/SizeFacts.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include <algorithm>

using namespace tessera;

SizeFacts::SizeFacts(mlir::Operation *function) {
  auto symbols = function->getAttrOfType<mlir::DictionaryAttr>(gir::kSymbolsAttr);
  if (!symbols)
    return;
  // A batch-invariant result must not depend on the actual number of rows.
  bool usesHints = gir::numericsOption(function, "batch_invariant") != "true";
  for (mlir::NamedAttribute entry : symbols) {
    auto dictionary = llvm::dyn_cast<mlir::DictionaryAttr>(entry.getValue());
    if (!dictionary)
      continue;
    SizeFact fact;
    auto read = [&](llvm::StringRef name, int64_t &field) {
      if (auto value = llvm::dyn_cast_or_null<mlir::IntegerAttr>(dictionary.get(name)))
        field = value.getInt();
    };
    read("divisor", fact.divisor);
    read("min", fact.min);
    read("max", fact.max);
    if (usesHints)
      read("hint", fact.hint);
    facts[entry.getName().str()] = fact;
  }
}

int64_t SizeFacts::hint(SymExpr e) const {
  auto value = e.evaluate([&](const std::string &name) -> std::optional<int64_t> {
    auto it = facts.find(name);
    return it == facts.end() ? SizeFact().hint : it->second.hint;
  });
  return std::max<int64_t>(value.value_or(SizeFact().hint), 0);
}

int64_t SizeFacts::max(SymExpr e) const {
  if (e.isConstant())
    return e.constantValue();
  if (e.isSymbol()) {
    auto it = facts.find(e.symbolName());
    return it == facts.end() ? INT64_MAX : it->second.max;
  }
  if (e.kind() == SymExpr::Kind::Min) {
    int64_t least = INT64_MAX;
    for (SymExpr op : e.operands())
      least = std::min(least, max(op));
    return least;
  }
  if (e.kind() == SymExpr::Kind::Max) {
    int64_t most = 0;
    for (SymExpr op : e.operands())
      most = std::max(most, max(op));
    return most;
  }
  if (e.kind() == SymExpr::Kind::CeilDiv || e.kind() == SymExpr::Kind::FloorDiv) {
    int64_t size = max(e.operands()[0]),
            unit = e.operands()[1].isConstant() ? e.operands()[1].constantValue() : 0;
    if (size == INT64_MAX || size < 0 || unit < 1)
      return INT64_MAX;
    return size / unit + (e.kind() == SymExpr::Kind::CeilDiv && size % unit);
  }
  if (e.kind() != SymExpr::Kind::Mul && e.kind() != SymExpr::Kind::Add)
    return INT64_MAX;
  int64_t result = e.kind() == SymExpr::Kind::Mul ? 1 : 0;
  for (SymExpr op : e.operands()) {
    int64_t part = max(op);
    bool isLess = e.kind() == SymExpr::Kind::Add && op.isConstant(); // H - 4
    if (part == INT64_MAX || (part < 0 && !isLess))
      return INT64_MAX;
    bool overflow = e.kind() == SymExpr::Kind::Mul ? __builtin_mul_overflow(result, part, &result)
                                                   : __builtin_add_overflow(result, part, &result);
    if (overflow)
      return INT64_MAX;
  }
  return std::max<int64_t>(result, 0); // no size is negative
}

int64_t SizeFacts::divisor(SymExpr e) const {
  return e.divisor([&](const std::string &name) {
    auto it = facts.find(name);
    return it == facts.end() ? int64_t(1) : it->second.divisor;
  });
}
