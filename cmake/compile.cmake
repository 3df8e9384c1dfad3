# The compiler settings that every target of ours shares.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

function(tessera_compile target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                              ${PROJECT_BINARY_DIR}/generated)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wno-sign-conversion;-Wshadow>
    # Contraction is chosen in the source, so that every instruction set adds in the order it says.
    $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
  target_link_libraries(${target} PUBLIC OpenMP::OpenMP_CXX nlohmann_json::nlohmann_json)
  target_compile_definitions(${target} PRIVATE TESSERA_VERSION="${PROJECT_VERSION}"
                             TESSERA_HAS_CUDA=$<BOOL:${TESSERA_HAS_CUDA}>)
endfunction()

if(TESSERA_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TESSERA_SANITIZE};-fno-omit-frame-pointer;-g>)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
endif()
