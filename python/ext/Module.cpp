//===- Module.cpp - The extension module: threads, metrics, targets -------===//

#include "Extension.h"
#include "tessera_rt/device.h"

#include <utility>

namespace tessera::python {

Errors errors;

PyObject *raise(tessera_rt_status status) {
  PyObject *type = errors.tessera;
  if (status == TESSERA_RT_ARGUMENT || status == TESSERA_RT_MISMATCH)
    type = errors.argument;
  else if (status == TESSERA_RT_UNSUPPORTED || status == TESSERA_RT_DEVICE ||
           status == TESSERA_RT_DEVICE_LOST)
    type = errors.device;
  else if (status == TESSERA_RT_OUT_OF_MEMORY)
    type = errors.memory;
  else if (status == TESSERA_RT_INDEX)
    type = errors.range;
  PyErr_SetString(type, tessera_rt_last_error());
  return nullptr;
}

/// set_errors(TesseraError, ArgumentError, DeviceError, OutOfMemoryError, OutOfRangeError)
static PyObject *setErrors(PyObject *, PyObject *args) {
  if (!PyArg_ParseTuple(args, "OOOOO", &errors.tessera, &errors.argument, &errors.device,
                        &errors.memory, &errors.range))
    return nullptr;
  for (PyObject *error :
       {errors.tessera, errors.argument, errors.device, errors.memory, errors.range})
    Py_INCREF(error);
  Py_RETURN_NONE;
}

static PyObject *hostTarget(PyObject *, PyObject *) {
  return PyUnicode_FromString(tessera_rt_host_target());
}

/// device_target(device): the target of a GPU, "sm_90"
static PyObject *deviceTarget(PyObject *, PyObject *args) {
  int device;
  if (!PyArg_ParseTuple(args, "i", &device))
    return nullptr;
  tessera_rt_device_info info = {};
  info.struct_bytes = sizeof(info);
  tessera_rt_status status = tessera_rt_device_get_info(device, &info);
  return status == TESSERA_RT_OK ? PyUnicode_FromString(info.target) : raise(status);
}

/// copy(device, stream, target, source, bytes): between addresses, in stream order
static PyObject *copy(PyObject *, PyObject *args) {
  int device;
  unsigned long long stream, target, source, bytes;
  if (!PyArg_ParseTuple(args, "iKKKK", &device, &stream, &target, &source, &bytes))
    return nullptr;
  tessera_rt_status status =
      tessera_rt_copy({device, 0, reinterpret_cast<void *>(stream)},
                      reinterpret_cast<void *>(target), reinterpret_cast<void *>(source), bytes);
  if (status != TESSERA_RT_OK)
    return raise(status);
  Py_RETURN_NONE;
}

static PyObject *getNumThreads(PyObject *, PyObject *) {
  return PyLong_FromLong(tessera_rt_get_num_threads());
}

static PyObject *setNumThreads(PyObject *, PyObject *args) {
  int count;
  if (!PyArg_ParseTuple(args, "i", &count))
    return nullptr;
  PyThreadState *state = PyEval_SaveThread();
  tessera_rt_status status = tessera_rt_set_num_threads(count);
  PyEval_RestoreThread(state);
  if (status != TESSERA_RT_OK)
    return raise(status);
  Py_RETURN_NONE;
}

static PyObject *metrics(PyObject *, PyObject *) {
  tessera_rt_metrics m = {};
  m.struct_bytes = sizeof(m);
  tessera_rt_get_metrics(&m);
  const std::pair<const char *, uint64_t> all[] = {
      {"calls", m.calls},
      {"launches", m.launches},
      {"parallel_launches", m.parallel_launches},
      {"temporary_bytes", m.temporary_bytes},
      {"memory_in_use", m.memory_in_use},
      {"memory_peak", m.memory_peak},
      {"memory_cached", m.memory_cached},
      {"device_launches", m.device_launches},
      {"graph_launches", m.graph_launches},
      {"copies", m.copies},
      {"copied_bytes", m.copied_bytes},
      {"device_memory_in_use", m.device_memory_in_use},
      {"device_memory_peak", m.device_memory_peak},
      {"device_memory_reserved", m.device_memory_reserved},
      {"modules_loaded", m.modules_loaded},
      {"load_nanoseconds", m.load_nanoseconds},
      {"cache_hits", m.cache_hits},
      {"cache_misses", m.cache_misses},
      {"cache_read_bytes", m.cache_read_bytes},
      {"cache_written_bytes", m.cache_written_bytes},
      {"compilations", m.compilations},
      {"compile_nanoseconds", m.compile_nanoseconds},
      {"errors", m.errors},
  };
  Ref result(PyDict_New());
  for (auto [name, value] : all) {
    Ref number(PyLong_FromUnsignedLongLong(value));
    if (!result || !number || PyDict_SetItemString(result.get(), name, number.get()) != 0)
      return nullptr;
  }
  return result.release();
}

/// metrics_text(): the same for Prometheus
static PyObject *metricsText(PyObject *, PyObject *) {
  char *text = tessera_rt_metrics_text();
  PyObject *result = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
  tessera_rt_free(text);
  return result;
}

static PyObject *setProfiling(PyObject *, PyObject *args) {
  int on;
  if (!PyArg_ParseTuple(args, "p", &on))
    return nullptr;
  tessera_rt_set_profiling(on);
  Py_RETURN_NONE;
}

static PyObject *trim(PyObject *, PyObject *) {
  tessera_rt_trim();
  Py_RETURN_NONE;
}

/// log(level, text): level 0 is a warning, 1 info, 2 debug
static PyObject *log(PyObject *, PyObject *args) {
  int level;
  const char *text;
  if (!PyArg_ParseTuple(args, "is", &level, &text))
    return nullptr;
  tessera_rt_log(static_cast<tessera_rt_log_level>(level), text);
  Py_RETURN_NONE;
}

static PyMethodDef moduleFunctions[] = {
    {"set_errors", setErrors, METH_VARARGS,
     "set_errors(TesseraError, ArgumentError, DeviceError, OutOfMemoryError, OutOfRangeError)"},
    {"host_target", hostTarget, METH_NOARGS, "this machine's target string"},
    {"device_target", deviceTarget, METH_VARARGS, "device_target(device): the target of a GPU"},
    {"copy", copy, METH_VARARGS, "copy(device, stream, target, source, bytes)"},
    {"get_num_threads", getNumThreads, METH_NOARGS, "threads that one launch may use"},
    {"set_num_threads", setNumThreads, METH_VARARGS, "set_num_threads(count)"},
    {"metrics", metrics, METH_NOARGS, "the runtime's counters"},
    {"metrics_text", metricsText, METH_NOARGS, "the runtime's counters for Prometheus"},
    {"set_profiling", setProfiling, METH_VARARGS, "set_profiling(on): whether kernels are timed"},
    {"trim", trim, METH_NOARGS, "gives cached temporary memory back"},
    {"log", log, METH_VARARGS, "log(level, text)"},
    {nullptr, nullptr, 0, nullptr}};

/// Fills the module. The runtime's threads, the tables and the exceptions belong to the process, so
/// only one interpreter can use them: the main one, whose number is 0.
static int execute(PyObject *module) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "tessera cannot be imported in a sub-interpreter; import it in "
                    "the main interpreter, or use processes");
    return -1;
  }
  bool done = addTable(module) && addFunction(module) && addCompiler(module) &&
              addLibraries(module) && addExport(module) && addCache(module) && addPeak(module) &&
              PyModule_AddStringConstant(module, "version", tessera_rt_version()) == 0;
  return done ? 0 : -1;
}

} // namespace tessera::python

PyMODINIT_FUNC PyInit__tessera(void) {
  using namespace tessera::python;
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void *>(execute)},
                                     {0, nullptr}};
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "_tessera",
                                   "The quick half of the tessera package.",
                                   0,
                                   moduleFunctions,
                                   slots,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  return PyModuleDef_Init(&definition);
}
