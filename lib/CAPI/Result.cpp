//===- Result.cpp - The result handle of the C ABI ------------------------===//
#include "Result.h"

#include "llvm/Support/raw_ostream.h"

using namespace tessera;

static tessera_status statusOf(Outcome outcome) {
  switch (outcome) {
  case Outcome::Ok:
    return TESSERA_OK;
  case Outcome::Diagnostics:
    return TESSERA_DIAGNOSTICS;
  case Outcome::Unsupported:
    return TESSERA_UNSUPPORTED;
  case Outcome::BadRequest:
    return TESSERA_REQUEST;
  case Outcome::Internal:
    break;
  }
  return TESSERA_INTERNAL;
}

void tessera_result::addDiagnostic(const Diagnostic &diagnostic) {
  static constexpr tessera_severity severities[] = {TESSERA_ERROR, TESSERA_WARNING, TESSERA_NOTE,
                                                    TESSERA_REMARK};
  const SourceManager &sources = compiled.diagnostics.sources;
  tessera_diagnostic flat = {};
  flat.severity = severities[size_t(diagnostic.severity)];
  if (diagnostic.range.isValid()) {
    LineColumn begin = sources.lineColumn(diagnostic.range);
    LineColumn end = sources.lineColumn(diagnostic.range.atEnd());
    flat.line = int32_t(begin.line);
    flat.column = int32_t(begin.column);
    flat.end_line = int32_t(end.line);
    flat.end_column = int32_t(end.column);
    flat.file = strings.emplace_back(sources.buffer(diagnostic.range.file).name()).c_str();
  }
  flat.message = strings.emplace_back(diagnostic.message).c_str();
  diagnostics.push_back(flat);
  std::vector<tessera_fixit> &suggested = fixits.emplace_back();
  for (const FixIt &fix : diagnostic.fixIts) {
    LineColumn begin = sources.lineColumn(fix.range);
    LineColumn end = sources.lineColumn(fix.range.atEnd());
    suggested.push_back({int32_t(begin.line), int32_t(begin.column), int32_t(end.line),
                         int32_t(end.column),
                         strings.emplace_back(sources.buffer(fix.range.file).name()).c_str(),
                         strings.emplace_back(fix.replacement).c_str()});
  }
  for (const Diagnostic &note : diagnostic.notes)
    addDiagnostic(note);
}

void tessera_result::addKernel(const llvm::json::Object &kernel) {
  auto text = [&](const llvm::json::Object &object, llvm::StringRef key) {
    return strings.emplace_back(object.getString(key).value_or("").str()).c_str();
  };
  auto number = [&](llvm::StringRef key) { return kernel.getNumber(key).value_or(0); };
  std::vector<tessera_kernel_dim> &dims = kernelDims.emplace_back();
  if (const llvm::json::Array *list = kernel.getArray("dims"))
    for (const llvm::json::Value &value : *list)
      if (const llvm::json::Object *dim = value.getAsObject())
        dims.push_back({text(*dim, "name"), text(*dim, "role"), text(*dim, "size"),
                        dim->getInteger("tile").value_or(0)});
  kernels.push_back({sizeof(tessera_kernel_report), text(kernel, "name"), number("flops"),
                     number("bytes"), number("programs"), number("predicted_us"),
                     text(kernel, "bound"), dims.data(), dims.size()});
}

void tessera_result::finish() {
  status = statusOf(compiled.outcome);
  for (const Diagnostic &diagnostic : compiled.diagnostics.all())
    addDiagnostic(diagnostic);
  if (!diagnostics.empty())
    for (bool colour : {false, true})
      text[colour] = compiled.diagnostics.render({.color = colour});
  for (auto &[stage, ir] : compiled.texts)
    stages.emplace(stageName(stage), std::move(ir));
  if (!compiled.explanation.empty())
    stages.emplace("explain", std::move(compiled.explanation));
  if (const llvm::json::Array *list = compiled.report.getArray("kernels"))
    for (const llvm::json::Value &value : *list)
      if (const llvm::json::Object *kernel = value.getAsObject())
        addKernel(*kernel);
  if (!compiled.launcher.empty())
    stages.emplace("launcher", std::move(compiled.launcher));
  llvm::raw_string_ostream(report) << llvm::json::Value(std::move(compiled.report));
}
