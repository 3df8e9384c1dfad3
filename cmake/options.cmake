# What a user may set, and what is found on the machine.
set(TESSERA_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE TESSERA_CUDA PROPERTY STRINGS AUTO ON OFF)
option(TESSERA_BUILD_CLI "Build the tessera command" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_BUILD_CLI_VERBS "Build the command itself, not only what its verbs are made from" ON)
option(TESSERA_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_INSTALL "Make `cmake --install` install the library" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_WERROR "Treat compiler warnings as errors" OFF)
option(TESSERA_LIBFUZZER "Build the fuzz targets with libFuzzer (needs clang)" OFF)
set(TESSERA_UNITE 0 CACHE STRING "Compile up to so many source files at once (0: each by itself)")
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers for everything: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE AND PROJECT_IS_TOP_LEVEL)
  # What one checkout has compiled serves another, wherever that lies.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR})
  # Debugging information holds the folder; what sanitizers report are lines alone.
  if(TESSERA_SANITIZE)
    list(APPEND launcher CCACHE_NOHASHDIR=true)
  endif()
  list(APPEND launcher ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

set(TESSERA_HAS_CUDA OFF)
if(NOT TESSERA_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  # Only Hopper's own instructions and, for other GPUs, sm_80 code with PTX are wanted; each source
  # file says which, so CMake itself adds no architecture.
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  # The toolkit's usual home is on nobody's PATH.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(TESSERA_NVCC nvcc HINTS /usr/local/cuda/bin)
    mark_as_advanced(TESSERA_NVCC)
    if(TESSERA_NVCC)
      set(CMAKE_CUDA_COMPILER ${TESSERA_NVCC})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(TESSERA_HAS_CUDA ON)
    # Global, for a project that has this one as a subdirectory and links the archive.
    find_package(CUDAToolkit REQUIRED GLOBAL)
  elseif(TESSERA_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TESSERA_CUDA=ON needs nvcc, which was not found; install the CUDA toolkit "
                        "(12.3 or newer), set CUDACXX, or configure with -DTESSERA_CUDA=OFF")
  endif()
endif()
message(STATUS "CUDA backend: ${TESSERA_HAS_CUDA}")

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(nlohmann_json 3.11 REQUIRED)
