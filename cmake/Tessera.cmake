# Where MLIR comes from, how everything is compiled, and the few functions that the tree's
# CMakeLists.txt files use:
#   tessera_add_library(NAME [MLIR] [FOLDERS dir…] [LINK lib…] [DEPENDS target…])
#       a static library of the *.cpp here and in FOLDERS; MLIR adds its headers and the shared precompiled header
#   tessera_use_mlir(TARGET)
#       the same for a program or a unit test
#   tessera_tablegen(TARGET FILE.td  OUT.inc "-gen-…"  …)
#       tables at the mirrored include path of the build tree; FILE is relative to include/tessera
#   tessera_add_unittest(NAME [MLIR] [LINK lib…])
#       a gtest program of the *.cpp here; MLIR links LLVM and MLIR too
#   tessera_link_mlir(TARGET), tessera_export_only(TARGET pattern…)
#       for a final program or shared library (TesseraLink.cmake)
#
# The build tree has the shape of the archive that `make dist` packs, so run paths are the same:
#   bin/tessera bin/tessera-opt lib/libtessera.so lib/libtessera_rt.so python/tessera/

set(TESSERA_LLVM_PREFIX /usr/lib/llvm-22)
set(TESSERA_LLVM_TOOLS "${TESSERA_LLVM_PREFIX}/bin")   # always the build machine's
include(StaticMLIR)
set(MLIR_TABLEGEN_EXE "${TESSERA_LLVM_TOOLS}/mlir-tblgen")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
add_compile_options(
  -fvisibility=hidden -fno-semantic-interposition -ffunction-sections -fdata-sections
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
add_link_options("--ld-path=${TESSERA_LLVM_TOOLS}/ld.lld" LINKER:--gc-sections)
include(TesseraSanitize)

set(TESSERA_INCLUDES "${CMAKE_SOURCE_DIR}/include" "${CMAKE_BINARY_DIR}/include"
    "${CMAKE_SOURCE_DIR}/runtime/include")
set(TESSERA_WARNINGS -Wall -Wextra -Wno-unused-parameter)
set(TESSERA_ANCHOR "${CMAKE_BINARY_DIR}/pch/Anchor.cpp")
file(CONFIGURE OUTPUT "${TESSERA_ANCHOR}" CONTENT "// A library needs at least one source file.\n")

# How every file of the compiler is compiled: a precompiled header serves only files with the same
# options.
add_library(TesseraOptions INTERFACE)
target_include_directories(TesseraOptions INTERFACE ${TESSERA_INCLUDES})
target_compile_options(TesseraOptions INTERFACE ${TESSERA_WARNINGS} -fno-exceptions)
if(TESSERA_ASSERTIONS)
  target_compile_options(TesseraOptions INTERFACE -UNDEBUG)
endif()
add_library(TesseraMLIROptions INTERFACE)
target_link_libraries(TesseraMLIROptions INTERFACE TesseraOptions)
target_include_directories(TesseraMLIROptions SYSTEM INTERFACE
                           ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(TesseraMLIROptions INTERFACE "SHELL:-Xclang -fno-pch-timestamp")

# One precompiled header for everything that includes MLIR: its headers cost more than our code.
# ccache knows it by this checksum (CCache.cmake).
set(pch_header "${CMAKE_SOURCE_DIR}/cmake/PrecompiledMLIR.h")
add_library(TesseraPCH STATIC "${TESSERA_ANCHOR}")
target_link_libraries(TesseraPCH PRIVATE TesseraMLIROptions)
target_precompile_headers(TesseraPCH PRIVATE "${pch_header}")
file(SHA256 "${pch_header}" pch_sum)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${pch_header}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/CMakeFiles/TesseraPCH.dir/cmake_pch.hxx.pch.sum"
     CONTENT "${pch_sum} ${LLVM_PACKAGE_VERSION} ${CMAKE_CXX_COMPILER_VERSION} \
${CMAKE_SYSTEM_PROCESSOR} ${TESSERA_ASSERTIONS}\n")

function(tessera_use_mlir target)
  target_link_libraries(${target} PRIVATE TesseraMLIROptions)
  target_precompile_headers(${target} REUSE_FROM TesseraPCH)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE") # -fPIE is another option than the precompiled header's -fPIC
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

function(tessera_add_library name)
  cmake_parse_arguments(ARG "MLIR" "" "FOLDERS;LINK;DEPENDS" ${ARGN})
  list(TRANSFORM ARG_FOLDERS APPEND "/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS *.cpp ${ARG_FOLDERS})
  if(NOT sources)
    set(sources "${TESSERA_ANCHOR}")
  endif()
  add_library(${name} STATIC ${sources})
  if(ARG_MLIR)
    tessera_use_mlir(${name})
  else()
    target_link_libraries(${name} PRIVATE TesseraOptions)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

function(tessera_tablegen target td)
  set(outputs)
  cmake_path(GET td PARENT_PATH dir)
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/include/tessera/${dir}")
  file(GLOB_RECURSE tds CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/include/tessera/*.td")
  while(ARGN)
    list(POP_FRONT ARGN out flags)
    set(file "${CMAKE_BINARY_DIR}/include/tessera/${dir}/${out}")
    separate_arguments(flags UNIX_COMMAND "${flags}")
    add_custom_command(OUTPUT "${file}"
      COMMAND ${MLIR_TABLEGEN_EXE} ${flags}
              -I "${CMAKE_SOURCE_DIR}/include" -I "${TESSERA_LLVM_PREFIX}/include"
              "${CMAKE_SOURCE_DIR}/include/tessera/${td}" --write-if-changed -o "${file}"
      DEPENDS ${tds} VERBATIM)
    list(APPEND outputs "${file}")
  endwhile()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()

include(TesseraLink)
include(TesseraTest)
include(TesseraPython)
