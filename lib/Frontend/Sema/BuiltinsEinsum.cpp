//===- BuiltinsEinsum.cpp - einsum ----------------------------------------===//
//
// An equation names the dimensions of operands and result: 'bik,bkj->bij'. Every name becomes a
// label; dimensions of an ellipsis get labels of their own, counted from the last one, so that they
// broadcast. Then
//
//   1. a label that occurs twice in an operand selects its diagonal: other elements are masked, and
//      the second of the two dimensions is summed;
//   2. labels that only one operand has and the result lacks are summed;
//   3. operands are multiplied pairwise, by a contraction if a label is summed, otherwise
//      elementwise. The order is the one with the fewest multiplications for the concrete sizes,
//      found by dynamic programming over all subsets of operands;
//   4. the dimensions are transposed to the result's order.
//
//===------------------------------------------------------------------------------------------===//
#include "Reductions.h"

#include <limits>

using namespace tessera;
using namespace tessera::sema;

namespace {

using Labels = llvm::SmallVector<int>;

/// Labels of an ellipsis' dimensions are above those of letters.
constexpr int FirstEllipsis = 256;

struct Operand {
  Value x;
  Labels labels;
  llvm::StringRef term = {}; ///< of the equation

  int64_t dimOf(int label) const {
    auto it = llvm::find(labels, label);
    return it == labels.end() ? -1 : it - labels.begin();
  }
  bool has(int label) const { return dimOf(label) >= 0; }
};

class Einsum {
public:
  Einsum(Args &args) : args(args), emit(args.emit()) {}

  Value run();

private:
  /// Reports an error in a part of the equation.
  ErrorBuilder fail(llvm::StringRef part, std::string message) {
    return args.in.error(rangeOf(part), std::move(message));
  }
  SourceRange rangeOf(llvm::StringRef part) const;
  bool readTerm(llvm::StringRef term, size_t number);
  bool readResult(llvm::StringRef term);
  void impliedResult();
  bool bindSizes();
  void takeDiagonal(Operand &operand);
  void sumAlone(size_t number);
  void sumDims(Operand &operand, llvm::ArrayRef<int64_t> dims);
  Operand multiply(const Operand &left, const Operand &right, llvm::ArrayRef<int> needed);
  Operand contractAll();
  Value arrange(const Operand &last);

  bool inResult(int label) const { return llvm::is_contained(result, label); }
  double sizeAtHand(int label) {
    std::optional<int64_t> size = args.in.sizes.valueAtHand(sizes.at(label));
    return size ? double(std::max<int64_t>(*size, 1)) : 64;
  }

  Args &args;
  Emitter &emit;
  std::string equation; ///< without spaces
  std::vector<Operand> operands;
  Labels result;
  std::map<int, SymExpr> sizes;
  int ellipsisRank = 0;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// The equation
//===------------------------------------------------------------------------------------------===//

/// The location of a part of the equation in the program if it is a literal, otherwise the whole
/// argument.
SourceRange Einsum::rangeOf(llvm::StringRef part) const {
  SourceRange whole = args.ranges[0];
  llvm::StringRef written = args.in.diagnostics.sources.text(whole);
  llvm::StringRef value = *args.values[0].text;
  size_t quotes = written.starts_with("\"\"\"") || written.starts_with("'''") ? 3 : 1;
  bool isLiteral = written.starts_with("\"") || written.starts_with("'");
  if (!isLiteral || written.drop_front(quotes).drop_back(quotes) != value)
    return whole;
  auto placeOf = [&](size_t letter) {
    size_t place = 0;
    for (; place < value.size(); ++place)
      if (value[place] != ' ' && letter-- == 0)
        break;
    return uint32_t(whole.begin + quotes + place);
  };
  size_t first = part.data() - equation.data();
  return {whole.file, placeOf(first), placeOf(first + std::max<size_t>(part.size(), 1) - 1) + 1};
}

/// Splits a term into the letters before and after the ellipsis. Returns the first invalid
/// character, if there is one.
static llvm::StringRef splitTerm(llvm::StringRef term, llvm::StringRef &front,
                                 llvm::StringRef &back, bool &hasEllipsis) {
  size_t at = term.find("...");
  hasEllipsis = at != term.npos;
  front = term.take_front(at);
  back = hasEllipsis ? term.drop_front(at + 3) : llvm::StringRef();
  for (llvm::StringRef part : {front, back})
    for (const char &c : part)
      if (!llvm::isAlpha(c))
        return {&c, 1};
  return {};
}

bool Einsum::readTerm(llvm::StringRef term, size_t number) {
  llvm::StringRef front, back;
  bool hasEllipsis = false;
  if (llvm::StringRef wrong = splitTerm(term, front, back, hasEllipsis); !wrong.empty()) {
    fail(wrong, "expected letters and at most one '...' in '" + term.str() + "' of 'einsum'");
    return false;
  }
  Operand &operand = operands[number];
  operand.term = term;
  int64_t rank = operand.x.rank(), named = front.size() + back.size();
  if (hasEllipsis ? named > rank : named != rank) {
    args.error(1, "expected " + std::string(hasEllipsis ? "at least " : "") +
                      std::to_string(named) + " dimensions for '" + term.str() +
                      "' of 'einsum', found " + describe(operand.x));
    return false;
  }
  for (char c : front)
    operand.labels.push_back(c);
  int covered = rank - named;
  for (int i = covered; i-- > 0;)
    operand.labels.push_back(FirstEllipsis + i);
  ellipsisRank = std::max(ellipsisRank, covered);
  for (char c : back)
    operand.labels.push_back(c);
  return true;
}

bool Einsum::readResult(llvm::StringRef term) {
  llvm::StringRef front, back;
  bool hasEllipsis = false;
  if (llvm::StringRef wrong = splitTerm(term, front, back, hasEllipsis); !wrong.empty()) {
    fail(wrong, "expected letters and at most one '...' after '->' of 'einsum', found '" +
                    term.str() + "'");
    return false;
  }
  for (char c : front)
    result.push_back(c);
  for (int i = hasEllipsis ? ellipsisRank : 0; i-- > 0;)
    result.push_back(FirstEllipsis + i);
  for (char c : back)
    result.push_back(c);
  for (size_t i = 0; i < result.size(); ++i) {
    std::string name(1, char(result[i]));
    auto written = [&] { return term.substr(term.rfind(name[0]), 1); };
    if (llvm::is_contained(llvm::ArrayRef(result).take_front(i), result[i])) {
      fail(written(), "'" + name + "' occurs twice after '->' of 'einsum'");
      return false;
    }
    if (llvm::none_of(operands, [&](const Operand &one) { return one.has(result[i]); })) {
      fail(written(), "'" + name + "' after '->' of 'einsum' names no dimension of an operand");
      return false;
    }
  }
  return true;
}

/// Without '->': the ellipsis, then the letters that occur once, in alphabetical order.
void Einsum::impliedResult() {
  std::map<int, int> counts;
  for (const Operand &operand : operands)
    for (int label : operand.labels)
      ++counts[label];
  for (int i = ellipsisRank; i-- > 0;)
    result.push_back(FirstEllipsis + i);
  for (auto [label, count] : counts)
    if (label < FirstEllipsis && count == 1)
      result.push_back(label);
}

/// One size per label. A dimension of size 1 broadcasts: it is dropped if another operand has a
/// larger one.
bool Einsum::bindSizes() {
  for (const Operand &operand : operands) {
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      SymExpr size = operand.x.shape()[dim];
      auto [it, isNew] = sizes.try_emplace(label, size);
      if (isNew || size.isConstant(1))
        continue;
      if (it->second.isConstant(1)) {
        it->second = size;
      } else if (!args.in.sizes.equal(it->second, size, args.range)) {
        std::string name = label < FirstEllipsis ? std::string(1, char(label)) : "...";
        // The operand that determined the label's size.
        size_t first = 0, second = &operand - operands.data();
        while (first < second && (!operands[first].has(label) ||
                                  !llvm::is_contained(operands[first].x.shape(), it->second)))
          ++first;
        SourceRange range = rangeOf(operand.term.substr(operand.term.rfind(name), name.size()));
        args.in.sizeMismatch(range,
                             "the sizes of '" + name + "' of 'einsum' do not match: '" +
                                 it->second.str() + "' and '" + size.str() + "'",
                             it->second, size, {operands[first].x, args.part(1, first)},
                             {operand.x, args.part(1, second)});
        return false;
      }
    }
  }
  for (Operand &operand : operands) {
    llvm::SmallVector<int64_t> dropped;
    Labels left;
    Shape shape;
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      if (operand.x.shape()[dim].isConstant(1) && !sizes.at(label).isConstant(1)) {
        dropped.push_back(dim);
        continue;
      }
      left.push_back(label);
      shape.push_back(sizes.at(label));
    }
    mlir::Value x = emit.dropDims(operand.x.tensor, dropped);
    operand = {Value::ofTensor(emit.reshape(x, shape)), left};
  }
  return true;
}

//===------------------------------------------------------------------------------------------===//
// One operand
//===------------------------------------------------------------------------------------------===//

void Einsum::sumDims(Operand &operand, llvm::ArrayRef<int64_t> dims) {
  operand.x = sumOver(emit, operand.x, dims);
  for (int64_t dim : llvm::reverse(dims))
    operand.labels.erase(operand.labels.begin() + dim);
}

void Einsum::takeDiagonal(Operand &operand) {
  for (size_t second = 1; second < operand.labels.size(); ++second) {
    int64_t first = operand.dimOf(operand.labels[second]);
    if (first == int64_t(second))
      continue;
    Value onDiagonal = emit.map(ScalarOp::Eq, {emit.iota(operand.x.shape(), first, DType::Int64),
                                               emit.iota(operand.x.shape(), second, DType::Int64)});
    operand.x = emit.map(ScalarOp::Where, {onDiagonal, operand.x, Value::ofInt(SymExpr(0))});
    operand.x = sumOver(emit, operand.x, {int64_t(second)});
    operand.labels.erase(operand.labels.begin() + second--);
  }
}

void Einsum::sumAlone(size_t number) {
  llvm::SmallVector<int64_t> dims;
  bool adds = false; // more than one element
  for (auto [dim, label] : llvm::enumerate(operands[number].labels)) {
    bool elsewhere = inResult(label);
    for (size_t other = 0; other < operands.size(); ++other)
      elsewhere |= other != number && operands[other].has(label);
    if (elsewhere)
      continue;
    dims.push_back(dim);
    adds |= operands.size() == 1 || !sizes.at(label).isConstant(1);
  }
  // A sum alone follows PyTorch's sum, which is int64 for integers; the other operands follow it.
  if (adds && !Emitter::isFloat(Emitter::dtype(operands[number].x)))
    for (Operand &operand : operands)
      operand.x = emit.cast(operand.x, DType::Int64, false);
  sumDims(operands[number], dims);
}

//===------------------------------------------------------------------------------------------===//
// Pairwise products
//===------------------------------------------------------------------------------------------===//

/// The product of two operands, summed over the labels of both that are no longer needed.
Operand Einsum::multiply(const Operand &left, const Operand &right, llvm::ArrayRef<int> needed) {
  llvm::SmallVector<int64_t> leftBatch, rightBatch, leftOver, rightOver;
  Labels labels, leftFree, rightFree;
  for (auto [dim, label] : llvm::enumerate(left.labels)) {
    int64_t other = right.dimOf(label);
    if (other < 0) {
      leftFree.push_back(label);
    } else if (llvm::is_contained(needed, label)) {
      leftBatch.push_back(dim);
      rightBatch.push_back(other);
      labels.push_back(label);
    } else {
      leftOver.push_back(dim);
      rightOver.push_back(other);
    }
  }
  for (int label : right.labels)
    if (!left.has(label))
      rightFree.push_back(label);
  labels.append(leftFree);
  labels.append(rightFree);
  if (!leftOver.empty()) {
    mlir::Value product =
        gir::ContractOp::create(emit.builder, emit.loc(), left.x.tensor, right.x.tensor, leftBatch,
                                rightBatch, leftOver, rightOver);
    return {Value::ofTensor(product), labels};
  }
  // Nothing is summed: an elementwise product, in the order of the labels.
  auto aligned = [&](const Operand &operand) {
    llvm::SmallVector<int64_t> permutation, missing;
    for (auto [dim, label] : llvm::enumerate(labels)) {
      if (operand.has(label))
        permutation.push_back(operand.dimOf(label));
      else
        missing.push_back(dim);
    }
    return Value::ofTensor(emit.unsqueeze(emit.transpose(operand.x.tensor, permutation), missing));
  };
  return {emit.map(ScalarOp::Mul, {aligned(left), aligned(right)}), labels};
}

/// Multiplies all operands in the cheapest order: `best[set]` is the split of a set of operands.
Operand Einsum::contractAll() {
  size_t count = operands.size();
  auto labelsOf = [&](unsigned set) {
    // The labels of a set's product: those that other operands or the result need.
    Labels labels;
    for (size_t i = 0; i < count; ++i) {
      if (!(set >> i & 1))
        continue;
      for (int label : operands[i].labels) {
        bool needed = inResult(label);
        for (size_t j = 0; j < count; ++j)
          needed |= !(set >> j & 1) && operands[j].has(label);
        if (needed && !llvm::is_contained(labels, label))
          labels.push_back(label);
      }
    }
    return labels;
  };
  constexpr size_t most =
      10; // more operands are multiplied from left to right: there are too many orders
  if (count > most) {
    Operand product = operands[0];
    for (size_t i = 1; i < count; ++i)
      product = multiply(product, operands[i], labelsOf((2u << i) - 1));
    return product;
  }
  unsigned all = (1u << count) - 1;
  std::vector<double> cost(all + 1, std::numeric_limits<double>::infinity());
  std::vector<unsigned> split(all + 1, 0);
  for (unsigned set = 1; set <= all; ++set) {
    if ((set & (set - 1)) == 0) {
      cost[set] = 0;
      continue;
    }
    // The half with the lowest operand determines the other.
    for (unsigned half = (set - 1) & set; half; half = (half - 1) & set) {
      if (!(half & set & -set))
        continue;
      double work = 1;
      Labels both = labelsOf(half);
      for (int label : labelsOf(set & ~half))
        if (!llvm::is_contained(both, label))
          both.push_back(label);
      for (int label : both)
        work *= sizeAtHand(label);
      double sum = cost[half] + cost[set & ~half] + work;
      if (sum < cost[set]) {
        cost[set] = sum;
        split[set] = half;
      }
    }
  }
  auto build = [&](auto &self, unsigned set) -> Operand {
    if (!split[set])
      return operands[llvm::countr_zero(set)];
    return multiply(self(self, split[set]), self(self, set & ~split[set]), labelsOf(set));
  };
  return build(build, all);
}

Value Einsum::arrange(const Operand &last) {
  llvm::SmallVector<int64_t> permutation;
  for (int label : result)
    permutation.push_back(last.dimOf(label));
  return Value::ofTensor(emit.transpose(last.x.tensor, permutation));
}

Value Einsum::run() {
  if (!args[0].is(Value::Str))
    return args.error(0, "expected an equation such as 'ij,jk->ik' for 'einsum', found " +
                             describe(args[0]));
  for (char c : *args[0].text)
    if (c != ' ')
      equation += c;
  auto [left, right] = llvm::StringRef(equation).split("->");
  bool hasArrow = llvm::StringRef(equation).contains("->");
  llvm::SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  const std::vector<Value> &given = *args[1].elements;
  if (given.size() != terms.size())
    return args.error(1, "expected " + std::to_string(terms.size()) +
                             " operands, as in the equation of 'einsum', found " +
                             std::to_string(given.size()));
  std::optional<DType> common;
  for (const Value &value : given) {
    if (!value.isTensor() && !value.isNumber())
      return args.error(1, "expected tensors for 'einsum', found " + describe(value));
    Value x = emit.asTensor(value);
    common = common ? Emitter::promote(*common, Emitter::dtype(x)) : Emitter::dtype(x);
    operands.push_back({x, {}});
  }
  if (*common == DType::Bool)
    return args.error(1, "'einsum' is not defined for bools").help("convert with .to(int32)");
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i].x = emit.cast(operands[i].x, *common, false);
    if (!readTerm(terms[i], i))
      return Value::error();
  }
  if (hasArrow ? !readResult(right) : (impliedResult(), false))
    return Value::error();
  if (!bindSizes())
    return Value::error();
  for (Operand &operand : operands)
    takeDiagonal(operand);
  for (size_t i = 0; i < operands.size(); ++i)
    sumAlone(i);
  return arrange(contractAll());
}

Value sema::einsum(Args &args) { return Einsum(args).run(); }
