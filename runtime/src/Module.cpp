//===- Module.cpp - Loading bundles ---------------------------------------===//

#include "Module.h"

#include "tessera_rt/bundle.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

using namespace tessera::rt;

namespace {

using KernelLookup = std::function<const LoadedKernel *(const std::string &)>;

/// Decodes a program and binds its kernels' names.
tessera_rt_status addFunction(tessera_rt_module &module, std::string name,
                              std::span<const uint8_t> bytes, const KernelLookup &lookup) {
  Program program;
  std::string error;
  if (!decode(bytes, program, error))
    return fail(TESSERA_RT_INVALID, "function '" + name + "': " + error);
  std::vector<LoadedKernel> kernels;
  for (const std::string &kernel : program.kernels) {
    const LoadedKernel *found = lookup(kernel);
    if (!found)
      return fail(TESSERA_RT_INVALID,
                  "function '" + name + "': its kernel '" + kernel + "' is not in the code image");
    kernels.push_back(*found);
  }
  auto costs = std::make_unique<cpu::Cost[]>(program.steps.size());
  module.functions.push_back(std::make_unique<tessera_rt_function>(tessera_rt_function{
      std::move(name), Plan(std::move(program)), std::move(kernels), std::move(costs)}));
  return TESSERA_RT_OK;
}

/// Whether another image, earlier in the bundle, already gave this function.
bool hasBetter(const Bundle &bundle, const std::vector<bool> &usable,
               const FunctionEntry &function) {
  for (const FunctionEntry &other : bundle.functions) {
    if (other.name == function.name && usable[other.image])
      return other.image != function.image;
  }
  return false;
}

} // namespace

tessera_rt_status tessera_rt_load(const void *bytes, size_t length, tessera_rt_module **result) {
  Bundle bundle;
  std::string error;
  if (!decode({static_cast<const uint8_t *>(bytes), length}, bundle, error))
    return fail(TESSERA_RT_INVALID, error);

  auto module = std::make_unique<tessera_rt_module>();
  module->manifest = std::move(bundle.manifest);
  std::vector<bool> usable;
  std::string refusals;
  for (const CodeImage &image : bundle.images) {
    std::string why;
    usable.push_back(hostSupports(image.target, why));
    if (!usable.back())
      refusals += (refusals.empty() ? "" : "; ") + why;
  }
  if (!bundle.images.empty() && std::find(usable.begin(), usable.end(), true) == usable.end())
    return fail(TESSERA_RT_UNSUPPORTED, "the bundle has no code for this machine: " + refusals);

  for (size_t i = 0; i < bundle.images.size(); ++i) {
    Image &mapped = module->images.emplace_back();
    if (usable[i] && !mapped.map(bundle.images[i].code, error))
      return fail(TESSERA_RT_OUT_OF_MEMORY, error);
  }
  for (FunctionEntry &function : bundle.functions) {
    if (!usable[function.image] || hasBetter(bundle, usable, function))
      continue;
    const Image &mapped = module->images[function.image];
    LoadedKernel loaded;
    KernelLookup lookup = [&](const std::string &name) -> const LoadedKernel * {
      for (const KernelEntry &kernel : bundle.images[function.image].kernels) {
        if (kernel.name != name)
          continue;
        const void *address = mapped.at(kernel.offset);
        std::memcpy(&loaded.entry, &address, sizeof(address));
        loaded.scratchBytes = kernel.scratchBytes;
        return &loaded;
      }
      return nullptr;
    };
    if (auto status = addFunction(*module, function.name, function.program, lookup))
      return status;
  }
  *result = module.release();
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_load_file(const char *path, tessera_rt_module **module) {
  FILE *file = std::fopen(path, "rb");
  if (!file)
    return fail(TESSERA_RT_IO, std::string(path) + ": " + std::strerror(errno));
  std::vector<uint8_t> bytes;
  uint8_t buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof(buffer), file))
    bytes.insert(bytes.end(), buffer, buffer + got);
  bool failed = std::ferror(file);
  std::fclose(file);
  if (failed)
    return fail(TESSERA_RT_IO, std::string(path) + ": it could not be read");
  tessera_rt_status status = tessera_rt_load(bytes.data(), bytes.size(), module);
  return status ? fail(status, std::string(path) + ": " + tessera_rt_last_error()) : status;
}

tessera_rt_status tessera_rt_module_from_functions(const char *name, const void *program,
                                                   size_t length,
                                                   const tessera_rt_native_kernel *kernels,
                                                   size_t count, tessera_rt_module **result) {
  auto module = std::make_unique<tessera_rt_module>();
  LoadedKernel loaded;
  KernelLookup lookup = [&](const std::string &wanted) -> const LoadedKernel * {
    for (size_t i = 0; i < count; ++i) {
      if (wanted != kernels[i].name)
        continue;
      loaded = {kernels[i].entry, kernels[i].scratch_bytes};
      return &loaded;
    }
    return nullptr;
  };
  if (auto status =
          addFunction(*module, name, {static_cast<const uint8_t *>(program), length}, lookup))
    return status;
  *result = module.release();
  return TESSERA_RT_OK;
}

void tessera_rt_module_release(tessera_rt_module *module) { delete module; }

const char *tessera_rt_module_manifest(const tessera_rt_module *module, size_t *length) {
  if (length)
    *length = module->manifest.size();
  return module->manifest.c_str();
}

size_t tessera_rt_function_count(const tessera_rt_module *module) {
  return module->functions.size();
}

const tessera_rt_function *tessera_rt_function_at(const tessera_rt_module *module, size_t index) {
  return index < module->functions.size() ? module->functions[index].get() : nullptr;
}

const tessera_rt_function *tessera_rt_find_function(const tessera_rt_module *module,
                                                    const char *name, size_t index) {
  for (const auto &function : module->functions)
    if (function->name == name && index-- == 0)
      return function.get();
  return nullptr;
}

const char *tessera_rt_function_name(const tessera_rt_function *function) {
  return function->name.c_str();
}

int32_t tessera_rt_function_argument_count(const tessera_rt_function *function) {
  return static_cast<int32_t>(function->plan.source.arguments.size());
}

int32_t tessera_rt_function_result_count(const tessera_rt_function *function) {
  return static_cast<int32_t>(function->plan.results.size());
}

int32_t tessera_rt_function_returns(const tessera_rt_function *function, int32_t dtype) {
  for (const PlanResult &result : function->plan.results)
    if (static_cast<int32_t>(result.dtype) == dtype)
      return 1;
  return 0;
}
