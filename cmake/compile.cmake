# The compiler settings that every target of ours shares.
include(cmake/unite.cmake)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

function(tessera_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wno-sign-conversion;-Wshadow>
    # GCC 12 and 13 see an overlap in std::string's own insert (GCC bug 105651).
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TESSERA_WERROR}>>:-Werror>)
endfunction()

function(tessera_compile target)
  tessera_warnings(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
  # An installed target passes none of this on.
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  # Contraction is chosen in the source, so that every instruction set adds in the order it says.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:OpenMP::OpenMP_CXX>
                        $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  target_compile_definitions(${target} PRIVATE TESSERA_VERSION="${PROJECT_VERSION}"
                             TESSERA_HAS_CUDA=$<BOOL:${TESSERA_HAS_CUDA}>)
  if(TESSERA_UNITE)
    tessera_unite(${target})
  endif()
endfunction()

if(TESSERA_SANITIZE OR TESSERA_LIBFUZZER)
  set(sanitizers ${TESSERA_SANITIZE})
  if(TESSERA_LIBFUZZER)
    # The library is instrumented for coverage; libFuzzer's own main comes with the targets alone.
    list(APPEND sanitizers fuzzer-no-link)
  endif()
  list(JOIN sanitizers "," sanitizers)
  # An undefined operation ends the test that made it.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${sanitizers};-fno-sanitize-recover=all;-fno-omit-frame-pointer;-g1>")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${sanitizers})
endif()
