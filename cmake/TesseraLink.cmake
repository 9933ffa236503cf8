# tessera_link_mlir(target): gives a final program or shared library its MLIR and LLVM.
# Development builds take Debian's shared libraries, whole; distribution builds link the archives they name (StaticMLIR.cmake).
function(tessera_link_mlir target)
  if(TESSERA_STATIC_LLVM)
    tessera_link_static_mlir(${target})
  else()
    target_link_libraries(${target} PRIVATE MLIR LLVM)
  endif()
endfunction()
