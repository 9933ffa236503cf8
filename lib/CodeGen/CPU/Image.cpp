//===- Image.cpp - A flat, position-independent image from an object ------===//
//
// All allocated sections are laid out consecutively. Every relocation of the generated code is
// relative to its own address, so it is applied once, here. Anything that would need a loader (an
// absolute address, an undefined symbol) is a bug in the code generator.
//
//===----------------------------------------------------------------------===//
#include "Backend.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
namespace elf = llvm::ELF;
using llvm::support::endian::read32le;
using llvm::support::endian::write32le;
using llvm::support::endian::write64le;

namespace {

/// Applies one relocation; returns false if its kind does not occur in a position-independent
/// image.
bool apply(llvm::Triple::ArchType arch, uint32_t kind, uint8_t *at, uint64_t place,
           int64_t target) {
  int64_t relative = target - int64_t(place);
  if (arch == llvm::Triple::x86_64) {
    switch (kind) {
    case elf::R_X86_64_PC32:
    case elf::R_X86_64_PLT32:
      write32le(at, uint32_t(relative));
      return llvm::isInt<32>(relative);
    case elf::R_X86_64_PC64:
      write64le(at, uint64_t(relative));
      return true;
    default:
      return false;
    }
  }
  auto patch = [&](uint32_t mask, uint32_t bits) {
    write32le(at, (read32le(at) & ~mask) | (bits & mask));
  };
  auto low12 = [&](unsigned scale) {
    patch(0xfffu << 10, uint32_t((target & 0xfff) >> scale) << 10);
    return (target & ((1 << scale) - 1)) == 0;
  };
  switch (kind) {
  case elf::R_AARCH64_ADR_PREL_PG_HI21: {
    int64_t pages = (target >> 12) - int64_t(place >> 12);
    patch(0x60ffffe0, uint32_t((pages & 3) << 29) | uint32_t(((pages >> 2) & 0x7ffff) << 5));
    return llvm::isInt<21>(pages);
  }
  case elf::R_AARCH64_ADD_ABS_LO12_NC:
  case elf::R_AARCH64_LDST8_ABS_LO12_NC:
    return low12(0);
  case elf::R_AARCH64_LDST16_ABS_LO12_NC:
    return low12(1);
  case elf::R_AARCH64_LDST32_ABS_LO12_NC:
    return low12(2);
  case elf::R_AARCH64_LDST64_ABS_LO12_NC:
    return low12(3);
  case elf::R_AARCH64_LDST128_ABS_LO12_NC:
    return low12(4);
  case elf::R_AARCH64_CALL26:
  case elf::R_AARCH64_JUMP26:
    patch(0x03ffffff, uint32_t(relative >> 2));
    return llvm::isInt<28>(relative);
  case elf::R_AARCH64_PREL32:
    write32le(at, uint32_t(relative));
    return llvm::isInt<32>(relative);
  default:
    return false;
  }
}

} // namespace

FailureOr<Image> cpu::linkImage(target::ModuleOp module, ArrayRef<char> bytes) {
  auto fail = [&](const Twine &why) -> FailureOr<Image> {
    return module.emitError("internal error in the CPU code generator: " + why), failure();
  };
  llvm::MemoryBufferRef buffer(StringRef(bytes.data(), bytes.size()), "kernels");
  auto parsed = llvm::object::ELFObjectFile<llvm::object::ELF64LE>::create(buffer);
  if (!parsed)
    return fail(llvm::toString(parsed.takeError()));
  llvm::object::ELFObjectFile<llvm::object::ELF64LE> &object = *parsed;
  llvm::Triple::ArchType arch = llvm::Triple(module.getTriple()).getArch();

  Image image;
  image.target = targetOf(module).runtimeTarget();
  DenseMap<uint64_t, uint64_t> offsets; // section index → offset in the image
  for (bool code : {true, false})
    for (const llvm::object::ELFSectionRef section : object.sections()) {
      uint64_t flags = section.getFlags();
      bool isTaken = (flags & elf::SHF_ALLOC) && section.getSize() &&
                     section.getType() == elf::SHT_PROGBITS &&
                     bool(flags & elf::SHF_EXECINSTR) == code;
      auto name = section.getName();
      if (!isTaken || !name || name->starts_with(".eh_frame") || name->starts_with(".note"))
        continue;
      if (flags & elf::SHF_WRITE)
        return fail("section " + *name + " is writable");
      auto contents = section.getContents();
      if (!contents)
        return fail(llvm::toString(contents.takeError()));
      image.code.resize(
          llvm::alignTo(image.code.size(), std::max<uint64_t>(section.getAlignment().value(), 16)));
      offsets[section.getIndex()] = image.code.size();
      image.code.insert(image.code.end(), contents->bytes_begin(), contents->bytes_end());
    }

  auto addressOf = [&](const llvm::object::SymbolRef &symbol) -> std::optional<uint64_t> {
    auto section = symbol.getSection();
    auto value = symbol.getValue();
    if (!section || !value || *section == object.section_end())
      return std::nullopt;
    auto found = offsets.find((*section)->getIndex());
    return found == offsets.end() ? std::nullopt : std::optional(found->second + *value);
  };
  for (const llvm::object::SectionRef section : object.sections()) {
    auto patched = section.getRelocatedSection();
    if (!patched || *patched == object.section_end() || !offsets.contains((*patched)->getIndex()))
      continue;
    uint64_t base = offsets[(*patched)->getIndex()];
    for (const llvm::object::ELFRelocationRef relocation : section.relocations()) {
      auto symbol = relocation.getSymbol();
      std::optional<uint64_t> target =
          symbol == object.symbol_end() ? std::nullopt : addressOf(*symbol);
      if (!target) {
        auto name = symbol->getName();
        return fail("undefined symbol '" + (name ? *name : StringRef("?")) + "'");
      }
      auto addend = relocation.getAddend();
      uint64_t place = base + relocation.getOffset();
      if (!addend || !apply(arch, relocation.getType(), image.code.data() + place, place,
                            int64_t(*target) + *addend))
        return fail("relocation " + Twine(relocation.getType()) + " cannot be applied");
    }
  }
  for (auto kernel : module.getBody().getOps<target::KernelOp>()) {
    std::optional<uint64_t> offset;
    for (const llvm::object::SymbolRef symbol : object.symbols())
      if (auto name = symbol.getName(); name && *name == kernel.getSymName())
        offset = addressOf(symbol);
    if (!offset)
      return fail("no code for kernel '" + kernel.getSymName() + "'");
    image.kernels.push_back(
        {kernel.getSymName().str(), *offset, uint64_t(kernel.getRangeConfig().getScratchBytes())});
  }
  return image;
}
