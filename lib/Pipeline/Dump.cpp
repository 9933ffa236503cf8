//===- Dump.cpp - The stages of every compilation as files ----------------===//
#include "Dump.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cstdlib>

namespace tessera {

Dump::Dump(std::string folder, const CompileRequest &request)
    : folder(std::move(folder)), widened(request), asked(request.texts) {
  Stage last = request.code ? Stage::Bundle : Stage::Graph;
  if (!request.texts.empty())
    last = std::max(last, *request.texts.rbegin());
  for (Stage stage : {Stage::Graph, Stage::Sched, Stage::Tile, Stage::Placed, Stage::Target,
                      Stage::LLVM, Stage::Asm, Stage::TileIR, Stage::Ptx})
    if (stage <= last)
      widened.welcome.insert(stage);
  widened.recordPasses = true;
}

std::optional<Dump> Dump::fromEnvironment(const CompileRequest &request) {
  const char *folder = std::getenv("TESSERA_DUMP");
  if (!folder || !*folder)
    return std::nullopt;
  return Dump(folder, request);
}

static llvm::StringRef extensionOf(Stage stage) {
  switch (stage) {
  case Stage::LLVM:
    return "ll";
  case Stage::Asm:
    return "s";
  case Stage::Ptx:
    return "ptx";
  case Stage::TileIR:
  case Stage::Sass:
    return "txt";
  case Stage::TileIRBytecode:
  case Stage::Cubin:
    return "bin";
  default:
    return "mlir";
  }
}

void Dump::write(CompileResult &result) const {
  static std::atomic<unsigned> counter = 0;
  std::string prefix =
      llvm::formatv("{0}-{1}-{2}", result.info.function.empty() ? "function" : result.info.function,
                    llvm::sys::Process::getProcessId(), counter++);
  std::error_code error = llvm::sys::fs::create_directories(folder);
  auto save = [&](llvm::StringRef suffix, llvm::StringRef text) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, prefix + "." + suffix.str());
    if (!error)
      llvm::raw_fd_ostream(path, error) << text;
  };
  for (const auto &[stage, text] : result.texts)
    save(std::string(stageName(stage)) + "." + extensionOf(stage).str(), text);
  save("passes.txt", llvm::join(result.passes, "\n") + "\n");
  llvm::json::Value report = llvm::json::Object(result.report);
  save("report.json", llvm::formatv("{0:2}\n", report).str());
  if (error)
    result.diagnostics.warning({}, "cannot write dumps to '" + folder + "': " + error.message());
  std::erase_if(result.texts, [&](const auto &entry) { return !asked.count(entry.first); });
}

} // namespace tessera
