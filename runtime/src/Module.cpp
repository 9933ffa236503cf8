//===- Module.cpp - Loading bundles ---------------------------------------===//
//
// Code for the CPU is mapped when a bundle is loaded; code for a GPU when one of its functions is
// first requested, so that a bundle for many chips costs only the code that is used.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "Metrics.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

using namespace tessera::rt;

namespace {

/// How well each image of a bundle fits a device, and the reasons for those that do not.
struct Fits {
  std::vector<Fit> images;
  std::string refusals;

  bool any() const {
    return std::any_of(images.begin(), images.end(), [](Fit fit) { return fit != Fit::None; });
  }
  /// Of a function: all its images must fit.
  Fit of(const FunctionEntry &function) const {
    Fit worst = images[function.image];
    for (uint32_t image : function.more)
      worst = std::min(worst, images[image]);
    return worst;
  }
  void add(Fit fit, const std::string &why) {
    images.push_back(fit);
    if (fit == Fit::None && refusals.find(why) == std::string::npos)
      refusals += (refusals.empty() ? "" : "; ") + why;
  }
};

Fits fitsOfCpu(const Bundle &bundle) {
  Fits fits;
  for (const CodeImage &image : bundle.images) {
    std::string why;
    fits.add(hostSupports(image.target, why) ? Fit::Exact : Fit::None, why);
  }
  return fits;
}

bool isElf(const CodeImage &image) {
  return image.code.size() >= 4 && std::memcmp(image.code.data(),
                                               "\x7f"
                                               "ELF",
                                               4) == 0;
}

/// `backend` is empty if any is accepted.
Fits fitsOfChip(const Bundle &bundle, const Chip &chip, const std::string &backend) {
  Fits fits;
  for (const CodeImage &image : bundle.images) {
    std::string why;
    if (!isChipTarget(image.target))
      fits.add(Fit::None, "");
    else if (!backend.empty() && !hasBackend(image.target, backend))
      fits.add(Fit::None, "the code for " + image.target + " did not come by '" + backend + "'");
    else {
      Fit fit = chipFit(image.target, !isElf(image), chip, why);
      fits.add(fit, why);
    }
  }
  return fits;
}

/// The common target of the specialisations of one name, or their chip, whatever their backends
/// are.
std::string servedBy(const Bundle &bundle, const FunctionEntry &function) {
  const std::string &target = bundle.images[function.image].target;
  Chip chip;
  if (!parseChip(target, chip))
    return target;
  chip.suffix = 0;
  return chip.str();
}

/// The target that serves a name: the best fit, and among equals the first.
std::string serverOf(const Bundle &bundle, const Fits &fits, const std::string &name) {
  const FunctionEntry *best = nullptr;
  for (const FunctionEntry &function : bundle.functions)
    if (function.name == name && fits.of(function) != Fit::None &&
        (!best || fits.of(function) > fits.of(*best)))
      best = &function;
  return best ? servedBy(bundle, *best) : "";
}

/// A loaded code image, and the launch attributes of its kernels.
struct LoadedImage {
  Library *library;
  std::span<const KernelEntry> entries;
};

/// Finds a kernel in the first image that has it.
tessera_rt_status bind(const std::string &kernel, std::span<const LoadedImage> images,
                       BoundKernel &bound) {
  auto status = TESSERA_RT_NOT_FOUND;
  for (const LoadedImage &image : images) {
    auto entry = std::find_if(image.entries.begin(), image.entries.end(),
                              [&](const KernelEntry &each) { return each.name == kernel; });
    // With several images, each lists its kernels.
    if (entry == image.entries.end() && images.size() > 1)
      continue;
    status = image.library->find(kernel, bound.kernel);
    if (entry != image.entries.end())
      bound.shape = entry->shape;
    if (status != TESSERA_RT_NOT_FOUND)
      break;
  }
  return status;
}

/// Decodes a program and binds its kernels' names.
tessera_rt_status addFunction(tessera_rt_module::Loaded &loaded, const std::string &name,
                              int32_t device, std::span<const uint8_t> bytes,
                              std::span<const LoadedImage> images) {
  Program program;
  std::string error;
  if (!decode(bytes, program, error))
    return fail(TESSERA_RT_INVALID, "function '" + name + "': " + error);
  std::vector<BoundKernel> kernels;
  for (const std::string &kernel : program.kernels) {
    auto status = bind(kernel, images, kernels.emplace_back());
    if (status == TESSERA_RT_NOT_FOUND)
      return fail(TESSERA_RT_INVALID, "function '" + name + "': its kernel '" + kernel +
                                          "' is not in the code image" +
                                          (images.size() > 1 ? "s" : ""));
    if (status != TESSERA_RT_OK)
      return status;
  }
  auto costs = std::make_unique<std::atomic<float>[]>(program.steps.size());
  loaded.functions.push_back(std::make_unique<tessera_rt_function>(
      tessera_rt_function{name, Plan(std::move(program)), device, driverOf(device),
                          std::move(kernels), std::move(costs)}));
  return TESSERA_RT_OK;
}

/// Loads the part of the bundle that runs on `device`.
tessera_rt_status loadFor(const Bundle &bundle, int32_t device, const Fits &fits,
                          tessera_rt_module::Loaded &loaded) {
  Driver *driver = driverOf(device);
  std::map<std::string, std::string> servers;
  std::vector<Library *> libraries(bundle.images.size());
  for (const FunctionEntry &function : bundle.functions) {
    auto [server, isNew] = servers.try_emplace(function.name);
    if (isNew)
      server->second = serverOf(bundle, fits, function.name);
    if (fits.of(function) == Fit::None || servedBy(bundle, function) != server->second)
      continue;
    std::vector<LoadedImage> images;
    auto add = [&](uint32_t number) {
      const CodeImage &image = bundle.images[number];
      Library *&library = libraries[number];
      if (!library) {
        auto &made = loaded.libraries.emplace_back();
        if (auto status = driver->load(deviceOrdinal(device), image, made))
          return fail(status, "function '" + function.name + "' for " + image.target + ": " +
                                  tessera_rt_last_error());
        library = made.get();
      }
      images.push_back({library, image.kernels});
      return TESSERA_RT_OK;
    };
    if (auto status = add(function.image))
      return status;
    for (uint32_t number : function.more)
      if (auto status = add(number))
        return status;
    if (auto status = addFunction(loaded, function.name, device, function.program, images))
      return status;
  }
  return TESSERA_RT_OK;
}

tessera_rt_status chipOf(int32_t device, Chip &chip) {
  tessera_rt_device_info info = {};
  if (auto status = driverOf(device)->info(deviceOrdinal(device), info))
    return status;
  parseChip(info.target, chip);
  return TESSERA_RT_OK;
}

/// A bundle without code for this CPU is useful if a GPU of this machine can run it.
tessera_rt_status checkGpus(const Bundle &bundle, std::string refusals) {
  auto isChip = [](const CodeImage &image) { return isChipTarget(image.target); };
  std::string message = "the bundle has no code for this machine: ";
  if (std::any_of(bundle.images.begin(), bundle.images.end(), isChip)) {
    int32_t devices = 0;
    if (cudaDriver().count(devices))
      return fail(TESSERA_RT_UNSUPPORTED, message + refusals + "; " + tessera_rt_last_error());
    for (int32_t i = 0; i < devices; ++i) {
      Chip chip;
      if (auto status = chipOf(TESSERA_RT_DEVICE_CUDA(i), chip))
        return status;
      Fits fits = fitsOfChip(bundle, chip, "");
      if (fits.any())
        return TESSERA_RT_OK;
      refusals = fits.refusals;
    }
  }
  return fail(TESSERA_RT_UNSUPPORTED, message + refusals);
}

} // namespace

tessera_rt_status tessera_rt_load(const void *bytes, size_t length, tessera_rt_module **result) {
  LoadTimer timer;
  auto module = std::make_unique<tessera_rt_module>();
  std::string error;
  if (!decode({static_cast<const uint8_t *>(bytes), length}, module->bundle, error))
    return fail(TESSERA_RT_INVALID, error);
  const Bundle &bundle = module->bundle;
  Fits fits = fitsOfCpu(bundle);
  if (!bundle.images.empty() && !fits.any())
    if (auto status = checkGpus(bundle, fits.refusals))
      return status;
  if (auto status = loadFor(bundle, TESSERA_RT_DEVICE_CPU, fits, module->cpu))
    return status;
  *result = module.release();
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_load_file(const char *path, tessera_rt_module **module) {
  FILE *file = std::fopen(path, "rb");
  if (!file)
    return fail(TESSERA_RT_IO, std::string(path) + ": " + std::strerror(errno));
  std::vector<uint8_t> bytes;
  uint8_t buffer[1 << 16];
  // A device file or a pipe may be endless.
  for (size_t got = 1; got && isBundlePrefix(bytes);) {
    got = std::fread(buffer, 1, sizeof(buffer), file);
    bytes.insert(bytes.end(), buffer, buffer + got);
  }
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
  auto &library = module->cpu.libraries.emplace_back(nativeLibrary({kernels, count}));
  LoadedImage image = {library.get(), {}};
  if (auto status = addFunction(module->cpu, name, TESSERA_RT_DEVICE_CPU,
                                {static_cast<const uint8_t *>(program), length}, {&image, 1}))
    return status;
  *result = module.release();
  return TESSERA_RT_OK;
}

void tessera_rt_module_release(tessera_rt_module *module) { delete module; }

const char *tessera_rt_module_manifest(const tessera_rt_module *module, size_t *length) {
  if (length)
    *length = module->bundle.manifest.size();
  return module->bundle.manifest.c_str();
}

size_t tessera_rt_function_count(const tessera_rt_module *module) {
  return module->cpu.functions.size();
}

const tessera_rt_function *tessera_rt_function_at(const tessera_rt_module *module, size_t index) {
  const auto &functions = module->cpu.functions;
  return index < functions.size() ? functions[index].get() : nullptr;
}

static const tessera_rt_function *find(const tessera_rt_module::Loaded &loaded, const char *name,
                                       size_t index) {
  for (const auto &function : loaded.functions)
    if (function->name == name && index-- == 0)
      return function.get();
  return nullptr;
}

const tessera_rt_function *tessera_rt_find_function(const tessera_rt_module *module,
                                                    const char *name, size_t index) {
  return find(module->cpu, name, index);
}

/// The part of the module that runs on a GPU, loaded on the first request.
static tessera_rt_status loadedFor(tessera_rt_module *module, int32_t device,
                                   const std::string &backend, tessera_rt_module::Loaded *&result) {
  auto known = module->gpus.find({device, backend});
  if (known != module->gpus.end()) {
    result = &known->second;
    return TESSERA_RT_OK;
  }
  LoadTimer timer;
  Chip chip;
  if (auto status = chipOf(device, chip))
    return status;
  Fits fits = fitsOfChip(module->bundle, chip, backend);
  if (!fits.any())
    return fail(TESSERA_RT_UNSUPPORTED, "the bundle has no code for " + deviceName(device) + " (" +
                                            chip.str() + ")" +
                                            (fits.refusals.empty() ? "" : ": " + fits.refusals));
  tessera_rt_module::Loaded loaded;
  if (auto status = loadFor(module->bundle, device, fits, loaded))
    return status;
  result = &module->gpus.emplace(std::pair(device, backend), std::move(loaded)).first->second;
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_get_function(tessera_rt_module *module, int32_t device,
                                          const char *backend, const char *name, size_t index,
                                          const tessera_rt_function **function) {
  *function = nullptr;
  tessera_rt_module::Loaded *loaded = &module->cpu;
  if (!driverOf(device))
    return TESSERA_RT_UNSUPPORTED;
  if (device != TESSERA_RT_DEVICE_CPU) {
    std::lock_guard<std::mutex> lock(module->mutex);
    if (auto status = loadedFor(module, device, backend ? backend : "", loaded))
      return status;
  }
  *function = find(*loaded, name, index);
  if (*function)
    return TESSERA_RT_OK;
  return fail(TESSERA_RT_NOT_FOUND, "the bundle has no specialisation " + std::to_string(index) +
                                        " of '" + name + "' for " + deviceName(device));
}

int32_t tessera_rt_function_device(const tessera_rt_function *function) { return function->device; }

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
