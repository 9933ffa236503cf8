//===- StableHloReader.h - Modules as graphs of operations ------------------------===//
//
// The reader walks a function, inlines calls and control flow, evaluates what is known, and writes
// the other operations as nodes of a graph. Regions are applied to tensors, or recognized.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_IMPORT_STABLEHLOREADER_H
#define TESSERA_LIB_IMPORT_STABLEHLOREADER_H

#include "Node.h"

#include "tessera/Import/StableHlo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera::stablehlo {

using importer::TensorInfo;
namespace json = llvm::json;

/// A call in place of `func.call`, which MLIR verifies.
inline constexpr llvm::StringLiteral kCall = "tessera.call";

/// A value of the module.
struct Datum {
  mlir::Type type;
  TensorInfo info;                ///< no dtype where the language has none
  std::string name;               ///< of a statement or a parameter; empty if it is only known
  mlir::DenseElementsAttr known;  ///< its elements, if they are known
  std::vector<std::string> sizes; ///< the elements of integers that depend on sizes
  bool isBad = false;             ///< the result of what is not supported
  std::vector<Datum> parts;       ///< of a tuple
  std::optional<size_t> iotaDim;  ///< the dimension along which the elements count from 0

  size_t rank() const { return info.shape.size(); }
};
using Data = std::vector<Datum>;

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

/// The name of a type in the language; empty if it has none.
std::string dtypeOf(mlir::Type element);
/// The type of a tensor; why there is none in `reason`.
std::optional<TensorInfo> infoOf(mlir::Type type, std::string &reason);
/// All attributes and properties of an operation by name; the fields of StableHLO's own attributes
/// are attributes, too.
json::Object attributesOf(mlir::Operation *op);
/// A list of integers in attributes.
std::optional<std::vector<int64_t>> numbersIn(const json::Object &attributes, llvm::StringRef name);
/// `stablehlo.add` without the dialect, `chlo.erf` with it.
std::string nameOf(mlir::Operation *op);
/// The name of an operation and its line, for messages.
std::string titleOf(mlir::Operation *op);
/// The line of an operation; 0 if its text has none.
unsigned lineOf(mlir::Location loc);

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

/// The elements of the result of an operation whose operands are known; null if it is not
/// evaluated.
mlir::DenseElementsAttr evaluate(llvm::StringRef op,
                                 llvm::ArrayRef<mlir::DenseElementsAttr> operands,
                                 const json::Object &attributes, mlir::Type result);
/// The elements as arguments of a node: numbers, bools, {"float": text}.
json::Array elementsOf(mlir::DenseElementsAttr known);
/// The bytes of a constant.
std::string bytesOf(mlir::DenseElementsAttr known);

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The operation that a region of two scalars is: "add", "maximum", …; "second" if it returns its
/// second argument; empty for others.
std::string operationOf(mlir::Region &region);
/// "argmax" or "argmin" if a region of two values and two indices chooses the larger or smaller
/// value, and the first of equal ones; empty for others.
std::string choiceOf(mlir::Region &region);

/// How a comparator orders rows.
struct Order {
  std::vector<std::pair<size_t, bool>> keys; ///< operands, and whether each is descending
};
std::optional<Order> orderOf(mlir::Region &region, size_t operands);
/// The elements of a constant; null for other operations.
mlir::DenseElementsAttr constantOf(mlir::Operation *op);
/// Whether an operation computes each element of its result from one element of each operand.
bool isElementwise(llvm::StringRef op);

//===----------------------------------------------------------------------===//
// The reader
//===----------------------------------------------------------------------===//

class Reader {
public:
  explicit Reader(mlir::ModuleOp module) : module(module) {}

  llvm::Expected<ImportedModule> run();

private:
  // Values (StableHloReader.cpp).
  llvm::Error readFunction(mlir::func::FuncOp function);
  mlir::func::FuncOp entry(std::string &error);
  void addInput(mlir::func::FuncOp function, unsigned index);
  Datum &at(mlir::Value value) { return values[value]; }
  Data operandsOf(mlir::Operation *op);
  void set(mlir::Operation *op, Data results);
  /// Records why an operation is not supported; its results are bad.
  std::nullopt_t refuse(mlir::Operation *op, const std::string &why);

  /// A value as an argument of a node. Known values that are not computed become constants.
  json::Value reference(Datum &datum);
  void write(Datum &datum);
  /// Adds a node; its results have the given types.
  Data emit(llvm::StringRef op, json::Object arguments, llvm::ArrayRef<TensorInfo> results);
  Datum emitOne(llvm::StringRef op, json::Object arguments, const TensorInfo &result) {
    return emit(op, std::move(arguments), {result}).front();
  }
  /// The node of an operation of StableHLO, evaluated if its operands are known.
  Data apply(llvm::StringRef op, Data operands, json::Object attributes,
             llvm::ArrayRef<TensorInfo> results, llvm::ArrayRef<mlir::Type> types);
  json::Object argumentsOf(llvm::StringRef op, Data &operands, json::Object attributes);

  // Operations (StableHloControl.cpp).
  void read(mlir::Operation *op);
  std::optional<Data> readOperation(mlir::Operation *op);
  bool isTooLong() const;
  /// The operands of the terminator after the block's operations.
  std::optional<Data> readBlock(mlir::Block &block, Data arguments);
  std::optional<Data> readPlain(mlir::Operation *op);
  std::optional<Data> readConstant(mlir::Operation *op);
  std::optional<std::vector<TensorInfo>> resultsOf(mlir::Operation *op, const Data &operands);
  std::optional<Data> readCall(mlir::Operation *op, llvm::StringRef callee, Data operands);
  std::optional<Data> readComposite(mlir::Operation *op);
  std::optional<Data> readNamed(mlir::Operation *op, const std::string &name,
                                json::Object attributes);
  std::optional<Data> readCustomCall(mlir::Operation *op);
  std::optional<Data> readWhile(mlir::Operation *op);
  std::optional<Data> readBranches(mlir::Operation *op);
  std::optional<Data> readTuple(mlir::Operation *op);
  std::optional<Data> readSizes(mlir::Operation *op);
  std::optional<Datum> sizesAfter(mlir::Operation *op, const Data &operands,
                                  const TensorInfo &result);

  // Regions (StableHloRegions.cpp).
  std::optional<Data> readReduce(mlir::Operation *op);
  std::optional<Data> readWindows(mlir::Operation *op);
  std::optional<Data> readSort(mlir::Operation *op);
  std::optional<Data> readMap(mlir::Operation *op);
  std::optional<Data> readScatter(mlir::Operation *op);
  std::optional<Data> readSelectAndScatter(mlir::Operation *op);
  /// A region of scalars, applied to tensors of one shape.
  std::optional<Data> applyRegion(mlir::Operation *of, mlir::Region &region, Data arguments,
                                  llvm::ArrayRef<std::string> shape);
  std::optional<Data> combineTree(mlir::Operation *op, Data inputs, size_t dim);
  std::optional<Data> combineWindows(mlir::Operation *op, Data inputs, size_t dim, int64_t size,
                                     int64_t dilation);
  Data slicesOf(Data &inputs, size_t dim, int64_t start, int64_t count, int64_t step);
  Datum sliced(Datum &x, size_t dim, int64_t start, int64_t count, int64_t step);

  void finish(ImportedModule &result);

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, Datum> values;
  llvm::DenseMap<mlir::Attribute, std::string> written;
  std::vector<std::pair<std::string, mlir::DenseElementsAttr>> weights;
  std::vector<std::string> outputNames;
  json::Array inputs, nodes;
  std::vector<std::pair<std::string, std::string>> problems;
  llvm::StringMap<std::string> titles; ///< of nodes
  std::string title;                   ///< of the operation that is read
  ImportedModule imported;
  Data outputs;
  const std::vector<std::string> *shape = nullptr; ///< of the tensors that a region is applied to
  size_t depth = 0, steps = 0;
};

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_IMPORT_STABLEHLOREADER_H
