//===- Annotations.cpp - Annotations and their checks ---------------------===//
//
// `Tensor["B", 128, fp16]`, `Tensor["*batch", "K"]`, `int`, `float`, `bool`, tuples of these, and
// `X | None`; `Annotated[Tensor, "B", 128, fp16]` is the form that type checkers accept, too.
// `Region[read | write, "B", 128, fp16]` also gives the privileges of the function on the argument.
// Annotations check and bind the names of sizes; they never convert. An unknown annotation (another
// library's type) has no effect.
//
//===------------------------------------------------------------------------------------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::ast;
using namespace tessera::sema;

static bool isIdentifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9'))
    return false;
  return llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || (c & 0x80); });
}

/// One entry of `Tensor[…]`.
static bool readDim(Interpreter &in, const Expr *expr, bool last,
                    Interpreter::TensorAnnotation &tensor) {
  Interpreter::DimAnnotation dim;
  dim.range = expr->range;
  if (expr->is<EllipsisExpr>()) {
    dim.kind = dim.Rest;
    tensor.dims.push_back(dim);
    return true;
  }
  const auto *slice = expr->as<SliceExpr>();
  if (expr->is<NoneExpr>() || (slice && !slice->lower && !slice->upper && !slice->step)) {
    tensor.dims.push_back(dim);
    return true;
  }
  // An otherwise unknown name is the name of a size, without its quotes.
  const auto *bare = expr->as<NameExpr>();
  Diagnostics::Checkpoint checkpoint = in.diagnostics.checkpoint();
  Value value = in.eval(expr);
  if (value.isError() && bare && in.diagnostics.errorCount() != checkpoint.errors) {
    std::string name(bare->name);
    in.diagnostics.rewind(checkpoint);
    in.error(expr->range, "unknown name '" + name + "' in 'Tensor[...]'")
        .help("names of sizes are written in quotes")
        .fix(expr->range, '"' + name + '"');
  }
  if (value.isError())
    return false;
  if (value.is(Value::DType) && last) {
    tensor.dtype = value.dtype;
    tensor.dtypeRange = expr->range;
    return true;
  }
  if (value.is(Value::Builtin) && last) {
    if (std::optional<DType> type = dtypeByName(value.builtin->name)) {
      tensor.dtype = type;
      tensor.dtypeRange = expr->range;
      return true;
    }
  }
  if (value.is(Value::Int) && value.number.isConstant() && value.number.constantValue() >= 0) {
    dim.kind = dim.Size;
    dim.size = value.number;
    tensor.dims.push_back(dim);
    return true;
  }
  if (value.is(Value::Str)) {
    std::string name = *value.text;
    bool rest = name.starts_with("*");
    if (rest)
      name.erase(0, 1);
    if (isIdentifier(name) && name != "_") {
      dim.kind = rest ? dim.Rest : dim.Name;
      dim.name = name;
      tensor.dims.push_back(dim);
      return true;
    }
    if (name == "_") {
      tensor.dims.push_back(dim);
      return true;
    }
  }
  ErrorBuilder report = in.error(expr->range, "expected a name, a size or, at the end, a type in "
                                              "'Tensor[...]', found " +
                                                  describe(value));
  if (value.is(Value::DType))
    report.help("the type comes last");
  else if (value.is(Value::Str))
    report.help("a name has letters, digits and '_'");
  return false;
}

/// `Annotated` of Python's typing, under its own name.
static bool isAnnotated(const Expr *head) {
  if (const auto *name = head->as<NameExpr>())
    return name->name == "Annotated";
  const auto *attribute = head->as<AttributeExpr>();
  return attribute && attribute->name == "Annotated";
}

Interpreter::AnnotationKind Interpreter::readAnnotation(const Expr *annotation,
                                                        TensorAnnotation &tensor) {
  if (annotation->is<NoneExpr>())
    return AnnotationKind::None;
  if (annotation->is<TupleExpr>())
    return AnnotationKind::Tuple;
  const auto *subscript = annotation->as<SubscriptExpr>();
  const auto *call = annotation->as<CallExpr>();
  bool annotated = subscript && isAnnotated(subscript->base) && !subscript->indices.empty();
  const Expr *head = annotated   ? subscript->indices[0]
                     : subscript ? subscript->base
                     : call      ? call->callee
                                 : annotation;
  if (!head->is<NameExpr>() && !head->is<AttributeExpr>())
    return AnnotationKind::Other;
  // An unknown name may be meant for other readers of the annotation.
  Diagnostics::Checkpoint checkpoint = diagnostics.checkpoint();
  Value value = eval(head);
  if (value.isError()) {
    diagnostics.rewind(checkpoint);
    const auto *name = head->as<NameExpr>();
    static constexpr std::string_view known[] = {"Tensor"};
    if (name && name->name != "Tensor" && name->name.size() > 4 &&
        !closestName(name->name, known).empty()) {
      error(head->range, "unknown name '" + std::string(name->name) + "'").didYouMean("Tensor");
      return AnnotationKind::Error;
    }
  }
  if (value.is(Value::RegionType)) {
    if (!subscript)
      tensor.range = annotation->range;
    return subscript ? readRegion(*subscript, tensor) : AnnotationKind::Tensor;
  }
  if (call && value.is(Value::TensorType)) {
    SourceRange after{call->range.file, head->range.end, call->range.end};
    std::string text(diagnostics.sources.text(after));
    ErrorBuilder report = error(annotation->range, "the sizes of a tensor are written in brackets");
    if (text.size() > 2 && text.front() == '(' && text.back() == ')')
      report.help("write Tensor[...]").fix(after, "[" + text.substr(1, text.size() - 2) + "]");
    return AnnotationKind::Error;
  }
  if (call)
    return AnnotationKind::Other;
  if (value.is(Value::Builtin) && !value.elements) {
    std::string_view name = value.builtin->name;
    return name == "int"                  ? AnnotationKind::Int
           : name == "float"              ? AnnotationKind::Float
           : name == "bool"               ? AnnotationKind::Bool
           : name == "tuple" && subscript ? AnnotationKind::Tuple
                                          : AnnotationKind::Other;
  }
  if (value.is(Value::DType) && value.dtype == DType::Bool)
    return AnnotationKind::Bool;
  if (!value.is(Value::TensorType))
    return AnnotationKind::Other;
  tensor.range = annotation->range;
  return subscript ? readDims(subscript->indices.subspan(annotated), tensor)
                   : AnnotationKind::Tensor;
}

Interpreter::AnnotationKind Interpreter::readDims(ExprList entries, TensorAnnotation &tensor) {
  bool rest = false;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!readDim(*this, entries[i], i + 1 == entries.size(), tensor))
      return AnnotationKind::Error;
    bool isRest = !tensor.dims.empty() && tensor.dims.back().kind == DimAnnotation::Rest &&
                  tensor.dims.back().range == entries[i]->range;
    if (isRest && rest) {
      error(entries[i]->range, "only one '*' name can stand for any dimensions");
      return AnnotationKind::Error;
    }
    rest |= isRest;
  }
  // `Tensor[fp16]` restricts the type only.
  tensor.anyShape = tensor.dims.empty();
  return AnnotationKind::Tensor;
}

/// The dimensions that a `*name` stands for, and the index of the first one after it.
static bool matchRank(Interpreter &in, const Interpreter::TensorAnnotation &tensor, unsigned rank,
                      SourceRange range, std::string_view what) {
  bool rest = llvm::any_of(tensor.dims, [](const auto &dim) { return dim.kind == dim.Rest; });
  size_t named = tensor.dims.size() - rest;
  if (rest ? rank >= named : rank == named)
    return true;
  in.error(range, "expected " + std::string(rest ? "at least " : "") + counted(named, "dimension") +
                      " for " + std::string(what) + ", found " + std::to_string(rank))
      .note(tensor.range, "promised here");
  return false;
}

/// Reports that a dimension has another size than its annotation promises. Returns false.
bool Interpreter::reportDim(const DimAnnotation &dim, size_t index, SymExpr expected,
                            SymExpr actual, SourceRange range, std::string_view what) {
  ErrorBuilder report =
      error(range, "expected size '" + expected.str() + "' for dimension " + std::to_string(index) +
                       " of " + std::string(what) + ", found '" + actual.str() + "'");
  std::optional<int64_t> a = sizes.valueAtHand(expected), b = sizes.valueAtHand(actual);
  if (a && b && *a == *b)
    report.help("different names are never assumed equal");
  report.note(dim.range, "promised here");
  SourceRange bound = frame->dimRanges.lookup(dim.name);
  if (bound.isValid() && bound != dim.range && expected.str() != dim.name)
    report.note(bound, "'" + dim.name + "' is bound to '" + expected.str() + "' here");
  noteSize(report, expected);
  noteSize(report, actual);
  return false;
}

/// Checks the dimensions `found`, which begin with dimension `first`, against one entry of an
/// annotation. The first use of a name binds it, the others check.
bool Interpreter::checkDims(const DimAnnotation &dim, llvm::ArrayRef<SymExpr> found, size_t first,
                            SourceRange range, std::string_view what) {
  bool isRest = dim.kind == DimAnnotation::Rest;
  if (dim.kind == DimAnnotation::Any || (isRest && dim.name.empty()))
    return true;
  if (dim.kind == DimAnnotation::Size)
    return sizes.equal(dim.size, found[0], range) ||
           reportDim(dim, first, dim.size, found[0], range, what);
  std::vector<Value> values;
  for (SymExpr size : found)
    values.push_back(Value::ofInt(size));
  Value bound = isRest ? Value::ofTuple(values) : values[0];
  auto local = frame->locals.find(dim.name);
  auto [it, isNew] = frame->dims.try_emplace(dim.name, bound);
  Value expected = it->second;
  if (isNew) {
    frame->dimRanges[dim.name] = dim.range;
    if (local == frame->locals.end() || !local->second.is(Value::Int))
      return true;
    // An earlier parameter of that name.
    it->second = expected = local->second;
  }
  if (expected.is(Value::Tuple) != isRest ||
      (isRest && expected.elements->size() != found.size())) {
    error(range, "expected " + (isRest ? "as many" : std::string("one")) + " dimensions '" +
                     dim.name + "' for " + std::string(what) + " as before")
        .note(frame->dimRanges[dim.name], "'" + dim.name + "' is bound here");
    return false;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    SymExpr want = isRest ? (*expected.elements)[i].number : expected.number;
    if (!sizes.equal(want, found[i], range))
      return reportDim(dim, first + i, want, found[i], range, what);
  }
  return true;
}

bool Interpreter::checkElementType(const TensorAnnotation &tensor, const Value &value,
                                   SourceRange range, std::string_view what, const Expr *written) {
  if (!tensor.dtype || Emitter::dtype(value) == *tensor.dtype)
    return true;
  std::string found(dtypeName(Emitter::dtype(value)));
  std::string type(diagnostics.sources.text(tensor.dtypeRange));
  ErrorBuilder report =
      error(range, "expected element type " + std::string(dtypeName(*tensor.dtype)) + " for " +
                       std::string(what) + ", found " + found);
  report.help("annotations check and never convert: use .to(" +
              std::string(dtypeName(*tensor.dtype)) + ")");
  if (std::string text = written ? textOf(written, true) : ""; !text.empty())
    report.fix(range, text + ".to(" + type + ")");
  report.note(tensor.dtypeRange, "promised here");
  return false;
}

/// Checks the element type and the shape of a tensor.
bool Interpreter::checkTensor(const TensorAnnotation &tensor, const Value &value, SourceRange range,
                              std::string_view what, const Expr *written) {
  if (!checkElementType(tensor, value, range, what, written))
    return false;
  if (tensor.anyShape)
    return true;
  if (!matchRank(*this, tensor, value.rank(), range, what))
    return false;
  size_t at = 0;
  for (const DimAnnotation &dim : tensor.dims) {
    size_t count = dim.kind == DimAnnotation::Rest ? value.rank() + 1 - tensor.dims.size() : 1;
    llvm::SmallVector<SymExpr> found;
    for (size_t i = 0; i < count; ++i)
      found.push_back(value.shape()[at + i]);
    if (!checkDims(dim, found, at, range, what))
      return false;
    at += count;
  }
  return true;
}

/// Checks the elements of a tuple, which has as many as the annotation.
bool Interpreter::checkTuple(const Expr *annotation, const Value &value, SourceRange range,
                             std::string_view what, const Expr *written) {
  ExprList parts = annotation->is<TupleExpr>() ? annotation->as<TupleExpr>()->elements
                                               : annotation->as<SubscriptExpr>()->indices;
  if (!value.isSequence() || value.elements->size() != parts.size()) {
    error(range, "expected a tuple of " + std::to_string(parts.size()) + " for " +
                     std::string(what) + ", found " + describe(value))
        .note(annotation->range, "promised here");
    return false;
  }
  bool ok = true;
  const auto *tuple = written ? written->as<TupleExpr>() : nullptr;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Expr *element = tuple && i < tuple->elements.size() ? tuple->elements[i] : nullptr;
    if (!(*value.elements)[i].isError())
      ok &= checkAnnotation(parts[i], (*value.elements)[i], element ? element->range : range,
                            "element " + std::to_string(i) + " of " + std::string(what), element);
  }
  return ok;
}

bool Interpreter::checkAnnotation(const Expr *annotation, const Value &value, SourceRange range,
                                  std::string_view what, const Expr *written) {
  // `X | None`
  if (const auto *either = annotation->as<BinaryExpr>(); either && either->op == BinaryOp::Or) {
    bool optional = either->right->is<NoneExpr>() || either->left->is<NoneExpr>();
    if (!optional || value.is(Value::None))
      return true;
    return checkAnnotation(either->right->is<NoneExpr>() ? either->left : either->right, value,
                           range, what);
  }
  TensorAnnotation tensor;
  AnnotationKind kind = readAnnotation(annotation, tensor);
  auto wrong = [&](std::string_view expected) {
    error(range, "expected " + std::string(expected) + " for " + std::string(what) + ", found " +
                     describe(value))
        .note(annotation->range, "promised here");
    return false;
  };
  bool weak = value.isTensor() && value.weak;
  DType weakType = weak ? Emitter::dtype(value) : DType::Bool;
  switch (kind) {
  case AnnotationKind::Error:
    return false;
  case AnnotationKind::Other:
    return true;
  case AnnotationKind::None:
    return value.is(Value::None) || wrong("None");
  case AnnotationKind::Int:
    return value.is(Value::Int) || (weak && weakType == DType::Int64) || wrong("an int");
  case AnnotationKind::Float:
    return value.is(Value::Float) || value.is(Value::Int) || (weak && weakType != DType::Bool) ||
           wrong("a float");
  case AnnotationKind::Bool:
    return value.is(Value::Bool) || (weak && weakType == DType::Bool) || wrong("a bool");
  case AnnotationKind::Tuple:
    return checkTuple(annotation, value, range, what, written);
  case AnnotationKind::Tensor:
    if (!value.isTensor() || (weak && !tensor.anyShape && !tensor.dims.empty()))
      return wrong("a tensor");
    return checkTensor(tensor, value, range, what, written);
  }
  return true;
}
