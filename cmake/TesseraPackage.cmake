# What find_package(Tessera) reads: lib/cmake/Tessera/ of the build tree, whose headers are those of
# the source tree, and package/, which goes into the archive (utils/dist.py).
include(CMakePackageConfigHelpers)
function(tessera_write_package folder)
  list(JOIN ARGN ";" TESSERA_PACKAGE_INCLUDES)
  configure_file("${CMAKE_SOURCE_DIR}/cmake/TesseraConfig.cmake.in" "${folder}/TesseraConfig.cmake"
                 @ONLY)
  write_basic_package_version_file("${folder}/TesseraConfigVersion.cmake"
                                   VERSION ${TESSERA_VERSION} COMPATIBILITY SameMinorVersion)
endfunction()

tessera_write_package("${CMAKE_BINARY_DIR}/lib/cmake/Tessera"
                      "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}/runtime/include")
tessera_write_package("${CMAKE_BINARY_DIR}/package" "\${_tessera_root}/include")
