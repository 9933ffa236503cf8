# Debian's exported MLIR and LLVM targets, made usable for a static link; the same for a native and
# for a cross build (the toolchain file re-roots the paths).
foreach(package FFI LibEdit ZLIB zstd LibXml2 CURL)   # only shared ones would be found; none is wanted
  set(CMAKE_DISABLE_FIND_PACKAGE_${package} TRUE)
endforeach()
find_package(MLIR 22.1 REQUIRED CONFIG PATHS "${TESSERA_LLVM_PREFIX}" NO_DEFAULT_PATH)
find_library(TESSERA_STATIC_Z libz.a REQUIRED)
find_library(TESSERA_STATIC_ZSTD libzstd.a REQUIRED)

# Each exported archive names the shared libraries LLVM and MLIR in its interface; linked so, a
# binary would hold two LLVMs.
foreach(target IN LISTS MLIR_EXPORTED_TARGETS)
  if(TARGET ${target})
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(libraries)
      list(FILTER libraries EXCLUDE REGEX "^(\\$<LINK_ONLY:)?(LLVM|MLIR)>?$")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
    endif()
  endif()
endforeach()
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
  "rt;dl;m;${TESSERA_STATIC_Z};${TESSERA_STATIC_ZSTD};LLVMDemangle")
set_target_properties(LLVMWindowsManifest PROPERTIES INTERFACE_LINK_LIBRARIES LLVMSupport)

# What libtessera uses of MLIR and LLVM. The linker takes only the object files that are needed.
set(TESSERA_MLIR_LIBRARIES
  MLIROptLib MLIRParser MLIRPass MLIRTransforms
  MLIRFuncDialect MLIRArithDialect MLIRSCFDialect MLIRLLVMDialect MLIRLLVMIRTransforms
  MLIRControlFlowDialect MLIRArithToLLVM MLIRControlFlowToLLVM MLIRSCFToControlFlow
  MLIRTargetLLVMIRExport MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation)
set(TESSERA_LLVM_LIBRARIES
  LLVMPasses LLVMObject LLVMTarget
  LLVMX86CodeGen LLVMX86Desc LLVMX86Info
  LLVMAArch64CodeGen LLVMAArch64Desc LLVMAArch64Info
  LLVMNVPTXCodeGen LLVMNVPTXDesc LLVMNVPTXInfo)
