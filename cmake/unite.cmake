# Source files compiled several at once (TESSERA_UNITE): most of a compiler's and nearly all of the linter's time
# goes into the standard library's headers, once for each file they are given.

# What a source file defines at the start of a line: the names that two files of one unit cannot both have. And
# whether it opens an enumeration or a namespace there, which only files that do so, too, can bear.
function(tessera_defined_names out out_opens source)
  file(READ ${source} text)
  # Neither list separators nor brackets survive in CMake's lists.
  string(REGEX REPLACE "[][;]" "=" text "\n${text}")
  # An attribute before a definition, as the line above leaves it.
  string(REGEX REPLACE "\n==[a-z]+== " "\n" text "${text}")
  string(REGEX MATCH "\nusing (enum|namespace) " opens "${text}")
  string(REGEX MATCHALL "\n[A-Za-z_][^\n=({]*[ &*][A-Za-z0-9_]+ ?[=({]" found "${text}")
  string(REGEX MATCHALL "\n(struct|class|enum class|enum) [A-Za-z0-9_]+" types "${text}")
  list(APPEND found ${types})
  list(FILTER found EXCLUDE REGEX "^\n(namespace|using namespace|using enum|template|extern) ")
  list(TRANSFORM found REPLACE ".*[ &*]([A-Za-z0-9_]+) ?[=({]?$" "\\1")
  list(REMOVE_DUPLICATES found)
  set(${out} ${found} PARENT_SCOPE)
  set(${out_opens} "${opens}" PARENT_SCOPE)
endfunction()

# Puts each source file of a target into the first unit of its folder that has room for it and none of its names.
function(tessera_unite target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(units 0)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    tessera_defined_names(names opens ${path})
    get_filename_component(folder ${path} DIRECTORY)
    set(kind "${folder}${opens}")
    foreach(unit RANGE ${units})
      set(both ${names_${unit}} ${names})
      list(LENGTH both expected)
      list(REMOVE_DUPLICATES both)
      list(LENGTH both different)
      list(LENGTH files_${unit} length)
      if(length EQUAL 0 OR (different EQUAL expected AND length LESS TESSERA_UNITE AND kind STREQUAL kind_${unit}))
        set(kind_${unit} "${kind}")
        set(names_${unit} ${both})
        list(APPEND files_${unit} ${source})
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
        break()
      endif()
    endforeach()
    if(files_${units})
      math(EXPR units "${units} + 1")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
                        UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
endfunction()
