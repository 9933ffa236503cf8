//===- AtenNode.h - One operation of an imported graph --------------------------===//
#ifndef TESSERA_LIB_IMPORT_ATENNODE_H
#define TESSERA_LIB_IMPORT_ATENNODE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::aten {

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

  /// Adds a statement `NAME_SUFFIX = text`, and returns the name.
  std::string let(llvm::StringRef suffix, const std::string &text) const;

  std::string name, op;
  std::vector<TensorInfo> results;

private:
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

/// The table: each operation and its builder.
const llvm::StringMap<Builder> &operations();

} // namespace tessera::aten

#endif // TESSERA_LIB_IMPORT_ATENNODE_H
