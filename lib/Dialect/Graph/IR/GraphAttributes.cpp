//===- GraphAttributes.cpp - Attributes of functions and arguments --------===//
//
// Verifies the discardable attributes of graph functions, on which later stages rely.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/Joint.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

llvm::StringRef gir::numericsOption(Operation *function, llvm::StringRef name) {
  auto numerics = function->getAttrOfType<DictionaryAttr>(kNumericsAttr);
  auto value = numerics ? numerics.getAs<StringAttr>(name) : StringAttr();
  return value ? value.getValue() : "";
}

static LogicalResult verifySymbols(Operation *op, Attribute attribute) {
  auto symbols = dyn_cast<DictionaryAttr>(attribute);
  if (!symbols)
    return op->emitError() << "expected a dictionary of sizes as " << kSymbolsAttr << ", got "
                           << attribute;
  for (NamedAttribute symbol : symbols) {
    auto facts = dyn_cast<DictionaryAttr>(symbol.getValue());
    if (!facts)
      return op->emitError() << "expected a dictionary of facts about size "
                             << symbol.getName().strref() << ", got " << symbol.getValue();
    for (NamedAttribute fact : facts) {
      StringRef name = fact.getName();
      auto value = dyn_cast<IntegerAttr>(fact.getValue());
      bool isKnown = llvm::StringSwitch<bool>(name)
                         .Cases({"divisor", "hint", "min", "max"}, true)
                         .Default(false);
      if (!isKnown || !value)
        return op->emitError() << "expected integers divisor, hint, min or max about size "
                               << symbol.getName().strref() << ", got " << name << " = "
                               << fact.getValue();
      if (name == "divisor" && value.getInt() < 1)
        return op->emitError() << "expected a divisor of at least 1 for size "
                               << symbol.getName().strref() << ", got " << value.getInt();
    }
  }
  return success();
}

static LogicalResult verifyGuards(Operation *op, Attribute attribute) {
  auto guards = dyn_cast<ArrayAttr>(attribute);
  if (!guards)
    return op->emitError() << "expected an array of equalities as " << kGuardsAttr << ", got "
                           << attribute;
  for (Attribute guard : guards) {
    auto text = dyn_cast<StringAttr>(guard);
    auto [left, right] = text ? text.getValue().split(" == ") : std::pair<StringRef, StringRef>();
    if (!SymExpr::parse(left.str()) || !SymExpr::parse(right.str()))
      return op->emitError() << "expected an equality of two size expressions, got " << guard;
  }
  return success();
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kSymbolsAttr)
    return verifySymbols(op, attribute.getValue());
  if (attribute.getName() == kGuardsAttr)
    return verifyGuards(op, attribute.getValue());
  bool isDictionary = llvm::is_contained({kNumericsAttr, kJointAttr, kPartitionAttr},
                                         attribute.getName().getValue());
  if (isDictionary && !isa<DictionaryAttr>(attribute.getValue()))
    return op->emitError() << "expected a dictionary as " << attribute.getName().getValue()
                           << ", got " << attribute.getValue();
  return success();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto function = dyn_cast<func::FuncOp>(op);
  auto type =
      function ? dyn_cast<gir::TensorType>(function.getArgumentTypes()[index]) : gir::TensorType();
  if (name == kNameAttr && !isa<StringAttr>(attribute.getValue()))
    return op->emitError() << "expected a string as " << name << ", got " << attribute.getValue();
  if (name == kScalarAttr) {
    auto kind = dyn_cast<StringAttr>(attribute.getValue());
    bool isKnown =
        kind && llvm::StringSwitch<bool>(kind).Cases({"int", "float", "bool"}, true).Default(false);
    if (!isKnown)
      return op->emitError() << "expected \"int\", \"float\" or \"bool\" as " << name << ", got "
                             << attribute.getValue();
    if (type && type.getRank() != 0)
      return op->emitError() << "expected a scalar as argument " << index << ", got " << type;
  }
  if (name == kUnitStrideAttr && type) {
    auto dim = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!dim || dim.getInt() < 0 || dim.getInt() >= int64_t(type.getRank()))
      return op->emitError() << "expected a dimension below " << type.getRank() << " as " << name
                             << ", got " << attribute.getValue();
  }
  return success();
}
