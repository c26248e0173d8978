# With NEARFIELD_UNITY the files of a folder are compiled as one: their headers, half of what a file
# takes and most of what one of the command line does, are read once. Files for vectors stay alone:
# Highway reads each once an ISA. Preset dev compiles every file by itself.
function(nearfield_unite target)
  if(NOT NEARFIELD_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(NOT folder MATCHES "/cpu$")
      string(MAKE_C_IDENTIFIER ${folder} group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
  # g++ warns of names that another file could see, and takes the folder for the file.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
