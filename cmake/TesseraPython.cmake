# The Python package of the build tree: build/python/PACKAGE holds links to the sources and the
# extension module, so an edited .py file needs no build and `make dist` packs the same folder.
# The extension keeps to the limited API of Python 3.11: one build serves every later version.

# Headers: the target's own where we cross-compile (the sysroot has Debian's), else those of the
# tree's environment or of the python3 at hand.
if(CMAKE_CROSSCOMPILING)
  set(TESSERA_PYTHON_INCLUDE "${CMAKE_SYSROOT}/usr/include/python3.11")
else()
  find_program(TESSERA_PYTHON python HINTS "${CMAKE_SOURCE_DIR}/.venv/bin" NAMES python3 REQUIRED)
  execute_process(
    COMMAND "${TESSERA_PYTHON}" -c "import sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE TESSERA_PYTHON_INCLUDE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()

function(tessera_add_python_package dir)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
       "${dir}/*.py" "${dir}/*.pyi" "${dir}/py.typed")
  file(GLOB_RECURSE old "${CMAKE_BINARY_DIR}/python/${dir}/*.py*")
  foreach(link IN LISTS old)
    if(NOT EXISTS "${link}")   # its source is gone
      file(REMOVE "${link}")
    endif()
  endforeach()
  foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH parent)
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/python/${parent}")
    file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${file}"
         "${CMAKE_BINARY_DIR}/python/${file}" SYMBOLIC)
  endforeach()
endfunction()

function(tessera_add_python_extension target package name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  if(NOT sources)
    set(sources "${TESSERA_ANCHOR}")
  endif()
  add_library(${target} MODULE ${sources})
  target_include_directories(${target} SYSTEM PRIVATE "${TESSERA_PYTHON_INCLUDE}")
  target_include_directories(${target} PRIVATE ${TESSERA_INCLUDES})
  target_compile_definitions(${target} PRIVATE Py_LIMITED_API=0x030b0000)
  target_compile_options(${target} PRIVATE ${TESSERA_WARNINGS} -fno-exceptions)
  target_link_libraries(${target} PRIVATE ${ARG_LINK})
  tessera_export_only(${target} "PyInit_*")
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${name}" SUFFIX .abi3.so
                        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/python/${package}")
endfunction()
