//===- Compiler.cpp - The compiler library, loaded on demand --------------===//
//
// A call with cached code needs no compiler, so `libtessera` is loaded at the first compilation
// only. Requests are Python values (see _compiler.py), results are one dictionary.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "tessera-c/tessera.h"

#include <chrono>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace tessera::python {

namespace {

/// The functions of the C ABI that are used here.
struct Library {
  void *handle = nullptr;
#define TESSERA_FUNCTIONS(X)                                                                       \
  X(abi_version)                                                                                   \
  X(version)                                                                                       \
  X(devices)                                                                                       \
  X(chips)                                                                                         \
  X(occupancy)                                                                                     \
  X(import_aten)                                                                                   \
  X(import_onnx)                                                                                   \
  X(onnx_operators)                                                                                \
  X(import_stablehlo)                                                                              \
  X(stablehlo_operations)                                                                          \
  X(operations)                                                                                    \
  X(compile)                                                                                       \
  X(interpret)                                                                                     \
  X(ready_kernels)                                                                                 \
  X(reference)                                                                                     \
  X(simulate)                                                                                      \
  X(result_release)                                                                                \
  X(result_bundle)                                                                                 \
  X(result_ir)                                                                                     \
  X(result_stage)                                                                                  \
  X(result_report)                                                                                 \
  X(result_guarded_count)                                                                          \
  X(result_guarded)                                                                                \
  X(result_diagnostic_count)                                                                       \
  X(result_diagnostic)                                                                             \
  X(result_fixit_count)                                                                            \
  X(result_fixit)                                                                                  \
  X(result_text)                                                                                   \
  X(result_output_count)                                                                           \
  X(result_output)                                                                                 \
  X(result_is_tuple)
#define DECLARE(name) decltype(&tessera_##name) name = nullptr;
  TESSERA_FUNCTIONS(DECLARE)
#undef DECLARE
} library;

/// A request with the memory that it points to.
struct Request {
  tessera_compile_request request = {};
  std::vector<tessera_argument> arguments;
  std::vector<std::vector<tessera_dim>> dims;
  std::vector<tessera_option> options;
  std::vector<const char *> stages;
  PyObject *resolve = nullptr; // borrowed
  Ref answer;                  // the last answer, which the compiler may still read
  Ref errorType, errorValue, errorTrace;

  bool read(PyObject *dictionary);
  bool readArgument(PyObject *item, PyObject *name);
  static const char *answerQuestion(void *user, const char *scope, const char *name);
};

} // namespace

static const char *text(PyObject *object) {
  return object && object != Py_None ? PyUnicode_AsUTF8AndSize(object, nullptr) : nullptr;
}

bool Request::readArgument(PyObject *item, PyObject *name) {
  tessera_argument argument = {};
  argument.struct_bytes = sizeof(argument);
  argument.name = text(name);
  argument.kind = static_cast<int32_t>(PyLong_AsLong(PyTuple_GetItem(item, 0)));
  std::vector<tessera_dim> &sizes = dims.emplace_back();
  PyObject *value = PyTuple_GetItem(item, 1);
  switch (argument.kind) {
  case TESSERA_ARGUMENT_TENSOR: {
    int kind, contiguous;
    PyObject *list;
    if (!PyArg_ParseTuple(item, "iiiiO", &kind, &argument.dtype, &argument.unit_stride_dim,
                          &contiguous, &list))
      return false;
    argument.contiguous = contiguous;
    argument.rank = static_cast<int32_t>(PyTuple_Size(list));
    for (Py_ssize_t d = 0; d < argument.rank; ++d) {
      long long size, divisor, hint;
      int fixed;
      if (!PyArg_ParseTuple(PyTuple_GetItem(list, d), "LLLi", &size, &divisor, &hint, &fixed))
        return false;
      sizes.push_back({size, divisor, hint, fixed, 0});
    }
    break;
  }
  case TESSERA_ARGUMENT_FLOAT:
    argument.has_value = 1;
    argument.real = PyFloat_AsDouble(value);
    break;
  case TESSERA_ARGUMENT_CONSTANT:
    argument.constant = text(value);
    break;
  default:
    argument.has_value = 1;
    argument.integer = PyLong_AsLongLong(value);
  }
  arguments.push_back(argument);
  return !PyErr_Occurred();
}

/// The text and numbers belong to the dictionary, which outlives the call.
bool Request::read(PyObject *dictionary) {
  auto get = [&](const char *key) { return PyDict_GetItemString(dictionary, key); };
  request.struct_bytes = sizeof(request);
  char *source;
  Py_ssize_t length;
  PyObject *items = get("arguments"), *names = get("names"), *pairs = get("options"),
           *stageList = get("stages");
  if (!items || !names || !pairs || !stageList || !get("source") || !get("line") ||
      !get("column") || !get("resolve")) {
    PyErr_SetString(PyExc_KeyError, "the request is not complete");
    return false;
  }
  if (PyBytes_AsStringAndSize(get("source"), &source, &length) != 0)
    return false;
  request.source = source;
  request.source_bytes = static_cast<uint64_t>(length);
  request.file = text(get("file"));
  request.first_line = static_cast<int32_t>(PyLong_AsLong(get("line")));
  request.first_column = static_cast<int32_t>(PyLong_AsLong(get("column")));
  request.function = text(get("function"));
  request.target = text(get("target"));
  request.no_code = get("no_code") == Py_True;
  for (Py_ssize_t i = 0; i < PyList_Size(items); ++i)
    if (!readArgument(PyList_GetItem(items, i), PyList_GetItem(names, i)))
      return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    arguments[i].dims = dims[i].data();
  for (Py_ssize_t i = 0; i < PyList_Size(pairs); ++i) {
    PyObject *pair = PyList_GetItem(pairs, i);
    options.push_back({text(PyTuple_GetItem(pair, 0)), text(PyTuple_GetItem(pair, 1))});
  }
  for (Py_ssize_t i = 0; i < PyList_Size(stageList); ++i)
    stages.push_back(text(PyList_GetItem(stageList, i)));
  request.arguments = arguments.data();
  request.argument_count = arguments.size();
  request.options = options.data();
  request.option_count = options.size();
  request.stages = stages.data();
  request.stage_count = stages.size();
  resolve = get("resolve");
  request.resolve = answerQuestion;
  request.resolve_user = this;
  return !PyErr_Occurred();
}

const char *Request::answerQuestion(void *user, const char *scope, const char *name) {
  auto *self = static_cast<Request *>(user);
  PyGILState_STATE state = PyGILState_Ensure();
  const char *result = nullptr;
  if (!self->errorType) {
    self->answer = Ref(PyObject_CallFunction(self->resolve, "ss", scope, name));
    result = text(self->answer.get());
    if (PyErr_Occurred()) {
      // Raised again after the compiler has returned.
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      self->errorType = Ref(type);
      self->errorValue = Ref(value);
      self->errorTrace = Ref(trace);
    }
  }
  PyGILState_Release(state);
  return result;
}

/// Adds a new value to a dictionary and takes ownership of it.
static bool put(PyObject *dictionary, const char *key, PyObject *value) {
  Ref owned(value);
  return owned && PyDict_SetItemString(dictionary, key, owned.get()) == 0;
}

static PyObject *bytesOrNone(const void *data, uint64_t length) {
  if (!data)
    Py_RETURN_NONE;
  return PyBytes_FromStringAndSize(static_cast<const char *>(data),
                                   static_cast<Py_ssize_t>(length));
}

static PyObject *decoded(const char *utf8) {
  std::string_view view = utf8 ? utf8 : "";
  return PyUnicode_DecodeUTF8(view.data(), static_cast<Py_ssize_t>(view.size()), "replace");
}

static PyObject *fixitsOf(const tessera_result *result, uint64_t diagnostic) {
  Ref list(PyList_New(0));
  for (uint64_t i = 0; list && i < library.result_fixit_count(result, diagnostic); ++i) {
    tessera_fixit fix = library.result_fixit(result, diagnostic, i);
    Ref file(decoded(fix.file)), replacement(decoded(fix.replacement));
    Ref item(file && replacement ? Py_BuildValue("(OiiiiO)", file.get(), fix.line, fix.column,
                                                 fix.end_line, fix.end_column, replacement.get())
                                 : nullptr);
    if (!item || PyList_Append(list.get(), item.get()) != 0)
      return nullptr;
  }
  return list.release();
}

static PyObject *diagnosticsOf(const tessera_result *result) {
  Ref list(PyList_New(0));
  for (uint64_t i = 0; list && i < library.result_diagnostic_count(result); ++i) {
    tessera_diagnostic d = library.result_diagnostic(result, i);
    Ref file(decoded(d.file)), message(decoded(d.message)), fixits(fixitsOf(result, i));
    Ref item(file && message && fixits
                 ? Py_BuildValue("(iOiiiiOO)", d.severity, file.get(), d.line, d.column, d.end_line,
                                 d.end_column, message.get(), fixits.get())
                 : nullptr);
    if (!item || PyList_Append(list.get(), item.get()) != 0)
      return nullptr;
  }
  return list.release();
}

static PyObject *guardedOf(const tessera_result *result) {
  Ref list(PyList_New(0));
  for (uint64_t i = 0; list && i < library.result_guarded_count(result); ++i) {
    tessera_guarded guarded = library.result_guarded(result, i);
    Ref item(Py_BuildValue("(ii)", guarded.argument, guarded.dim));
    if (!item || PyList_Append(list.get(), item.get()) != 0)
      return nullptr;
  }
  return list.release();
}

static PyObject *stagesOf(const tessera_result *result, const std::vector<const char *> &stages) {
  Ref map(PyDict_New());
  for (const char *stage : stages)
    if (const char *ir = library.result_ir(result, stage))
      if (!map || !put(map.get(), stage, decoded(ir)))
        return nullptr;
  return map.release();
}

/// (dtype of the function's result, dtype of the value, shape, value, bound, excluded)
static PyObject *outputsOf(const tessera_result *result) {
  Ref list(PyList_New(0));
  for (uint64_t i = 0; list && i < library.result_output_count(result); ++i) {
    tessera_output output = library.result_output(result, i);
    const tessera_rt_tensor &tensor = output.value;
    Ref shape(PyTuple_New(tensor.ndim));
    uint64_t count = 1;
    for (int32_t d = 0; shape && d < tensor.ndim; ++d) {
      count *= static_cast<uint64_t>(tensor.sizes[d]);
      PyTuple_SetItem(shape.get(), d, PyLong_FromLongLong(tensor.sizes[d]));
    }
    static constexpr uint8_t bytes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 1, 1};
    Ref value(PyBytes_FromStringAndSize(static_cast<const char *>(tensor.data),
                                        static_cast<Py_ssize_t>(count * bytes[tensor.dtype])));
    Ref bound(bytesOrNone(output.bound, count * 8)), excluded(bytesOrNone(output.excluded, count));
    if (!shape || !value || !bound || !excluded)
      return nullptr;
    Ref item(Py_BuildValue("(iiOOOO)", output.dtype, tensor.dtype, shape.get(), value.get(),
                           bound.get(), excluded.get()));
    if (!item || PyList_Append(list.get(), item.get()) != 0)
      return nullptr;
  }
  return list.release();
}

/// The program of an interpreted function, or None.
static PyObject *programOf(const tessera_result *result) {
  uint64_t length = 0;
  const void *program = library.result_stage(result, "program", &length);
  return bytesOrNone(length ? program : nullptr, length);
}

static PyObject *resultOf(tessera_status status, const tessera_result *result,
                          const Request &request) {
  Ref map(PyDict_New());
  uint64_t length = 0;
  const void *bundle = library.result_bundle(result, &length);
  if (!map || !put(map.get(), "status", PyLong_FromLong(status)) ||
      !put(map.get(), "bundle", bytesOrNone(bundle, length)) ||
      !put(map.get(), "program", programOf(result)) ||
      !put(map.get(), "report", decoded(library.result_report(result))) ||
      !put(map.get(), "text", decoded(library.result_text(result, 0))) ||
      !put(map.get(), "diagnostics", diagnosticsOf(result)) ||
      !put(map.get(), "guarded", guardedOf(result)) ||
      !put(map.get(), "ir", stagesOf(result, request.stages)) ||
      !put(map.get(), "outputs", outputsOf(result)) ||
      !put(map.get(), "tuple", PyBool_FromLong(library.result_is_tuple(result))))
    return nullptr;
  return map.release();
}

static bool requireLibrary() {
  if (!library.handle)
    PyErr_SetString(errors.tessera, "the compiler library is not loaded");
  return library.handle;
}

/// Runs `invoke` without the GIL and converts its result to a dictionary.
template <typename Invoke> static PyObject *perform(PyObject *dictionary, Invoke invoke) {
  Request request;
  if (!requireLibrary() || !request.read(dictionary))
    return nullptr;
  tessera_result *result = nullptr;
  PyThreadState *state = PyEval_SaveThread();
  tessera_status status = invoke(&request.request, &result);
  PyEval_RestoreThread(state);
  PyObject *answer = nullptr;
  if (request.errorType)
    PyErr_Restore(request.errorType.release(), request.errorValue.release(),
                  request.errorTrace.release());
  else if (!result)
    PyErr_SetString(errors.tessera, "the compiler gave no result");
  else
    answer = resultOf(status, result, request);
  if (result)
    library.result_release(result);
  return answer;
}

/// compile(request) -> result
static PyObject *compile(PyObject *, PyObject *dictionary) {
  return perform(dictionary, [](tessera_compile_request *request, tessera_result **result) {
    auto start = std::chrono::steady_clock::now();
    tessera_status status = library.compile(request, result);
    std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - start;
    tessera_rt_count_compilation(static_cast<uint64_t>(spent.count()));
    return status;
  });
}

/// interpret(request) -> result with a program
static PyObject *interpret(PyObject *, PyObject *dictionary) {
  return perform(dictionary, [](tessera_compile_request *request, tessera_result **result) {
    return library.interpret(request, result);
  });
}

/// load_program(name, bytes) -> module of an interpreted program
static PyObject *loadProgram(PyObject *, PyObject *args) {
  const char *name, *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "sy#", &name, &bytes, &length) || !requireLibrary())
    return nullptr;
  uint64_t count = 0;
  const tessera_rt_native_kernel *kernels = library.ready_kernels(&count);
  tessera_rt_module *module = nullptr;
  tessera_rt_status status = tessera_rt_module_from_functions(
      name, bytes, static_cast<size_t>(length), kernels, static_cast<size_t>(count), &module);
  return wrapModule(status, module);
}

static bool addAll(Arguments &arguments, PyObject *specifications) {
  for (Py_ssize_t i = 0; i < PyList_Size(specifications); ++i)
    if (!arguments.addSpecification(PyList_GetItem(specifications, i)))
      return false;
  return !PyErr_Occurred();
}

/// simulate(request, specifications, seeds, first seed, most runs, exhaustive, mutants) -> result
static PyObject *simulate(PyObject *, PyObject *args) {
  PyObject *dictionary, *specifications;
  unsigned long long seeds, first, most;
  int exhaustive, mutants;
  if (!PyArg_ParseTuple(args, "O!OKKKpp", &PyDict_Type, &dictionary, &specifications, &seeds,
                        &first, &most, &exhaustive, &mutants))
    return nullptr;
  Arguments arguments(lengthOf(specifications));
  if (!addAll(arguments, specifications))
    return nullptr;
  tessera_simulation how = {sizeof(tessera_simulation), seeds, first, most, exhaustive, mutants};
  return perform(dictionary, [&](tessera_compile_request *request, tessera_result **result) {
    return library.simulate(request, arguments.values(), static_cast<uint64_t>(arguments.count()),
                            &how, result);
  });
}

/// reference(request, specifications) -> result
static PyObject *reference(PyObject *, PyObject *args) {
  PyObject *dictionary, *specifications;
  if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &dictionary, &specifications))
    return nullptr;
  Arguments arguments(lengthOf(specifications));
  if (!addAll(arguments, specifications))
    return nullptr;
  return perform(dictionary, [&](tessera_compile_request *request, tessera_result **result) {
    return library.reference(request, arguments.values(), static_cast<uint64_t>(arguments.count()),
                             result);
  });
}

/// load_compiler(path): loads the library; does nothing if it is loaded
static PyObject *loadCompiler(PyObject *, PyObject *args) {
  const char *path;
  if (!PyArg_ParseTuple(args, "s", &path))
    return nullptr;
  if (library.handle)
    Py_RETURN_NONE;
  Library opened;
  opened.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!opened.handle)
    return PyErr_Format(errors.tessera, "the compiler library could not be loaded: %s", dlerror());
#define LOOK_UP(name)                                                                              \
  opened.name = reinterpret_cast<decltype(opened.name)>(dlsym(opened.handle, "tessera_" #name));   \
  if (!opened.name)                                                                                \
    return PyErr_Format(errors.tessera, "the compiler library %s has no %s", path,                 \
                        "tessera_" #name);
  TESSERA_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  if (opened.abi_version() >> 16 != TESSERA_ABI_VERSION >> 16)
    return PyErr_Format(errors.tessera, "the compiler library %s is of another version (%s)", path,
                        opened.version());
  library = opened;
  Py_RETURN_NONE;
}

static PyObject *compilerLoaded(PyObject *, PyObject *) {
  return PyBool_FromLong(library.handle != nullptr);
}

static PyObject *devices(PyObject *, PyObject *) {
  return requireLibrary() ? decoded(library.devices()) : nullptr;
}

static PyObject *chips(PyObject *, PyObject *) {
  return requireLibrary() ? decoded(library.chips()) : nullptr;
}

static PyObject *occupancy(PyObject *, PyObject *arguments) {
  const char *chip = nullptr;
  long long threads = 0, registers = 0, shared = 0;
  if (!PyArg_ParseTuple(arguments, "sLLL", &chip, &threads, &registers, &shared) ||
      !requireLibrary())
    return nullptr;
  double share = library.occupancy(chip, threads, registers, shared);
  if (share < 0)
    Py_RETURN_NONE;
  return PyFloat_FromDouble(share);
}

static PyObject *operations(PyObject *, PyObject *) {
  return requireLibrary() ? decoded(library.operations()) : nullptr;
}

static PyObject *importAten(PyObject *, PyObject *graph) {
  const char *text = nullptr;
  return PyArg_Parse(graph, "s", &text) && requireLibrary() ? decoded(library.import_aten(text))
                                                            : nullptr;
}

static PyObject *importOnnx(PyObject *, PyObject *graph) {
  const char *text = nullptr;
  return PyArg_Parse(graph, "s", &text) && requireLibrary() ? decoded(library.import_onnx(text))
                                                            : nullptr;
}

static PyObject *onnxOperators(PyObject *, PyObject *) {
  return requireLibrary() ? decoded(library.onnx_operators()) : nullptr;
}

static PyObject *importStableHlo(PyObject *, PyObject *module) {
  const char *text = nullptr;
  Py_ssize_t size = 0;
  return PyArg_Parse(module, "s#", &text, &size) && requireLibrary()
             ? decoded(library.import_stablehlo(text, size_t(size)))
             : nullptr;
}

static PyObject *stableHloOperations(PyObject *, PyObject *) {
  return requireLibrary() ? decoded(library.stablehlo_operations()) : nullptr;
}

static PyMethodDef compilerFunctions[] = {
    {"load_compiler", loadCompiler, METH_VARARGS, "load_compiler(path): opens libtessera"},
    {"compiler_loaded", compilerLoaded, METH_NOARGS, "whether libtessera is open"},
    {"compile", compile, METH_O, "compile(request): the result as a dictionary"},
    {"interpret", interpret, METH_O, "interpret(request): a program over ready kernels"},
    {"load_program", loadProgram, METH_VARARGS,
     "load_program(name, bytes): the module of such a program"},
    {"reference", reference, METH_VARARGS, "reference(request, specifications)"},
    {"simulate", simulate, METH_VARARGS,
     "simulate(request, specifications, seeds, first, most_runs, exhaustive, mutants)"},
    {"devices", devices, METH_NOARGS, "what this machine has, as JSON"},
    {"chips", chips, METH_NOARGS, "the GPUs that code is compiled for, as JSON"},
    {"occupancy", occupancy, METH_VARARGS,
     "occupancy(chip, threads, registers, shared): the share of an SM's warps; None for a chip "
     "that "
     "is not known"},
    {"import_aten", importAten, METH_O, "import_aten(graph): a program for a graph, JSON for JSON"},
    {"import_onnx", importOnnx, METH_O, "import_onnx(graph): a program for a graph, JSON for JSON"},
    {"onnx_operators", onnxOperators, METH_NOARGS, "the ONNX operators that are known, as JSON"},
    {"import_stablehlo", importStableHlo, METH_O,
     "import_stablehlo(text): a program for a module, as JSON"},
    {"stablehlo_operations", stableHloOperations, METH_NOARGS,
     "the StableHLO operations that are known, as JSON"},
    {"operations", operations, METH_NOARGS, "the operations of the language, as JSON"},
    {nullptr, nullptr, 0, nullptr}};

bool addCompiler(PyObject *module) { return PyModule_AddFunctions(module, compilerFunctions) == 0; }

} // namespace tessera::python
