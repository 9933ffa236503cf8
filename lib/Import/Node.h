//===- Node.h - One operation of an imported graph ------------------------------===//
#ifndef TESSERA_LIB_IMPORT_NODE_H
#define TESSERA_LIB_IMPORT_NODE_H

#include "tessera/Import/Program.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::importer {

/// The type of a tensor in a graph. Sizes are numbers or names.
struct TensorInfo {
  std::string dtype;
  std::vector<std::string> shape;

  size_t rank() const { return shape.size(); }
  bool isFloat() const {
    return llvm::StringRef(dtype).starts_with("fp") || llvm::StringRef(dtype).starts_with("bf");
  }
};

using Values = llvm::StringMap<std::vector<TensorInfo>>;

/// An operation with its arguments as text of the language.
class Node {
public:
  Node(const llvm::json::Object &object, const Values &values, std::vector<std::string> &lines);

  /// The text of an argument: a name, a number, a tuple.
  std::string operator[](llvm::StringRef argument) const;
  /// Whether it is given and not None.
  bool has(llvm::StringRef argument) const;
  /// The texts of a list's elements.
  std::vector<std::string> list(llvm::StringRef argument) const;
  std::optional<int64_t> integer(llvm::StringRef argument) const;
  bool isTrue(llvm::StringRef argument) const;
  /// Whether it is exactly this number.
  bool is(llvm::StringRef argument, double number) const;
  std::string string(llvm::StringRef argument) const;
  /// The type of a tensor that is an argument, or an element of a list; nullptr for others.
  const TensorInfo *tensor(llvm::StringRef argument) const;
  std::vector<const TensorInfo *> tensors(llvm::StringRef argument) const;
  /// All tensors among the arguments.
  std::vector<const TensorInfo *> operands() const;
  /// A dimension as a number from 0.
  std::optional<size_t> dim(llvm::StringRef argument, size_t rank) const;

  /// The type of the first result.
  const TensorInfo &result() const {
    static const TensorInfo none;
    return results.empty() ? none : results[0];
  }

  /// The texts of elements that are known when the graph is imported: those of a list or a number,
  /// or the value of a constant tensor; nothing for other tensors and for what is not given.
  std::optional<std::vector<std::string>> known(llvm::StringRef argument) const;
  /// The same as integers; nothing if an element is a size that only a call knows.
  std::optional<std::vector<int64_t>> integers(llvm::StringRef argument) const;
  /// Says why the node is not supported: `return node.refuse("…")` in a builder.
  std::nullopt_t refuse(std::string why) const {
    reason = std::move(why);
    return std::nullopt;
  }

  /// Adds a statement `NAME_SUFFIX = text`, and returns the name.
  std::string let(llvm::StringRef suffix, const std::string &text) const;

  std::string name, op;
  std::vector<TensorInfo> results;
  /// The names of the results where each has its own; else the node is a tuple.
  std::vector<std::string> targets;
  /// The version of the set of operations.
  int64_t version = 0;
  mutable std::string reason = "the operation's arguments are not supported";

private:
  const llvm::json::Value *find(llvm::StringRef argument) const;
  /// The element of a constant of one element, or the argument itself.
  const llvm::json::Value *scalar(llvm::StringRef argument) const;
  std::string textOf(const llvm::json::Value &value) const;
  const TensorInfo *typeOf(const llvm::json::Value &value) const;

  const llvm::json::Object *arguments;
  const Values &values;
  std::vector<std::string> &lines;
};

/// The expression of an operation; nothing if its arguments are not supported.
using Builder = std::function<std::optional<std::string>(const Node &)>;

/// Fills a pattern: `{x}` is the text of argument x.
std::string fill(llvm::StringRef pattern, const Node &node);

/// Joins with ", ".
std::string joined(const std::vector<std::string> &texts);
/// A tuple, also of one element.
std::string tupleOf(const std::vector<std::string> &texts);
/// `x[:, :, index]`, where `index` is that of dimension `dim`.
std::string indexed(const std::string &x, size_t dim, const std::string &index);

/// Each operation and its builder.
using Table = llvm::StringMap<Builder>;

/// The names of a table in alphabetical order.
std::vector<std::string> namesOf(const Table &table);

/// The program of a graph, whose JSON Aten.h and Onnx.h describe.
llvm::Expected<ImportedProgram> translate(llvm::StringRef json, const Table &table);
/// The same for a graph that is an object. `isPruned`: statements whose values are not read are
/// omitted.
ImportedProgram translate(const llvm::json::Object &graph, const Table &table, bool isPruned);

} // namespace tessera::importer

#endif // TESSERA_LIB_IMPORT_NODE_H
