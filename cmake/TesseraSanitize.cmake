# TESSERA_SANITIZE instruments our own code; the archives of LLVM and MLIR stay as they are, so what
# is checked is what our code does; utils/test.py sets what keeps quiet reports about mixing the two.
#   address   everything: addresses, undefined behaviour of numbers, and the coverage that fuzzers follow
#   thread    the runtime and the Python extension: atomics of LLVM would not be seen, so the compiler is
#             left as it is
set(TESSERA_SANITIZE "" CACHE STRING "instrument the build: address or thread")

# tessera_instrument_here(): what is added in this folder from here on, for `thread`.
macro(tessera_instrument_here)
  if(TESSERA_SANITIZE STREQUAL "thread")
    add_compile_options(${TESSERA_SANITIZE_COMPILE} -gline-tables-only)
  endif()
endmacro()

if(NOT TESSERA_SANITIZE)
  return()
endif()

if(TESSERA_SANITIZE STREQUAL "address")
  # Of undefined behaviour what addresses do not show: numbers.
  set(numbers -fsanitize=bool,bounds,builtin,enum,float-cast-overflow,integer-divide-by-zero,return
      -fsanitize=shift,signed-integer-overflow,unreachable -fno-sanitize-recover=all)
  set(TESSERA_SANITIZE_COMPILE -fsanitize=address,fuzzer-no-link ${numbers})
  set(TESSERA_SANITIZE_LINK -fsanitize=address ${numbers})
elseif(TESSERA_SANITIZE STREQUAL "thread")
  set(TESSERA_SANITIZE_COMPILE -fsanitize=thread)
  set(TESSERA_SANITIZE_LINK -fsanitize=thread)
else()
  message(FATAL_ERROR "TESSERA_SANITIZE='${TESSERA_SANITIZE}': expected address or thread")
endif()

# The checking library is one shared one for programs, libraries and the Python extension.
execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-runtime-dir OUTPUT_VARIABLE runtime_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
add_link_options(${TESSERA_SANITIZE_LINK} -shared-libsan "LINKER:-rpath,${runtime_dir}")
if(NOT TESSERA_SANITIZE STREQUAL "thread")
  set(CMAKE_C_FLAGS_RELEASE "-O1 -gline-tables-only -fno-omit-frame-pointer -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
  add_compile_options(${TESSERA_SANITIZE_COMPILE})
endif()
