//===- Partition.cpp - Joint functions to forward and backward ------------===//
//
// The values of a joint function have numbers: arguments first, then results in the order of their
// operations. What is saved is a text of such numbers behind a digest of the function,
// "5f1c…:12,40=0": value 12 is a residual, and value 40 is result 0. The two parts are made by two
// compilations of the same joint function; the second one gets the text of the first.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "Normalization.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Dialect/Graph/Analysis/SavedValues.h"
#include "tessera/Dialect/Graph/IR/Joint.h"
#include "tessera/Dialect/Graph/IR/ValueType.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace tessera;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHPARTITION
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

/// The values in the order of their numbers.
static SmallVector<Value> valuesOf(const gir::JointFunction &joint) {
  Block &block = joint.block();
  SmallVector<Value> values(block.getArguments().take_front(joint.numInputs + joint.numCotangents));
  for (Operation &op : block)
    llvm::append_range(values, op.getResults());
  return values;
}

/// The same for functions that compute the same in the same way.
static std::string digestOf(const gir::JointFunction &joint) {
  llvm::DenseMap<Value, unsigned> numbers;
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [number, value] : llvm::enumerate(valuesOf(joint)))
    numbers[value] = number;
  for (Value argument : joint.block().getArguments())
    if (numbers.contains(argument))
      os << argument.getType() << "\n";
  for (Operation &op : joint.block()) {
    os << op.getName() << op.getAttrDictionary();
    for (Value operand : op.getOperands())
      os << " " << numbers.lookup(operand);
    for (Type type : op.getResultTypes())
      os << " " << type;
    os << "\n";
  }
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

/// A saved value, and the number of the result that it is.
using Saved = std::pair<Value, std::optional<unsigned>>;

static std::string textOf(const gir::JointFunction &joint, ArrayRef<Saved> saved,
                          StringRef digest) {
  llvm::DenseMap<Value, unsigned> numbers;
  for (auto [number, value] : llvm::enumerate(valuesOf(joint)))
    numbers[value] = number;
  std::string text = digest.str() + ":";
  for (auto [i, one] : llvm::enumerate(saved)) {
    text += (i ? "," : "") + std::to_string(numbers[one.first]);
    if (one.second)
      text += "=" + std::to_string(*one.second);
  }
  return text;
}

static void eraseDeadOps(func::FuncOp function) {
  for (Block &block : function.getBody())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
}

/// Updates the type of a function after its body has changed.
static void updateType(func::FuncOp function) {
  Block &block = function.getBody().front();
  function.setFunctionType(FunctionType::get(function.getContext(), block.getArgumentTypes(),
                                             block.getTerminator()->getOperandTypes()));
}

/// Finds the exponents from which a maximum is subtracted. Returns false if something else uses it,
/// but for `r` = max + log(sum), which is the same for other numbers in the place of the maximum if
/// the sum is relative to them, too.
static bool findExponents(Value maximum, Value of, Value r, SmallVector<Operation *> &exponents) {
  return llvm::all_of(maximum.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<gir::BroadcastOp>(user))
      return findExponents(user->getResult(0), of, r, exponents);
    if (r && user == r.getDefiningOp())
      return true;
    auto map = dyn_cast<gir::MapOp>(user);
    if (!map || map.getScalarOp() != ScalarOp::Sub || use.getOperandNumber() != 1 ||
        map->getOperand(0) != of)
      return false;
    exponents.push_back(map);
    return llvm::all_of(map->getUsers(), [](Operation *each) {
      auto exponential = dyn_cast<gir::MapOp>(each);
      return exponential && exponential.getScalarOp() == ScalarOp::Exp;
    });
  });
}

/// Whether the sum in `r` = max + log(sum) only divides exponentials of its rows.
static bool isOnlyDivisor(Value r) {
  Value sum = r.getDefiningOp()->getOperand(1).getDefiningOp()->getOperand(0);
  return llvm::all_of(sum.getUsers(), [&](Operation *user) {
    if (user == r.getDefiningOp()->getOperand(1).getDefiningOp())
      return true;
    return isa<gir::BroadcastOp>(user) && llvm::all_of(user->getUses(), [&](OpOperand &use) {
             auto map = dyn_cast<gir::MapOp>(use.getOwner());
             return map && map.getScalarOp() == ScalarOp::Div && use.getOperandNumber() == 1 &&
                    map->getOperand(0) == sum.getDefiningOp<gir::ReduceOp>().getInput();
           });
  });
}

/// Marks maxima of rows that only exponents are relative to, and these exponents: in neither part
/// both the maximum and what it is of are at hand.
static void markReferences(ArrayRef<Saved> saved) {
  for (const Saved &one : saved) {
    auto reduce = one.first.getDefiningOp<gir::ReduceOp>();
    Value r;
    if (gir::ReduceOp max = gir::maximumOf(one.first)) {
      if (!isOnlyDivisor(one.first))
        continue;
      reduce = max;
      r = one.first;
    }
    SmallVector<Operation *> exponents;
    if (!reduce || one.second || reduce.getReduceOp() != tessera::ReduceOp::Max ||
        !findExponents(reduce, reduce.getInput(), r, exponents))
      continue;
    UnitAttr unit = UnitAttr::get(reduce.getContext());
    reduce->setAttr(gir::kReferenceAttr, unit);
    for (Operation *exponent : exponents)
      exponent->setAttr(gir::kAtMostZeroAttr, unit);
  }
}

static void makeForward(const gir::JointFunction &joint, ArrayRef<Saved> saved) {
  func::FuncOp function = joint.function;
  SmallVector<Value> results(joint.terminator()->getOperands().take_front(joint.numResults));
  for (const Saved &one : saved)
    if (!one.second)
      results.push_back(one.first);
  joint.terminator()->setOperands(results);
  function.removeResAttrsAttr();
  updateType(function);
  eraseDeadOps(function);
  BitVector erased(function.getNumArguments());
  erased.set(joint.numInputs, function.getNumArguments());
  (void)function.eraseArguments(erased);
}

/// What a compiler knows of the sizes of residuals follows from those of the inputs.
static void forgetSizes(func::FuncOp function, gir::TensorType type) {
  auto symbols = function->getAttrOfType<DictionaryAttr>(gir::kSymbolsAttr);
  if (!symbols)
    return;
  SmallVector<NamedAttribute> rest;
  for (NamedAttribute symbol : symbols)
    if (llvm::none_of(type.getShape(), [&](SymExpr size) {
          return size.isSymbol() && size.symbolName() == symbol.getName().strref();
        }))
      rest.push_back(symbol);
  function->setAttr(gir::kSymbolsAttr, DictionaryAttr::get(function.getContext(), rest));
}

static LogicalResult makeBackward(const gir::JointFunction &joint, ArrayRef<Saved> saved) {
  func::FuncOp function = joint.function;
  unsigned first = joint.numInputs + joint.numCotangents;
  if (function.getNumArguments() != first + saved.size())
    return function.emitError("expected ")
           << saved.size() << " residuals, got " << function.getNumArguments() - first;
  SmallVector<Value> gradients(joint.terminator()->getOperands().drop_front(joint.numResults));
  joint.terminator()->setOperands(gradients);
  for (auto [i, one] : llvm::enumerate(saved)) {
    BlockArgument residual = function.getArgument(first + i);
    auto type = cast<gir::TensorType>(one.first.getType());
    auto given = dyn_cast<gir::TensorType>(residual.getType());
    if (!given || given.getRank() != type.getRank() ||
        given.getElementType() != type.getElementType())
      return function.emitError("expected residual ")
             << i << " of type " << type << ", got " << residual.getType();
    forgetSizes(function, given);
    residual.setType(type);
    Value value = one.first;
    value.replaceAllUsesWith(residual);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op) || isa<gir::CheckOp, gir::PrintOp>(op))
      op.erase(); // the forward part checks and prints
  function.removeResAttrsAttr();
  updateType(function);
  return success();
}

/// The values of a text that another compilation made.
static FailureOr<SmallVector<Saved>> parseSaved(const gir::JointFunction &joint, StringRef text,
                                                StringRef digest) {
  func::FuncOp function = joint.function;
  auto [of, list] = text.split(':');
  if (of != digest)
    return function.emitError("expected the residuals of a function with digest ")
           << digest << ", got those of " << of;
  SmallVector<Value> values = valuesOf(joint);
  SmallVector<Saved> saved;
  for (StringRef entry : llvm::split(list, ',')) {
    if (entry.empty())
      continue;
    auto [valueText, resultText] = entry.split('=');
    unsigned number = 0, result = 0;
    if (valueText.getAsInteger(10, number) || number >= values.size() ||
        (!resultText.empty() && resultText.getAsInteger(10, result)))
      return function.emitError("expected numbers of values as residuals, got '") << entry << "'";
    saved.push_back(
        {values[number], resultText.empty() ? std::nullopt : std::optional<unsigned>(result)});
  }
  return saved;
}

/// What an operation is called in words.
static std::string nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), gir::kNameAttr);
    return name ? "'" + name.str() + "'" : "argument " + std::to_string(argument.getArgNumber());
  }
  Operation *op = value.getDefiningOp();
  std::string name = op->getName().stripDialect().str();
  if (auto map = dyn_cast<gir::MapOp>(op))
    name = std::string(stringifyScalarOp(map.getScalarOp()));
  if (auto reduce = dyn_cast<gir::ReduceOp>(op))
    name += " " + reduce.getKind().str();
  if (auto line = op->getLoc()->findInstanceOf<FileLineColLoc>())
    name += " in line " + std::to_string(line.getLine());
  return name;
}

/// What was decided, for explanations.
static DictionaryAttr describe(const gir::JointFunction &joint, const gir::SavedValues &choice,
                               StringRef text, bool isTuple) {
  Builder builder(joint.terminator()->getContext());
  auto entries = [&](ArrayRef<gir::SavedValue> values) {
    SmallVector<Attribute> attributes;
    for (const gir::SavedValue &one : values) {
      SmallVector<NamedAttribute> entry = {
          builder.getNamedAttr("value", builder.getStringAttr(nameOf(one.value))),
          builder.getNamedAttr("type", TypeAttr::get(one.value.getType())),
          builder.getNamedAttr("bytes", builder.getI64IntegerAttr(int64_t(one.bytes)))};
      if (std::isfinite(one.again))
        entry.push_back(
            builder.getNamedAttr("again", builder.getI64IntegerAttr(int64_t(one.again))));
      if (std::optional<unsigned> result = joint.resultOf(one.value))
        entry.push_back(builder.getNamedAttr("result", builder.getI64IntegerAttr(*result)));
      attributes.push_back(builder.getDictionaryAttr(entry));
    }
    return builder.getArrayAttr(attributes);
  };
  SmallVector<NamedAttribute> description = {
      builder.getNamedAttr("residuals", builder.getStringAttr(text)),
      builder.getNamedAttr("bytes", builder.getI64IntegerAttr(int64_t(choice.bytes(joint)))),
      builder.getNamedAttr("saved", entries(choice.saved)),
      builder.getNamedAttr("inputs", entries(choice.inputs)),
      builder.getNamedAttr("recomputed", entries(choice.recomputed))};
  if (isTuple)
    description.push_back(builder.getNamedAttr("tuple", builder.getUnitAttr()));
  return builder.getDictionaryAttr(description);
}

/// The joint function that an attribute describes; nothing after an error.
static FailureOr<gir::JointFunction> jointFunction(func::FuncOp function,
                                                   DictionaryAttr attribute) {
  auto count = [&](StringRef name) {
    auto number = attribute.getAs<IntegerAttr>(name);
    return number && number.getInt() >= 0 ? unsigned(number.getInt()) : ~0u;
  };
  gir::JointFunction joint{function, count("inputs"), count("cotangents"), count("results")};
  auto part = attribute.getAs<StringAttr>("part");
  bool isPart = part && (part.getValue() == "forward" || part.getValue() == "backward");
  if (!isPart || joint.numInputs == ~0u || joint.numCotangents == ~0u || joint.numResults == ~0u)
    return function.emitError("expected part = \"forward\" or \"backward\" and the numbers inputs, "
                              "cotangents and results as ")
           << gir::kJointAttr << ", got " << attribute;
  if (function.getNumArguments() < joint.numInputs + joint.numCotangents ||
      function.getNumResults() < joint.numResults)
    return function.emitError("expected at least ")
           << joint.numInputs + joint.numCotangents << " arguments and " << joint.numResults
           << " results, got " << function.getNumArguments() << " and " << function.getNumResults();
  return joint;
}

/// Whether the maxima and the sums of all these rows are residuals.
static bool areSaved(const gir::SavedValues &choice, ArrayRef<gir::Normalization> rows) {
  auto isSaved = [&](Value value) {
    return llvm::any_of(choice.saved,
                        [&](const gir::SavedValue &one) { return one.value == value; });
  };
  return llvm::all_of(rows, [&](gir::Normalization one) {
    return isSaved(one.max.getResult()) && isSaved(one.sum.getResult());
  });
}

namespace {
struct Partition : gir::impl::GraphPartitionBase<Partition> {
  using GraphPartitionBase::GraphPartitionBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto attribute = function->getAttrOfType<DictionaryAttr>(gir::kJointAttr);
    if (attribute && (function.isExternal() || failed(split(function, attribute))))
      signalPassFailure();
  }

private:
  LogicalResult split(func::FuncOp function, DictionaryAttr attribute) {
    FailureOr<gir::JointFunction> joint = jointFunction(function, attribute);
    if (failed(joint))
      return failure();
    function->removeAttr(gir::kJointAttr);
    // Residuals do not change how exact the program is.
    if (Type narrow = gir::narrowValueType(function, function.getArgumentTypes().take_front(
                                                         joint->numInputs + joint->numCotangents)))
      function->setAttr(gir::kValueTypeAttr, TypeAttr::get(narrow));
    SmallVector<gir::Normalization> rows;
    if (function->hasAttr(gir::kValueTypeAttr)) // others keep the digits of f32
      rows = gir::findNormalizations(*joint);
    std::string digest = digestOf(*joint);
    if (attribute.getAs<StringAttr>("part").getValue() == "backward") {
      auto text = attribute.getAs<StringAttr>("saved");
      StringRef list = text ? text.getValue() : StringRef();
      if (!rows.empty() && !list.starts_with(digest)) {
        gir::subtractLogSums(*joint, rows);
        digest = digestOf(*joint);
      }
      FailureOr<SmallVector<Saved>> saved = parseSaved(*joint, list, digest);
      if (failed(saved))
        return failure();
      markReferences(*saved);
      return makeBackward(*joint, *saved);
    }
    gir::SavingCosts costs{flopPerByte};
    if (auto limit = attribute.getAs<IntegerAttr>("bytes"))
      costs.mostBytes = double(limit.getInt());
    gir::SavedValues choice = gir::chooseSavedValues(*joint, costs);
    if (!rows.empty() && areSaved(choice, rows)) {
      gir::subtractLogSums(*joint, rows);
      digest = digestOf(*joint);
      choice = gir::chooseSavedValues(*joint, costs);
    }
    SmallVector<Saved> saved;
    for (const gir::SavedValue &one : choice.saved)
      saved.push_back({one.value, joint->resultOf(one.value)});
    function->setAttr(gir::kPartitionAttr, describe(*joint, choice, textOf(*joint, saved, digest),
                                                    attribute.contains("tuple")));
    markReferences(saved);
    makeForward(*joint, saved);
    return success();
  }
};
} // namespace
