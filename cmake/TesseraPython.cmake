# Where Python.h is: the target's own where we cross-compile (the sysroot has Debian's), else that of
# the tree's environment or of the python3 at hand. The extension keeps to the limited API of Python
# 3.11, so one build serves every later version.
if(CMAKE_CROSSCOMPILING)
  set(TESSERA_PYTHON_INCLUDE "${CMAKE_SYSROOT}/usr/include/python3.11")
else()
  find_program(TESSERA_PYTHON NAMES python3 HINTS "${CMAKE_SOURCE_DIR}/.venv/bin" REQUIRED)
  execute_process(
    COMMAND "${TESSERA_PYTHON}" -c "import sysconfig; print(sysconfig.get_path('include'))"
    OUTPUT_VARIABLE TESSERA_PYTHON_INCLUDE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
