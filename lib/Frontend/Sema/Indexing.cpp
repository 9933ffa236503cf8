//===- Indexing.cpp - Subscripts of tensors ---------------------------------------------------===//
//
// Integers, slices, `...`, `None` and integer tensors (Gathers.cpp). Bounds may be symbolic. Python
// clamps a slice's bounds to the size. Which side of a clamp applies is proven from facts about the
// sizes, or taken from the concrete sizes with a guard, so that the result's size stays a simple
// expression.
//
//===------------------------------------------------------------------------------------------===//
#include "Gathers.h"

using namespace tessera;
using namespace tessera::sema;

Value Emitter::index(const Value &base, llvm::ArrayRef<Value> given,
                     llvm::ArrayRef<SourceRange> ranges) {
  llvm::SmallVector<Value> indices(given);
  for (Value &index : indices)
    if (index.is(Value::List))
      index = listedIndices(*this, index).value_or(index);
  int64_t consumed = 0, ellipses = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Value &index = indices[i];
    if (index.isError())
      return index;
    ellipses += index.is(Value::Ellipsis);
    consumed += !index.is(Value::Ellipsis) && !index.is(Value::None);
    if (ellipses > 1)
      return in->error(ranges[i], "an index can have only one '...'");
    bool isMask = index.isTensor() && (dtype(index) == DType::Bool || dtype(index) == DType::UInt8);
    if (isMask || index.isSequence())
      return in
          ->error(ranges[i],
                  "indexing by " + describe(index) + " is not supported by this compiler")
          .help(isMask ? "how many elements it takes depends on data: use tsr.where for a choice "
                         "by element"
                       : "use integers, slices and tensors of integers");
    if (index.isTensor() && !index.weak && !isIndexType(dtype(index)))
      return in->error(ranges[i], "expected integers for the index, found " + describe(index));
    if (index.is(Value::Bool))
      return in->error(ranges[i], "indexing by a bool is not supported by this compiler");
  }
  int64_t rank = base.rank();
  if (consumed > rank)
    return in->error(ranges.back(), "too many indices: expected at most " + std::to_string(rank) +
                                        " for " + describe(base) + ", found " +
                                        std::to_string(consumed));

  Shape starts, sizes;
  llvm::SmallVector<int64_t> steps, dropped, inserted;
  llvm::SmallVector<std::pair<int64_t, size_t>> gathered; // the result's dimension, the index
  int64_t dim = 0, resultDims = 0;
  auto whole = [&](int64_t count) {
    for (; count > 0; --count, ++dim, ++resultDims) {
      starts.push_back(SymExpr(0));
      steps.push_back(1);
      sizes.push_back(base.shape()[dim]);
    }
  };
  for (size_t i = 0; i < indices.size(); ++i) {
    const Value &index = indices[i];
    if (index.is(Value::Ellipsis)) {
      whole(rank - consumed);
    } else if (index.is(Value::None)) {
      inserted.push_back(resultDims++);
    } else if (index.isTensor() && !index.weak) {
      gathered.push_back({resultDims, i});
      whole(1);
    } else if (index.is(Value::Slice)) {
      SymExpr start, count;
      int64_t step = 1;
      if (!sliceDim(index, base.shape()[dim], ranges[i], start, step, count))
        return Value::error();
      starts.push_back(start);
      steps.push_back(step);
      sizes.push_back(count);
      ++dim, ++resultDims;
    } else {
      std::optional<SymExpr> at = in->toSize(index, ranges[i], "the index");
      SymExpr start;
      if (!at || !indexDim(*at, dim, base.shape()[dim], ranges[i], start))
        return Value::error();
      starts.push_back(start);
      steps.push_back(1);
      sizes.push_back(SymExpr(1));
      dropped.push_back(dim++);
    }
  }
  whole(rank - dim);
  mlir::Value result = slice(base.tensor, starts, steps, sizes);
  result = unsqueeze(dropDims(result, dropped), inserted);
  if (gathered.empty())
    return Value::ofTensor(result);
  llvm::SmallVector<const Value *> tensors(resultDims);
  llvm::SmallVector<SourceRange> places(resultDims);
  for (auto [at, i] : gathered) {
    tensors[at] = &indices[i];
    places[at] = ranges[i];
  }
  return indexByTensors(*this, Value::ofTensor(result), tensors, places);
}

bool Emitter::indexDim(SymExpr index, int64_t dim, SymExpr size, SourceRange range,
                       SymExpr &start) {
  std::optional<bool> fromFront = in->sizes.nonNegative(index, range);
  if (!fromFront) {
    in->error(range, "the sign of the index '" + index.str() + "' must be known");
    return false;
  }
  start = *fromFront ? index : size + index;
  std::optional<bool> inside =
      in->sizes.nonNegative(*fromFront ? size - index - SymExpr(1) : start, range);
  if (inside == true)
    return true;
  ErrorBuilder report =
      in->error(range, "index " + index.str() + " is out of range for dimension " +
                           std::to_string(dim) + " of size '" + size.str() + "'");
  in->noteSize(report, size);
  return false;
}

/// A slice's bound as clamped by Python: negative ones count from the end, then into [low, high].
std::optional<SymExpr> Emitter::clampBound(SymExpr bound, SymExpr size, SymExpr low, SymExpr high,
                                           SourceRange range) {
  // Larger than every size, but sums with sizes stay within 64 bits.
  constexpr int64_t beyond = int64_t(1) << 62;
  if (bound.isConstant())
    bound = SymExpr(std::clamp(bound.constantValue(), -beyond, beyond));
  std::optional<bool> fromFront = in->sizes.nonNegative(bound, range);
  if (!fromFront)
    return std::nullopt;
  SymExpr at = *fromFront ? bound : size + bound;
  // A bound from the front is not below `low`, one from the end not above `high`.
  if (*fromFront) {
    std::optional<bool> fits = in->sizes.nonNegative(high - at, range);
    return fits ? std::optional(*fits ? at : high) : std::nullopt;
  }
  std::optional<bool> fits = in->sizes.nonNegative(at - low, range);
  return fits ? std::optional(*fits ? at : low) : std::nullopt;
}

bool Emitter::sliceDim(const Value &slice, SymExpr size, SourceRange range, SymExpr &start,
                       int64_t &step, SymExpr &count) {
  const std::vector<Value> &parts = *slice.elements;
  for (const Value &part : parts)
    if (part.isError())
      return false;
  auto at = [&](const Value &part) { return part.written.isValid() ? part.written : range; };
  step = 1;
  if (!parts[2].is(Value::None)) {
    std::optional<int64_t> given = in->toInt(parts[2], at(parts[2]), "the slice's step");
    if (!given)
      return false;
    step = *given;
    if (step == 0) {
      in->error(at(parts[2]), "a slice's step must not be 0");
      return false;
    }
  }
  bool backward = step < 0;
  SymExpr low(backward ? -1 : 0), high = backward ? size - SymExpr(1) : size;
  auto bound = [&](const Value &part, SymExpr otherwise) -> std::optional<SymExpr> {
    if (part.is(Value::None))
      return otherwise;
    std::optional<SymExpr> given = in->toSize(part, at(part), "the slice's bound");
    if (!given)
      return std::nullopt;
    std::optional<SymExpr> clamped = clampBound(*given, size, low, high, range);
    if (!clamped)
      in->error(at(part), "the order of the slice's bound '" + given->str() + "' and the size '" +
                              size.str() + "' must be known");
    return clamped;
  };
  std::optional<SymExpr> from = bound(parts[0], backward ? high : SymExpr(0));
  std::optional<SymExpr> to = bound(parts[1], backward ? SymExpr(-1) : size);
  if (!from || !to)
    return false;
  SymExpr length = backward ? *from - *to : *to - *from;
  std::optional<bool> some = in->sizes.nonNegative(length, range);
  if (!some) {
    in->error(range, "the order of the slice's bounds must be known");
    return false;
  }
  start = *from;
  // A step past the end selects one element; keep its product with sizes small.
  SymExpr stride(backward ? (step == INT64_MIN ? INT64_MAX : -step) : step);
  count = *some ? length.ceilDiv(stride) : SymExpr(0);
  // As for arguments, sizes 0 and 1 are special.
  std::optional<int64_t> atHand = in->sizes.valueAtHand(count);
  if (!count.isConstant() && atHand && *atHand <= 1)
    count = SymExpr(*in->sizes.fix(count, range));
  if (count.isConstant(0)) {
    start = SymExpr(0);
    step = 1;
  } else if (count.isConstant(1)) {
    step = backward ? -1 : 1;
  }
  return true;
}
