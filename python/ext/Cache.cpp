//===- Cache.cpp - The disk cache, and the identity of files --------------===//

#include "Extension.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace tessera::python {

static PyObject *cacheKey(PyObject *, PyObject *args) {
  const char *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "s#", &bytes, &length))
    return nullptr;
  char key[TESSERA_RT_KEY_CHARS + 1];
  tessera_rt_cache_key(bytes, static_cast<size_t>(length), key);
  return PyUnicode_FromString(key);
}

/// The runtime's bytes, which are freed here, or None.
static PyObject *bytesOf(tessera_rt_status status, void *bytes, size_t length) {
  if (status != TESSERA_RT_OK)
    Py_RETURN_NONE;
  PyObject *result =
      PyBytes_FromStringAndSize(static_cast<char *>(bytes), static_cast<Py_ssize_t>(length));
  tessera_rt_free(bytes);
  return result;
}

template <auto read> static PyObject *get(PyObject *, PyObject *args) {
  const char *key;
  if (!PyArg_ParseTuple(args, "s", &key))
    return nullptr;
  void *bytes = nullptr;
  size_t length = 0;
  tessera_rt_status status = read(key, &bytes, &length);
  return bytesOf(status, bytes, length);
}

template <auto write> static PyObject *put(PyObject *, PyObject *args) {
  const char *key, *bytes;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "sy#", &key, &bytes, &length))
    return nullptr;
  PyThreadState *state = PyEval_SaveThread();
  tessera_rt_status status = write(key, bytes, static_cast<size_t>(length));
  PyEval_RestoreThread(state);
  return PyBool_FromLong(status == TESSERA_RT_OK);
}

static PyObject *addLine(PyObject *, PyObject *args) {
  const char *key, *line;
  if (!PyArg_ParseTuple(args, "ss", &key, &line))
    return nullptr;
  PyThreadState *state = PyEval_SaveThread();
  tessera_rt_status status = tessera_rt_cache_add_line(key, line);
  PyEval_RestoreThread(state);
  return PyBool_FromLong(status == TESSERA_RT_OK);
}

static PyObject *cacheFolder(PyObject *, PyObject *) {
  return PyUnicode_DecodeFSDefault(tessera_rt_cache_folder());
}

static PyObject *sharedFolder(PyObject *, PyObject *) {
  return PyUnicode_DecodeFSDefault(tessera_rt_cache_shared_folder());
}

/// The linker's build id of a library, as hexadecimal digits ("" if it has none).
static std::string elfBuildId(int fd) {
  Elf64_Ehdr header;
  if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > 64)
    return "";
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    auto at = static_cast<off_t>(header.e_phoff + i * sizeof(segment));
    if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
      return "";
    if (segment.p_type != PT_NOTE || segment.p_filesz > 4096)
      continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    if (pread(fd, notes.data(), notes.size(), static_cast<off_t>(segment.p_offset)) !=
        static_cast<ssize_t>(notes.size()))
      return "";
    for (size_t position = 0; position + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      std::memcpy(&note, &notes[position], sizeof(note));
      size_t name = position + sizeof(note), body = name + (note.n_namesz + size_t(3)) / 4 * 4;
      if (body > notes.size() || note.n_descsz > notes.size() - body)
        break;
      if (note.n_type == NT_GNU_BUILD_ID) {
        std::string digits;
        for (size_t j = body; j < body + note.n_descsz; ++j) {
          digits += "0123456789abcdef"[notes[j] >> 4];
          digits += "0123456789abcdef"[notes[j] & 15];
        }
        return digits;
      }
      position = body + (note.n_descsz + size_t(3)) / 4 * 4;
    }
  }
  return "";
}

/// build_id(path): the linker's hash of a library's content, "" if it has none or does not exist
static PyObject *buildId(PyObject *, PyObject *args) {
  PyObject *path;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
    return nullptr;
  Ref owned(path);
  int fd = open(PyBytes_AsString(path), O_RDONLY | O_CLOEXEC);
  std::string id = fd >= 0 ? elfBuildId(fd) : "";
  if (fd >= 0)
    close(fd);
  return PyUnicode_FromString(id.c_str());
}

/// library_file(name): the file of a library as the loader finds it, "" if it finds none
static PyObject *libraryFile(PyObject *, PyObject *args) {
  const char *name;
  if (!PyArg_ParseTuple(args, "s", &name))
    return nullptr;
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  link_map *map = nullptr;
  std::string path;
  if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
    path = map->l_name;
  if (library)
    dlclose(library);
  return PyUnicode_DecodeFSDefault(path.c_str());
}

static PyMethodDef cacheFunctions[] = {
    {"cache_key", cacheKey, METH_VARARGS, "cache_key(text): its SHA-256"},
    {"cache_get", get<tessera_rt_cache_get>, METH_VARARGS,
     "cache_get(key): the entry's bytes, or None"},
    {"cache_put", put<tessera_rt_cache_put>, METH_VARARGS,
     "cache_put(key, bytes): whether it was written"},
    {"cache_add_line", addLine, METH_VARARGS,
     "cache_add_line(key, line): adds to an entry that is a set of lines"},
    {"cache_get_table", get<tessera_rt_cache_get_table>, METH_VARARGS,
     "cache_get_table(name): the bytes of a table in the cache's folder, or None"},
    {"cache_put_table", put<tessera_rt_cache_put_table>, METH_VARARGS,
     "cache_put_table(name, bytes): whether it was written"},
    {"cache_folder", cacheFolder, METH_NOARGS, "the folder of the cache"},
    {"cache_shared_folder", sharedFolder, METH_NOARGS, "the folder of the cache behind it"},
    {"build_id", buildId, METH_VARARGS, "build_id(path): the linker's hash of a library"},
    {"library_file", libraryFile, METH_VARARGS,
     "library_file(name): the file that the loader takes"},
    {nullptr, nullptr, 0, nullptr}};

bool addCache(PyObject *module) { return PyModule_AddFunctions(module, cacheFunctions) == 0; }

} // namespace tessera::python
