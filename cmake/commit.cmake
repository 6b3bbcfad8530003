# Writes ${output}: the commit of the sources in ${source}; touched only when it changes.
cmake_policy(VERSION 3.20)
execute_process(COMMAND git -C ${source} describe --always --dirty --abbrev=12
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown commit")
endif()
file(CONFIGURE OUTPUT ${output} CONTENT "#define BUILD_COMMIT \"@commit@\"\n" @ONLY)
