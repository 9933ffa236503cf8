//===- LaunchAttrs.h - `launch <…> tuning <…>` of kernels ------*- C++ -*-===//
//
// What `#sched.launch` and `#tile.launch`, `#sched.tuning` and `#tile.tuning` share: the textual
// form, the verifier, and the one function that overwrites what an earlier phase chose.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_COMMON_LAUNCHATTRS_H
#define TESSERA_DIALECT_COMMON_LAUNCHATTRS_H

#include "mlir/IR/OpImplementation.h"
#include "tessera/Dialect/Common/LaunchConfig.h"

namespace tessera {

/// `<num_warps = 8, cluster_size = 2>`
template <typename ConfigAttr> ConfigAttr parseConfigAttr(mlir::AsmParser &parser) {
  using Config = typename ConfigAttr::Config;
  llvm::SMLoc begin = parser.getCurrentLocation();
  Config config;
  auto parseField = [&]() -> mlir::ParseResult {
    llvm::StringRef name;
    int64_t value;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseInteger(value))
      return mlir::failure();
    auto field = Config::lookup(name);
    if (!field) {
      mlir::InFlightDiagnostic error = parser.emitError(loc);
      error << "expected a field of " << Config::kind() << " among ";
      llvm::interleaveComma(Config::fields(), error, [&](auto &each) { error << each.name; });
      return error << ", got '" << name << "'";
    }
    if (config.get(*field))
      return parser.emitError(loc) << "expected '" << name << "' once";
    config.set(*field, value);
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::LessGreater, parseField))
    return {};
  return parser.getChecked<ConfigAttr>(begin, parser.getContext(), config);
}

template <typename Field>
void printConfig(mlir::AsmPrinter &printer, const FieldValues<Field> &config) {
  printer << '<';
  printer.getStream() << config;
  printer << '>';
}

template <typename Field>
llvm::LogicalResult verifyConfig(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                 const FieldValues<Field> &config) {
  if (std::string problem = config.problem(); !problem.empty())
    return emitError() << problem;
  return mlir::success();
}

/// `launch <…>`, then `tuning <…>`, each or none, for a kernel.
template <typename KernelOp>
mlir::ParseResult parseLaunchAndTuning(mlir::OpAsmParser &parser, mlir::OperationState &state) {
  auto parse = [&](auto &attribute, llvm::StringRef keyword, mlir::StringAttr name) {
    using ConfigAttr = std::remove_reference_t<decltype(attribute)>;
    if (parser.parseOptionalKeyword(keyword))
      return mlir::success();
    attribute = parseConfigAttr<ConfigAttr>(parser);
    if (!attribute)
      return mlir::failure();
    state.addAttribute(name, attribute);
    return mlir::success();
  };
  decltype(std::declval<KernelOp>().getLaunchAttr()) launch;
  decltype(std::declval<KernelOp>().getTuningAttr()) tuning;
  return mlir::failure(
      failed(parse(launch, LaunchConfig::kind(), KernelOp::getLaunchAttrName(state.name))) ||
      failed(parse(tuning, TuningConfig::kind(), KernelOp::getTuningAttrName(state.name))));
}

template <typename KernelOp>
void printLaunchAndTuning(mlir::OpAsmPrinter &printer, KernelOp kernel) {
  auto print = [&](auto attribute) {
    if (!attribute)
      return;
    printer << ' ' << decltype(attribute)::Config::kind() << ' ';
    printConfig(printer, attribute.getValue());
  };
  print(kernel.getLaunchAttr());
  print(kernel.getTuningAttr());
}

/// "num_stages 5 -> 4: shared memory"
template <typename Field>
std::string changeText(Field field, int64_t from, std::optional<int64_t> to,
                       llvm::StringRef reason) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << FieldValues<Field>::fields()[size_t(field)].name << ' ' << from << " -> ";
  to ? os << *to : os << "none";
  os << ": " << reason;
  return text;
}

/// Adds a change to the list in an attribute of a kernel.
template <typename Field>
void noteChange(mlir::Operation *kernel, llvm::StringRef list, Field field, int64_t from,
                std::optional<int64_t> to, llvm::StringRef reason) {
  llvm::SmallVector<mlir::Attribute> changes;
  if (auto known = kernel->getAttrOfType<mlir::ArrayAttr>(list))
    llvm::append_range(changes, known);
  changes.push_back(
      mlir::StringAttr::get(kernel->getContext(), changeText(field, from, to, reason)));
  kernel->setAttr(list, mlir::ArrayAttr::get(kernel->getContext(), changes));
}

/// Notes each field whose value is replaced or removed. A field that had no value was not chosen
/// before.
template <typename Field>
void noteChanges(mlir::Operation *kernel, llvm::StringRef list, const FieldValues<Field> &from,
                 const FieldValues<Field> &to, llvm::StringRef reason) {
  for (size_t i = 0; i < std::size(FieldValues<Field>::fields()); ++i)
    if (auto value = from.get(Field(i)); value && value != to.get(Field(i)))
      noteChange(kernel, list, Field(i), *value, to.get(Field(i)), reason);
}

} // namespace tessera

#endif
