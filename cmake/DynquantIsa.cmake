# Compiles sources once for each instruction set of this architecture. This is the only place that has their flags;
# src/targets/features.hpp says by the same names what a processor needs for them. The test `sources` compares the names.

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mavx512fp16 DYNQUANT_HAS_AVX512FP16) # without it, avx512_fp16.cpp compiles to nothing

set(DYNQUANT_INSTRUCTION_SETS scalar)
set(dynquant_flags_of_scalar "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND DYNQUANT_INSTRUCTION_SETS avx2 avx2_vnni avx512 avx512_vbmi avx512_vnni avx512_fp16 amx_int8)
    set(dynquant_flags_of_avx2 "-mavx2;-mfma;-mf16c;-mbmi2")
    set(dynquant_flags_of_avx2_vnni "${dynquant_flags_of_avx2};-mavxvnni")
    set(dynquant_flags_of_avx512 "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mf16c;-mbmi2;-mprefer-vector-width=512;\
$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>") # false warnings in g++ 12's intrinsics header (GCC bug 105593)
    set(dynquant_flags_of_avx512_vbmi "${dynquant_flags_of_avx512};-mavx512vbmi")
    set(dynquant_flags_of_avx512_vnni "${dynquant_flags_of_avx512};-mavx512vnni")
    set(dynquant_flags_of_avx512_fp16 "${dynquant_flags_of_avx512};$<$<BOOL:${DYNQUANT_HAS_AVX512FP16}>:-mavx512fp16>")
    set(dynquant_flags_of_amx_int8 "${dynquant_flags_of_avx512};-mamx-tile;-mamx-int8")
endif()

# dynquant_add_isa_sources(<target> <folder>): adds the sources of a folder that have the name of an instruction set.
# pick() of src/targets/features.hpp chooses among them at run time.
function(dynquant_add_isa_sources target folder)
    foreach(set IN LISTS DYNQUANT_INSTRUCTION_SETS)
        set(source ${folder}/${set}.cpp)
        if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
            continue()
        endif()
        # -O3 in every optimized build: g++'s -O2 does not vectorize the loops that prepare parameters and transpose
        # tiles. What a target sets for one of these sources comes later, and wins.
        set_source_files_properties(${source} PROPERTIES
            COMPILE_OPTIONS "${dynquant_flags_of_${set}};$<$<NOT:$<CONFIG:Debug>>:-O3>")
        target_sources(${target} PRIVATE ${source})
    endforeach()
endfunction()
