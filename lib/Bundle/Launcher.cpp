//===- Launcher.cpp - Host programs as readable CUDA C++ ------------------===//
//
// A host program is data that the runtime interprets; this file prints it as a C++ struct: slots
// are its members, `bind` computes them and checks the guards, `launch` is the list of steps. Sizes
// are not checked for overflow, and temporaries do not share memory, unlike in the runtime.
//
//===----------------------------------------------------------------------===//
#include "Names.h"
#include "tessera/Bundle/Bundle.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;
using namespace tessera;
using llvm::formatv;

namespace {

constexpr StringRef kPreamble = R"cpp(#include <cuda.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {0} {

/// A tensor on the GPU. Strides count elements.
template <int Rank> struct Tensor {
  CUdeviceptr data;
  int64_t sizes[Rank ? Rank : 1];
  int64_t strides[Rank ? Rank : 1];
};

/// Floor division, ceiling division, and the remainder of the former.
inline int64_t floordiv(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t ceildiv(int64_t a, int64_t b) { return b == 0 ? 0 : -floordiv(-a, b); }
inline int64_t mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }

/// An error message about the arguments, per calling thread.
inline const char *fail(const char *format, ...) {
  static thread_local char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

/// The bits of a number as a kernel parameter.
template <typename T> uint64_t bitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
inline uint64_t bitsOfBf16(double value) {
  uint64_t bits = bitsOf(static_cast<float>(value));
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

)cpp";

constexpr StringRef kTensorMaps =
    R"cpp(/// What tensor copies have to know of the tensor whose address, sizes and strides are these words.
inline CUresult encodeMap(CUtensorMap &map, const uint64_t *words, unsigned bytes, unsigned span, unsigned spans,
                          unsigned rank, const unsigned *dims, const unsigned *sizesOfBox, bool isRounded = false) {
  cuuint64_t sizes[5], strides[5];
  cuuint32_t boxes[5];
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  bool isEmpty = false;
  for (unsigned i = 0; i < rank; ++i)
    isEmpty |= words[1 + dims[i]] == 0;
  for (unsigned i = 0; i < rank; ++i) {
    sizes[i] = isEmpty ? 1 : words[1 + dims[i]];
    strides[i] = sizes[i] > 1 ? words[1 + rank + dims[i]] * bytes : span;
    boxes[i] = sizesOfBox[i];
  }
  if (spans > 1) { // adjacent along a separate dimension
    sizes[rank] = std::max<cuuint64_t>(1, sizes[0] * bytes / span);
    sizes[0] = span / bytes;
    strides[rank] = span;
    boxes[rank++] = spans;
  }
  CUtensorMapDataType type = isRounded    ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                             : bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                             : bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                             : bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                          : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  CUtensorMapSwizzle swizzle = span == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                               : span == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                               : span == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                            : CU_TENSOR_MAP_SWIZZLE_NONE;
  return cuTensorMapEncodeTiled(&map, type, rank, reinterpret_cast<void *>(isEmpty ? span : words[0]), sizes, strides + 1,
                                boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

)cpp";

class LauncherWriter {
public:
  LauncherWriter(const rt::Program &program, target::ProgramOp op) : program(program), os(text) {
    for (auto argument : op.getBody().getOps<target::ArgumentOp>())
      types.push_back(argument.getType());
    auto module = op->getParentOfType<target::ModuleOp>();
    for (auto image : module.getBody().getOps<target::ImageOp>())
      for (const std::string &kernel : program.kernels)
        configs.push_back(image.getConfig(kernel));
  }

  std::string write() {
    for (const rt::Slot &slot : program.slots)
      slotNames.push_back(slotName(slot));
    if (llvm::any_of(program.steps, [](const rt::Step &step) { return !step.maps.empty(); }))
      os << kTensorMaps;
    writeCode();
    os << "/// One call: `bind`, then `launch` with memory for the results.\nstruct Call {\n";
    for (auto [slot, member] : llvm::zip(program.slots, slotNames)) {
      os << "  int64_t " << member << ";";
      if (slot.source == rt::Slot::ArgSize && types[slot.arg].getDim(slot.dim).isSymbol())
        os << " // " << types[slot.arg].getDim(slot.dim).symbolName();
      os << "\n";
    }
    for (auto [i, result] : llvm::enumerate(program.results))
      os << "  int64_t result" << i << "_sizes[" << std::max<size_t>(1, result.sizes.size())
         << "];\n";
    os << "  int64_t temporary_bytes;\n\n";
    writeBind();
    os << "\n";
    writeLaunch();
    os << "};\n\n";
    return text;
  }

private:
  /// Distinct from the names that the surrounding text uses.
  static std::string nameOf(const rt::Argument &argument) {
    static const llvm::StringSet<> taken = {
        "code",    "status",   "grid",     "words",  "parameters", "config",     "temporaries",
        "fail",    "floordiv", "ceildiv",  "bitsOf", "mod",        "bitsOfBf16", "i",
        "Code",    "Call",     "Tensor",   "value",  "bind",       "launch",     "temporary_bytes",
        "cluster", "maps",     "encodeMap"};
    std::string name = identifier(argument.name);
    StringRef digits = name;
    bool isNumbered = digits.consume_front("result") || digits.consume_front("temporary");
    return taken.contains(name) || (isNumbered && llvm::all_of(digits, llvm::isDigit)) ? name + "_"
                                                                                       : name;
  }

  std::string slotName(const rt::Slot &slot) const {
    std::string argument =
        slot.arg < program.arguments.size() ? nameOf(program.arguments[slot.arg]) : "";
    switch (slot.source) {
    case rt::Slot::ArgSize:
      return formatv("{0}_size_{1}", argument, slot.dim);
    case rt::Slot::ArgStride:
      return formatv("{0}_stride_{1}", argument, slot.dim);
    case rt::Slot::ArgInt:
      return argument + "_value";
    case rt::Slot::ArgAddress:
      return argument + "_address";
    case rt::Slot::Device:
      return slot.dim == uint32_t(rt::DeviceFact::SmCount) ? "sm_count" : "l2_bytes";
    case rt::Slot::Derived:
      break;
    }
    return formatv("derived_{0}", slotNames.size());
  }

  std::string textOf(const rt::Expr &expr) const;

  void writeCode() {
    os << "/// The kernels of a cubin.\nstruct Code {\n  CUlibrary library = nullptr;\n"
       << "  CUkernel kernels[" << std::max<size_t>(1, program.kernels.size()) << "] = {};\n\n"
       << "  CUresult load(const void *cubin) {\n"
       << "    CUresult result = cuLibraryLoadData(&library, cubin, nullptr, nullptr, 0, nullptr, "
          "nullptr, 0);\n";
    for (auto [i, kernel] : llvm::enumerate(program.kernels))
      os << "    if (result == CUDA_SUCCESS)\n      result = cuLibraryGetKernel(&kernels[" << i
         << "], library, \"" << kernel << "\");\n";
    writeAllowances();
    os << "    return result;\n  }\n  CUresult unload() { return cuLibraryUnload(library); "
          "}\n};\n\n";
  }

  /// More than the default shared memory limit must be requested.
  void writeAllowances() {
    constexpr int64_t always = 48 << 10;
    auto isLarge = [](target::KernelConfigAttr config) { return config.getShared() > always; };
    if (llvm::none_of(configs, isLarge))
      return;
    os << "    CUdevice device;\n    if (result == CUDA_SUCCESS)\n"
       << "      result = cuCtxGetDevice(&device);\n";
    for (auto [i, config] : llvm::enumerate(configs))
      if (isLarge(config))
        os << "    if (result == CUDA_SUCCESS)\n      result = "
           << "cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, "
           << config.getShared() << ", kernels[" << i << "], device);\n";
  }

  /// "const Tensor<2> &q, double scale"; unused parameters have no name.
  std::string parameters(StringRef body) const {
    std::string list;
    for (const rt::Argument &argument : program.arguments) {
      std::string type = argument.kind == rt::Argument::Tensor
                             ? formatv("const Tensor<{0}> &", argument.rank).str()
                         : argument.kind == rt::Argument::Float ? "double "
                         : argument.kind == rt::Argument::Int   ? "int64_t "
                                                                : "bool ";
      std::string name = nameOf(argument);
      list += (list.empty() ? "" : ", ") + type + (uses(body, name) ? name : "/*" + name + "*/");
    }
    return list;
  }

  static bool uses(StringRef body, StringRef name) {
    auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    for (size_t at = body.find(name); at != StringRef::npos; at = body.find(name, at + 1)) {
      StringRef after = body.substr(at + name.size());
      if ((at == 0 || !isPart(body[at - 1])) && (after.empty() || !isPart(after.front())))
        return true;
    }
    return false;
  }

  /// The text that `write` appends, separate from the text so far.
  std::string bodyOf(llvm::function_ref<void()> write) {
    std::string before = std::move(text);
    text.clear();
    write();
    std::string body = std::move(text);
    text = std::move(before);
    return body;
  }

  void writeBind() {
    std::string body = bodyOf([&] {
      for (auto [i, slot] : llvm::enumerate(program.slots))
        writeSlot(slot, slotNames[i]);
      for (const rt::Guard &guard : program.guards)
        writeGuard(guard);
      for (auto [i, result] : llvm::enumerate(program.results))
        for (auto [d, size] : llvm::enumerate(result.sizes))
          os << "    result" << i << "_sizes[" << d << "] = " << textOf(size) << ";\n";
      os << "    temporary_bytes = 0;\n";
      for (const rt::Temporary &temporary : program.temporaries)
        os << "    temporary_bytes += ceildiv(" << textOf(temporary.bytes) << ", 256) * 256;\n";
    });
    os << "  /// Null, or what is wrong with the arguments.\n  const char *bind("
       << parameters(body) << ") {\n"
       << body << "    return nullptr;\n  }\n";
  }

  void writeSlot(const rt::Slot &slot, const std::string &member) {
    os << "    ";
    std::string argument =
        slot.arg < program.arguments.size() ? nameOf(program.arguments[slot.arg]) : "";
    switch (slot.source) {
    case rt::Slot::ArgSize:
      os << member << " = " << argument << ".sizes[" << slot.dim << "];\n";
      return;
    case rt::Slot::ArgStride:
      os << member << " = " << argument << ".strides[" << slot.dim << "];\n";
      return;
    case rt::Slot::ArgInt:
      os << member << " = " << argument << ";\n";
      return;
    case rt::Slot::ArgAddress:
      os << member << " = int64_t(" << argument << ".data);\n";
      return;
    case rt::Slot::Derived:
      os << member << " = " << textOf(slot.expr) << ";\n";
      return;
    case rt::Slot::Device:
      os << "{\n      CUdevice device;\n      int value = 0;\n"
         << "      if (cuCtxGetDevice(&device) != CUDA_SUCCESS ||\n"
         << "          cuDeviceGetAttribute(&value, "
         << (member == "l2_bytes" ? "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE"
                                  : "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT")
         << ", device) != CUDA_SUCCESS)\n        return \"no current CUDA context\";\n      "
         << member << " = value;\n    }\n";
      return;
    }
  }

  void writeGuard(const rt::Guard &guard) {
    std::string format, values;
    StringRef rest = guard.message;
    while (!rest.empty()) {
      auto [before, after] = rest.split('{');
      format += llvm::join(llvm::split(before, "%"), "%%");
      unsigned index = 0;
      if (before.size() == rest.size())
        break;
      if (after.consumeInteger(10, index) || !after.consume_front("}") ||
          index >= guard.operands.size()) {
        format += '{';
      } else {
        format += "%lld";
        values += ", (long long)(" + textOf(guard.operands[index]) + ")";
      }
      rest = after;
    }
    std::string check;
    llvm::raw_string_ostream stream(check);
    stream << "    if (!(" << textOf(guard.condition) << "))\n      return fail(\"";
    llvm::printEscapedString(format, stream);
    stream << "\"" << values << ");\n";
    if (guardTexts.insert(check).second)
      os << check;
  }

  std::string wordOf(const rt::Word &word) const {
    auto address = [&](const std::string &base) {
      bool plain = word.expr.empty() ||
                   (word.expr.code.size() == 1 && word.expr.code[0].op == rt::ExprOp::Const &&
                    word.expr.code[0].operand == 0);
      return "uint64_t(" + base + ")" + (plain ? "" : " + uint64_t(" + textOf(word.expr) + ")");
    };
    switch (word.kind) {
    case rt::Word::ArgAddress:
      return address(nameOf(program.arguments[word.index]) + ".data");
    case rt::Word::ResultAddress:
      return address("result" + std::to_string(word.index));
    case rt::Word::TempAddress:
      return address("temporary" + std::to_string(word.index));
    case rt::Word::Integer:
      return "uint64_t(" + textOf(word.expr) + ")";
    case rt::Word::Scalar:
      break;
    }
    std::string argument = nameOf(program.arguments[word.index]);
    switch (word.dtype) {
    case rt::DType::FP64:
      return "bitsOf(double(" + argument + "))";
    case rt::DType::FP32:
      return "bitsOf(float(" + argument + "))";
    case rt::DType::FP16:
      return "bitsOf(static_cast<_Float16>(" + argument + "))";
    case rt::DType::BF16:
      return "bitsOfBf16(double(" + argument + "))";
    default:
      return formatv("bitsOf(static_cast<int{0}_t>({1}))", 8 * rt::dtypeBytes(word.dtype),
                     argument);
    }
  }

  void writeLaunch() {
    std::string body = bodyOf([&] {
      std::string base = "temporaries";
      for (auto [i, temporary] : llvm::enumerate(program.temporaries)) {
        os << "    CUdeviceptr temporary" << i << " = " << base << ";\n";
        base = formatv("temporary{0} + ceildiv({1}, 256) * 256", i, textOf(temporary.bytes));
      }
      for (const rt::Step &step : program.steps)
        writeStep(step);
      for (const rt::Print &print : program.prints)
        os << "    // the runtime prints " << (print.isTemporary ? "temporary" : "result")
           << print.index << " when all is done\n";
    });
    os << "  /// Starts the kernels in a stream"
       << (program.temporaries.empty() ? ".\n" : "; `temporaries`: temporary_bytes of memory.\n")
       << "  CUresult launch(const Code &code, CUstream stream";
    if (!program.arguments.empty())
      os << ", " << parameters(body);
    for (size_t i = 0; i < program.results.size(); ++i)
      os << ", CUdeviceptr result" << i;
    os << (program.temporaries.empty() ? "" : ", CUdeviceptr temporaries")
       << ") const {\n    CUresult status = CUDA_SUCCESS;\n"
       << body << "    return status;\n  }\n";
  }

  /// The launch attributes besides its grid.
  std::string blockOf(size_t kernel) const {
    std::array<int64_t, 3> block = {1, 1, 1}, cluster = block;
    int64_t sharedBytes = 0;
    if (kernel < configs.size()) {
      block = configs[kernel].getBlockSizes();
      cluster = configs[kernel].getClusterSizes();
      sharedBytes = configs[kernel].getShared();
    }
    constexpr std::array<int64_t, 3> one = {1, 1, 1};
    std::string settings =
        block == one
            ? "      config.blockDimX = config.blockDimY = config.blockDimZ = 1; // a tile block\n"
            : formatv("      config.blockDimX = {0};\n      config.blockDimY = {1};\n"
                      "      config.blockDimZ = {2};\n",
                      block[0], block[1], block[2])
                  .str();
    if (sharedBytes)
      settings += formatv("      config.sharedMemBytes = {0};\n", sharedBytes);
    if (cluster != one)
      settings += formatv("      CUlaunchAttribute cluster = {{};\n"
                          "      cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n"
                          "      cluster.value.clusterDim = {{{0}, {1}, {2}};\n"
                          "      config.attrs = &cluster;\n      config.numAttrs = 1;\n",
                          cluster[0], cluster[1], cluster[2]);
    return settings;
  }

  void writeStep(const rt::Step &step) {
    os << "    { // " << program.kernels[step.kernel] << "\n      int64_t grid[3] = {";
    for (size_t d = 0; d < 3; ++d)
      os << (d ? ", " : "") << (d < step.grid.size() ? textOf(step.grid[d]) : "1");
    os << "};\n      uint64_t words[] = {";
    llvm::interleave(
        step.words, [&](const rt::Word &word) { os << "\n          " << wordOf(word); },
        [&] { os << ","; });
    os << (step.words.empty() ? "0" : "") << "};\n      void *parameters["
       << std::max<size_t>(1, step.words.size() + step.maps.size())
       << "] = {};\n      for (int i = 0; i < " << step.words.size()
       << "; ++i)\n        parameters[i] = &words[i];\n";
    writeMaps(step);
    os << "      CUlaunchConfig config = {};\n"
       << "      config.gridDimX = unsigned(grid[0]);\n      config.gridDimY = unsigned(grid[1]);\n"
       << "      config.gridDimZ = unsigned(grid[2]);\n"
       << blockOf(step.kernel) << "      config.hStream = stream;\n"
       << "      if (status == CUDA_SUCCESS && grid[0] > 0 && grid[1] > 0 && grid[2] > 0)\n"
       << "        status = cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(code.kernels["
       << step.kernel << "]), parameters, nullptr);\n    }\n";
  }

  void writeMaps(const rt::Step &step) {
    if (step.maps.empty())
      return;
    os << "      CUtensorMap maps[" << step.maps.size() << "];\n";
    for (auto [i, map] : llvm::enumerate(step.maps)) {
      os << "      const unsigned dims" << i << "[] = {"
         << llvm::join(llvm::map_range(map.dims, [](uint32_t dim) { return std::to_string(dim); }),
                       ", ")
         << "};\n      const unsigned boxes" << i << "[] = {"
         << llvm::join(
                llvm::map_range(map.sizes, [](uint32_t size) { return std::to_string(size); }),
                ", ")
         << "};\n      if (status == CUDA_SUCCESS)\n        status = encodeMap(maps[" << i
         << "], words + " << map.word << ", " << map.elementBytes << ", " << map.span << ", "
         << map.spans << ", " << map.dims.size() << ", dims" << i << ", boxes" << i
         << (map.rounded ? ", true" : "") << ");\n      parameters[" << step.words.size() + i
         << "] = &maps[" << i << "];\n";
    }
  }

  const rt::Program &program;
  SmallVector<gir::TensorType> types;            // of the arguments
  SmallVector<target::KernelConfigAttr> configs; // of the kernels
  std::vector<std::string> slotNames;
  std::set<std::string> guardTexts; // may be requested several times
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace

/// Infix notation with the fewest parentheses.
std::string LauncherWriter::textOf(const rt::Expr &expr) const {
  struct Part {
    std::string text;
    int strength; // 3: a name or call, 2: product, 1: sum, 0: comparison or logic
    bool isNumber = false;
  };
  std::vector<Part> stack;
  auto wrapped = [](const Part &part, int least) {
    return part.strength < least ? "(" + part.text + ")" : part.text;
  };
  for (const rt::ExprInstr &instr : expr.code) {
    if (instr.op == rt::ExprOp::Const) {
      stack.push_back({std::to_string(instr.operand) + (instr.operand > INT32_MAX ? "ll" : ""),
                       instr.operand < 0 ? 1 : 3, true});
      continue;
    }
    if (instr.op == rt::ExprOp::Slot) {
      stack.push_back({slotNames[instr.operand], 3});
      continue;
    }
    if (instr.op == rt::ExprOp::Not) {
      stack.back() = {"!" + wrapped(stack.back(), 3), 3};
      continue;
    }
    Part b = std::move(stack.back());
    stack.pop_back();
    Part a = std::move(stack.back());
    auto infix = [&](StringRef op, int strength, int right) {
      std::string left = wrapped(a, std::max(strength, 1));
      stack.back() = {left + " " + op.str() + " " + wrapped(b, right), strength};
    };
    auto call = [&](StringRef function) {
      stack.back() = {function.str() + "(" + a.text + ", " + b.text + ")", 3};
    };
    switch (instr.op) {
    case rt::ExprOp::Add: // adding a negative number: a difference
      if (b.isNumber && b.text.front() == '-') {
        b.text.erase(0, 1);
        infix("-", 1, 1);
      } else {
        infix("+", 1, 1);
      }
      break;
    case rt::ExprOp::Sub:
      infix("-", 1, 2);
      break;
    case rt::ExprOp::Mul:
      infix("*", 2, 2);
      break;
    case rt::ExprOp::FloorDiv:
      call("floordiv");
      break;
    case rt::ExprOp::CeilDiv:
      call("ceildiv");
      break;
    case rt::ExprOp::Mod:
      call("mod");
      break;
    case rt::ExprOp::Min:
      call("std::min<int64_t>");
      break;
    case rt::ExprOp::Max:
      call("std::max<int64_t>");
      break;
    case rt::ExprOp::Select:
      stack.pop_back();
      stack.back() = {"(" + stack.back().text + " ? " + a.text + " : " + b.text + ")", 3};
      break;
    default: {
      static constexpr const char *names[] = {"==", "!=", "<", "<=", ">", ">=", "&&", "||"};
      infix(names[int(instr.op) - int(rt::ExprOp::Eq)], 0, 1);
      break;
    }
    }
  }
  return stack.empty() ? "0" : stack.back().text;
}

FailureOr<std::string> tessera::makeLauncher(target::ModuleOp module) {
  std::string text = "// Written by `tessera compile --emit launcher` for " +
                     module.getCpu().str() +
                     ": the host side of a function, over CUDA's driver interface.\n";
  for (auto program : module.getBody().getOps<target::ProgramOp>()) {
    FailureOr<rt::Program> written = makeProgram(program);
    if (failed(written))
      return failure();
    std::string name = identifier(program.getSymName()), preamble = kPreamble.str();
    preamble.replace(preamble.find("{0}"), 3, name);
    text += preamble + LauncherWriter(*written, program).write() + "} // namespace " + name + "\n";
  }
  return text;
}
