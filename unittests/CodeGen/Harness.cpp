//===- Harness.cpp - Runs tile kernels in this process --------------------===//
#include "Harness.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Dialect/Tile/IR/Tile.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace tessera;
using tessera::CpuTarget;
using namespace tessera::cpu;

Array Array::dense(void *data, std::vector<int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * sizes[d];
  return {data, std::move(sizes), std::move(strides)};
}

CompiledKernels::CompiledKernels(const std::string &text, const CpuTarget &target,
                                 const std::function<void(target::ModuleOp)> &amend) {
  mlir::DialectRegistry registry;
  registry.insert<tile::TileDialect, target::TargetDialect, mlir::arith::ArithDialect,
                  mlir::scf::SCFDialect>();
  context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->getDiagEngine().registerHandler(
      [&](mlir::Diagnostic &diagnostic) { message += diagnostic.str() + "\n"; });
  module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(context.get()));
  if (!module)
    return;
  auto result = lowerKernelsToCpu(*module, target);
  if (mlir::failed(result)) {
    message += "lowering failed\n";
    return;
  }
  lowered = *result;
  if (amend)
    amend(lowered);
  if (mlir::failed(mlir::verify(lowered))) {
    message += "the lowered module is invalid\n";
    return;
  }
  auto image = emitImage(lowered);
  if (mlir::failed(image)) {
    message += "no image\n";
    return;
  }
  code = *image;
  mapped =
      mmap(nullptr, code.code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(mapped, code.code.data(), code.code.size());
  mprotect(mapped, code.code.size(), PROT_READ | PROT_EXEC);
}

CompiledKernels::~CompiledKernels() {
  if (mapped)
    munmap(mapped, code.code.size());
}

std::string CompiledKernels::assembly() {
  return emitText(lowered, TextForm::Assembly).value_or("");
}
std::string CompiledKernels::llvm() {
  return emitText(lowered, TextForm::OptimizedLLVM).value_or("");
}
std::string CompiledKernels::target() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  lowered->print(stream);
  return text;
}

void CompiledKernels::append(Words &words, const Array &array) {
  words.push_back(reinterpret_cast<int64_t>(array.data));
  words.insert(words.end(), array.sizes.begin(), array.sizes.end());
  words.insert(words.end(), array.strides.begin(), array.strides.end());
}

void CompiledKernels::run(const std::string &kernel, const std::vector<Array> &views,
                          const std::vector<int64_t> &scalars, const std::vector<int64_t> &grid,
                          int64_t begin, int64_t end) {
  Words words;
  for (const Array &view : views)
    append(words, view);
  words.insert(words.end(), scalars.begin(), scalars.end());
  words.insert(words.end(), grid.begin(), grid.end());
  int64_t total = 1;
  for (int64_t size : grid)
    total *= size;
  for (const Image::Kernel &entry : code.kernels) {
    if (entry.name != kernel)
      continue;
    struct Env {
      uint32_t threadIndex = 0, threadCount = 1;
      void *scratch = nullptr;
      uint64_t scratchBytes = 0, reserved[5] = {};
    } env;
    static thread_local struct Scratch {
      void *data = nullptr;
      uint64_t size = 0;
      ~Scratch() { std::free(data); }
    } scratch;
    if (scratch.size < entry.scratchBytes) {
      std::free(scratch.data);
      scratch.size = (entry.scratchBytes + 4095) / 4096 * 4096;
      scratch.data = std::aligned_alloc(4096, scratch.size);
      std::memset(scratch.data, 0xff, scratch.size); // poison: quiet NaNs
    }
    env.scratch = scratch.data;
    env.scratchBytes = entry.scratchBytes;
    using Entry = void (*)(const int64_t *, int64_t, int64_t, const Env *);
    auto code = reinterpret_cast<Entry>(static_cast<char *>(mapped) + entry.offset);
    code(words.data(), begin, end < 0 ? total : end, &env);
  }
}
