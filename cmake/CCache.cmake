# Compiles through ccache when it is installed. The settings stand here and nowhere else, so that a
# clone at another path, with precompiled headers, finds what the first one compiled:
#   BASEDIR + NOHASHDIR   absolute paths below the source tree are hashed as relative ones
#   SLOPPINESS            what ccache asks for before it trusts a precompiled header
#   PCH_EXTSUM            the precompiled header is known by the checksum beside it (Tessera.cmake
#                         writes it), not by its bytes, which hold the absolute path of the tree
# CMake also passes the header's own name next to the precompiled one; ccache would hash that
# absolute path, and clang does not need it.
find_program(CCACHE_PROGRAM ccache NO_CMAKE_FIND_ROOT_PATH)
if(CCACHE_PROGRAM)
  set(launcher env
      "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}"
      CCACHE_NOHASHDIR=1
      CCACHE_PCH_EXTSUM=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
