# What a final program or shared library is linked with: libc and libm, the rest is inside.
add_link_options(-static-libstdc++ -static-libgcc LINKER:--as-needed)
if(TESSERA_STRIP)
  add_link_options(LINKER:--strip-all)
endif()

# tessera_link_mlir(TARGET): LLVM and MLIR, from the archives that StaticMLIR.cmake names. Of Debian's
# shared libraries a process would map 97 MiB for one compilation (most of it code and symbol tables
# of what is not ours), of the archives' code 35 MiB.
function(tessera_link_mlir target)
  target_link_libraries(${target} PRIVATE ${TESSERA_MLIR_LIBRARIES} ${TESSERA_LLVM_LIBRARIES})
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
