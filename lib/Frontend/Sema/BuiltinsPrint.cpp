//===- BuiltinsPrint.cpp - Printing -----------------------------------------------------------===//
#include "Builtins.h"

using namespace tessera;
using namespace tessera::sema;

/// A string before a tensor is its label; a tensor without one is labelled by its source text.
static Value print(Args &args) {
  if (!args.in.emitter)
    return args.in.error(args.range, "tensors are printed inside a @tsr.function");
  std::string label;
  bool printed = false;
  const std::vector<Value> &values = *args[0].elements;
  for (size_t k = 0; k < values.size(); ++k) {
    const Value &value = values[k];
    if (value.isError())
      return Value::error();
    if (value.is(Value::Str)) {
      label += (label.empty() ? "" : " ") + *value.text;
      continue;
    }
    if (!value.isTensor() && !value.isNumber())
      return args.in.error(args.part(0, k),
                           "expected tensors, numbers or strings to print, found " +
                               describe(value));
    Emitter &emit = args.emit();
    Value tensor = emit.asTensor(value);
    SourceRange place = args.part(0, k);
    if (label.empty() && place.isValid())
      label = emit.diagnostics.sources.text(place);
    gir::PrintOp::create(emit.builder, emit.loc(), emit.builder.getStringAttr(label),
                         tensor.tensor);
    label.clear();
    printed = true;
  }
  if (!printed)
    return args.in.error(args.range, "expected a tensor or a number to print")
        .help("a string in front of it is its label");
  return Value::none();
}

std::vector<Builtin> sema::printBuiltins() {
  return {
      {"print", "*items", Builtin::Function, print,
       "prints tensors when the function has run; strings in front of them are their labels"},
  };
}
