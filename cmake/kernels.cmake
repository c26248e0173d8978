# Kernels for devices: every module is one source of src/*/gpu/ with its definitions, compiled by
# clang to SPIR-V for OpenCL and by nvcc for CUDA, and embedded into the plugin of each.
#
# A line a module: its name, the source, the threads of a block, and the definitions, with commas
# between them. Threads are those of some whole warps, or of so many times `warp`.
set(NEARFIELD_KERNEL_MODULES
    "bits_32|select/gpu/bits.cu|32|NEARFIELD_CAPACITY=32"
    "bits_128|select/gpu/bits.cu|128|NEARFIELD_CAPACITY=128"
    "bits_512|select/gpu/bits.cu|128|NEARFIELD_CAPACITY=512"
    "bits_2048|select/gpu/bits.cu|512|NEARFIELD_CAPACITY=2048"
    "bits_in_memory|select/gpu/bits_in_memory.cu|256|"
    "radix|select/gpu/radix.cu|256|"
    "row_starts|select/gpu/row_starts.cu|256|"
    "sort_rows|select/gpu/sort_rows.cu|128|"
    "full_sort|select/gpu/full_sort.cu|256|"
    "merge_queue|select/gpu/merge_queue.cu|32|"
    "partial_bitonic_32|select/gpu/partial_bitonic.cu|32|NEARFIELD_CAPACITY=32"
    "partial_bitonic_128|select/gpu/partial_bitonic.cu|128|NEARFIELD_CAPACITY=128"
    "partial_bitonic_512|select/gpu/partial_bitonic.cu|128|NEARFIELD_CAPACITY=512"
    "partial_bitonic_2048|select/gpu/partial_bitonic.cu|512|NEARFIELD_CAPACITY=2048"
    "warp_select_32|select/gpu/warp_select.cu|4*warp|NEARFIELD_CAPACITY=32,NEARFIELD_WARPS_A_ROW=1"
    "warp_select_128|select/gpu/warp_select.cu|4*warp|NEARFIELD_CAPACITY=128,NEARFIELD_WARPS_A_ROW=1"
    "warp_select_1024|select/gpu/warp_select.cu|4*warp|NEARFIELD_CAPACITY=1024,NEARFIELD_WARPS_A_ROW=1"
    "block_select_32|select/gpu/warp_select.cu|4*warp|NEARFIELD_CAPACITY=32,NEARFIELD_WARPS_A_ROW=4"
    "block_select_128|select/gpu/warp_select.cu|4*warp|NEARFIELD_CAPACITY=128,NEARFIELD_WARPS_A_ROW=4"
    "block_select_1024|select/gpu/warp_select.cu|4*warp|NEARFIELD_CAPACITY=1024,NEARFIELD_WARPS_A_ROW=4"
    "sample_one_stage|select/gpu/sample.cu|256|NEARFIELD_STAGES=1"
    "sample_two_stage|select/gpu/sample.cu|256|NEARFIELD_STAGES=2"
    "two_nearest|select/gpu/two_nearest.cu|128|"
    "score_buckets|hash/gpu/score_buckets.cu|256|"
    "level_lists|index/pivot/gpu/level_lists.cu|256|"
    "object_distances|object/gpu/object_distances.cu|128|"
    "flaws|distance/gpu/flaws.cu|128|"
    "convert|distance/gpu/convert.cu|128|"
    "round|distance/gpu/round.cu|128|"
    "close_f16|distance/gpu/close_products.cu|256|NEARFIELD_VALUE=f16,NEARFIELD_SUM=float"
    "close_i8|distance/gpu/close_products.cu|256|NEARFIELD_VALUE=i8,NEARFIELD_SUM=i32"
    "two_i8|distance/gpu/two_products.cu|256|NEARFIELD_VALUE=i8,NEARFIELD_SUM=i32"
    "bounds_f16|distance/gpu/product_bounds.cu|256|NEARFIELD_VALUE=f16,NEARFIELD_SUM=float"
    "bounds_i8|distance/gpu/product_bounds.cu|256|NEARFIELD_VALUE=i8,NEARFIELD_SUM=i32"
    "product_adds|distance/gpu/product_adds.cu|256|"
    "short_list|hash/gpu/short_list.cu|64|"
    "bucket_table|hash/gpu/bucket_table.cu|256|"
    "code_rows|code/gpu/code_rows.cu|128|"
    "code_sums|code/gpu/code_sums.cu|128|"
    "icm_16|code/gpu/icm.cu|128|NEARFIELD_CODEWORDS=16"
    "icm_256|code/gpu/icm.cu|256|NEARFIELD_CODEWORDS=256"
    "naive_distances|distance/gpu/naive_distances.cu|1*warp|"
    "product_f16|distance/gpu/product.cu|256|NEARFIELD_VALUE=f16,NEARFIELD_SUM=float"
    "product_f16_acc16|distance/gpu/product.cu|256|NEARFIELD_VALUE=f16,NEARFIELD_SUM=f16"
    "product_i8|distance/gpu/product.cu|256|NEARFIELD_VALUE=i8,NEARFIELD_SUM=i32")
foreach(metric IN LISTS NEARFIELD_METRICS)
  list(APPEND NEARFIELD_KERNEL_MODULES "keys_${metric}|distance/gpu/keys.cu|256|NEARFIELD_METRIC=${metric}")
  list(APPEND NEARFIELD_KERNEL_MODULES "first_${metric}|distance/gpu/first_keys.cu|256|NEARFIELD_METRIC=${metric}")
endforeach()

# Those that call a function of the caller's, which the driver compiles and links to them: OpenCL's
# alone has a compiler.
set(NEARFIELD_LINKED_MODULES "callers_distances|object/gpu/callers_distances.cu|128|")

# Of a line, for warps of that width: name, source, threads and defines, of which the threads are one.
# SHUFFLED, for tests: a block has as many warps as one of warps of 32, so that it is smaller, and
# warps and blocks come the other way round (device/gpu/kernel_language.h).
function(nearfield_read_module line warp order)
  string(REGEX REPLACE "[|,]" ";" fields "${line}")
  list(POP_FRONT fields name source threads)
  if(order STREQUAL "SHUFFLED")
    string(REPLACE "warp" 32 threads "(${threads}) * ${warp} / 32")
    list(APPEND fields NEARFIELD_SHUFFLED)
  endif()
  string(REPLACE "warp" ${warp} threads ${threads})
  math(EXPR threads "${threads}")
  set(name ${name} PARENT_SCOPE)
  set(source ${source} PARENT_SCOPE)
  set(threads ${threads} PARENT_SCOPE)
  set(defines NEARFIELD_THREADS=${threads} ${fields} PARENT_SCOPE)
endfunction()

# Contraction is off: keys are the same bits on every device. Headers are found by the compiler's own
# list of what it read.
function(nearfield_compile_spv output source defines warp)
  set(flags)
  foreach(define IN LISTS defines)
    list(APPEND flags -D${define})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${NEARFIELD_SPIRV_CLANG} -x cl -cl-std=CLC++2021 -target spir64-unknown-unknown -O2
            -fno-vectorize -fno-slp-vectorize -ffp-contract=off -Xclang -finclude-default-header -Wall -Werror
            -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include -I${NEARFIELD_GENERATED}
            -DNEARFIELD_WARP=${warp} ${flags} -MD -MF ${output}.d -MT ${output}
            -emit-llvm -c ${source} -o ${output}.bc
    COMMAND ${NEARFIELD_LLVM_SPIRV} --spirv-max-version=1.3 --spirv-ext=+all ${output}.bc
            -o ${output}
    DEPENDS ${source}
    DEPFILE ${output}.d
    COMMENT "SPIR-V ${output}"
    VERBATIM)
endfunction()

# One file for all architectures. The driver compiles the PTX of the last for cards that are newer.
function(nearfield_compile_fatbin output source defines warp)
  list(TRANSFORM defines PREPEND -D)
  set(architectures)
  foreach(architecture IN LISTS NEARFIELD_CUDA_ARCHITECTURES)
    list(APPEND architectures -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET NEARFIELD_CUDA_ARCHITECTURES -1 newest)
  list(APPEND architectures -gencode arch=compute_${newest},code=compute_${newest})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${NEARFIELD_CUDA_COMMAND} ${defines} ${architectures} -MD -MF ${output}.d -MT ${output}
            -fatbin ${source} -o ${output}
    DEPENDS ${source}
    DEPFILE ${output}.d
    COMMENT "CUDA ${output}"
    VERBATIM)
endfunction()

# For tools/kernel_resources: the command that all modules share, then a line a module: its name, the
# source, the definitions.
function(nearfield_write_modules output)
  set(lines)
  foreach(line IN LISTS NEARFIELD_KERNEL_MODULES)
    nearfield_read_module("${line}" 32 "")
    list(JOIN defines "," defines)
    string(APPEND lines "${name}|${source}|${defines}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "${NEARFIELD_CUDA_COMMAND}\n${lines}" @ONLY)
endfunction()

# Writes the table of modules() with the code of each, and makes the plugin depend on it.
function(nearfield_embed_modules target folder suffix warps order)
  set(table "// Made by cmake/kernels.cmake.\n#include <array>\n\n#include \"device/gpu/modules.hpp\"\n\n")
  set(rows)
  set(codes)
  set(count 0)
  foreach(line IN LISTS NEARFIELD_KERNEL_MODULES)
    foreach(warp IN LISTS warps)
      nearfield_read_module("${line}" ${warp} "${order}")
      set(symbol nearfield_module_${name}_${warp})
      set(code ${folder}/${name}_${warp}.${suffix})
      cmake_language(CALL nearfield_compile_${suffix} ${code} ${PROJECT_SOURCE_DIR}/src/${source}
                     "${defines}" ${warp})
      list(APPEND codes ${code})
      string(APPEND table "asm(\".pushsection .rodata\\n.balign 8\\n${symbol}:\\n"
             ".incbin \\\"${code}\\\"\\n${symbol}_end:\\n.popsection\\n\");\n"
             "extern const char ${symbol}[];\nextern const char ${symbol}_end[];\n")
      string(APPEND rows "      Module{\"${name}\", ${warp}, ${threads}, {${symbol}, ${symbol}_end}},\n")
      math(EXPR count "${count} + 1")
    endforeach()
  endforeach()
  string(APPEND table "\nnamespace nearfield::gpu {\n\nstd::span<const Module> modules() {\n"
         "  static const std::array<Module, ${count}> all = {{\n${rows}  }};\n  return all;\n}\n\n"
         "}  // namespace nearfield::gpu\n")
  file(CONFIGURE OUTPUT ${folder}/modules.cpp CONTENT "${table}" @ONLY)
  set_source_files_properties(${folder}/modules.cpp PROPERTIES OBJECT_DEPENDS "${codes}")
  target_sources(${target} PRIVATE ${folder}/modules.cpp ${codes})
endfunction()

# nearfield_<kind>.so, in that folder.
function(nearfield_device_plugin target kind folder)
  file(GLOB plugin_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/gpu/${kind}/*.cpp)
  add_library(${target} MODULE ${plugin_sources})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME nearfield_${kind}
                                             LIBRARY_OUTPUT_DIRECTORY ${folder})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE NEARFIELD_VERSION="${NEARFIELD_VERSION}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
                                               ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE nearfield_flags fmt::fmt-header-only)
endfunction()

function(nearfield_opencl_plugin target folder warps order)
  nearfield_device_plugin(${target} opencl ${folder})
  target_link_libraries(${target} PRIVATE ${NEARFIELD_OPENCL_LIBRARY})
  target_include_directories(${target} SYSTEM PRIVATE ${NEARFIELD_OPENCL_INCLUDE})
  list(APPEND NEARFIELD_KERNEL_MODULES ${NEARFIELD_LINKED_MODULES})
  nearfield_embed_modules(${target} ${folder}/kernels/opencl spv "${warps}" "${order}")
endfunction()

if(NEARFIELD_OPENCL)
  find_program(NEARFIELD_SPIRV_CLANG clang-15)
  find_program(NEARFIELD_LLVM_SPIRV llvm-spirv-15)
  find_library(NEARFIELD_OPENCL_LIBRARY OpenCL)
  find_path(NEARFIELD_OPENCL_INCLUDE CL/opencl.hpp)
  if(NOT NEARFIELD_SPIRV_CLANG OR NOT NEARFIELD_LLVM_SPIRV OR NOT NEARFIELD_OPENCL_LIBRARY
     OR NOT NEARFIELD_OPENCL_INCLUDE)
    message(FATAL_ERROR "OpenCL kernels need clang-15, llvm-spirv-15, ocl-icd-opencl-dev and "
                        "opencl-clhpp-headers: install them, or build without: "
                        "-DNEARFIELD_OPENCL=OFF")
  endif()
  nearfield_opencl_plugin(nearfield_opencl ${PROJECT_BINARY_DIR} "8;16;32" "")
endif()

if(NEARFIELD_CUDA)
  find_program(NEARFIELD_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NOT NEARFIELD_NVCC)
    message(FATAL_ERROR "CUDA kernels need nvcc of CUDA 12.8 or newer: install the CUDA toolkit, "
                        "name its nvcc: -DNEARFIELD_NVCC=..., or build without: "
                        "-DNEARFIELD_CUDA=OFF")
  endif()
  file(REAL_PATH ${NEARFIELD_NVCC} nvcc)
  cmake_path(GET nvcc PARENT_PATH cuda_root)
  cmake_path(GET cuda_root PARENT_PATH cuda_root)
  find_library(NEARFIELD_CUDART libcudart_static.a HINTS ${cuda_root}/lib64 ${cuda_root}/lib)
  find_path(NEARFIELD_CUDA_INCLUDE cuda_runtime_api.h HINTS ${cuda_root}/include)
  if(NOT NEARFIELD_CUDART OR NOT EXISTS ${NEARFIELD_CUDA_INCLUDE}/cublasLt.h)
    message(FATAL_ERROR "the plugin for CUDA needs cuda_runtime_api.h, cublasLt.h and libcudart_static.a, "
                        "which are not beside ${NEARFIELD_NVCC}: install the CUDA runtime's "
                        "development files, or build without: -DNEARFIELD_CUDA=OFF")
  endif()
  # Contraction is off here too.
  set(NEARFIELD_CUDA_COMMAND
      ${NEARFIELD_NVCC} -std=c++17 --fmad=false -Werror all-warnings -I${PROJECT_SOURCE_DIR}/src
      -I${PROJECT_SOURCE_DIR}/include -I${NEARFIELD_GENERATED})
  nearfield_write_modules(${PROJECT_BINARY_DIR}/kernels/cuda/modules.txt)

  nearfield_device_plugin(nearfield_cuda cuda ${PROJECT_BINARY_DIR})
  list(GET NEARFIELD_CUDA_ARCHITECTURES 0 oldest)
  target_compile_definitions(nearfield_cuda PRIVATE NEARFIELD_CUDA_OLDEST=${oldest})
  target_include_directories(nearfield_cuda SYSTEM PRIVATE ${NEARFIELD_CUDA_INCLUDE})
  # The runtime is this plugin's own: a program's may be another version of it.
  target_link_options(nearfield_cuda PRIVATE -Wl,--exclude-libs,ALL)
  target_link_libraries(nearfield_cuda PRIVATE ${NEARFIELD_CUDART} ${CMAKE_DL_LIBS} rt pthread)
  nearfield_embed_modules(nearfield_cuda ${PROJECT_BINARY_DIR}/kernels/cuda fatbin "32" "")
endif()
