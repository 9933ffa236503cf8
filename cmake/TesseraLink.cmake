# What a final program or shared library is linked with.

# tessera_link_mlir(TARGET): LLVM and MLIR. Development builds take Debian's shared libraries,
# whole; distribution builds link the archives that StaticMLIR.cmake names.
function(tessera_link_mlir target)
  if(TESSERA_STATIC_LLVM)
    tessera_link_static_mlir(${target})
  else()
    target_link_libraries(${target} PRIVATE MLIR LLVM)
  endif()
endfunction()

# tessera_export_only(TARGET pattern…): the shared library exports the symbols that match (C names,
# such as tessera_rt_*) and nothing else: not our C++, not LLVM's, not libstdc++'s.
function(tessera_export_only target)
  list(JOIN ARGN "; " globals)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{ global: ${globals}; local: *; };\n")
  target_link_options(${target} PRIVATE
                      "LINKER:--version-script=${script},-Bsymbolic,--exclude-libs,ALL")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL SHARED_LIBRARY)   # a module finds symbols in the program that loads it
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${script}")
endfunction()
