# Compiles sources once for each instruction set of this architecture.

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mavx512fp16 DYNQUANT_HAS_AVX512FP16) # without it, avx512_fp16.cpp compiles to nothing

# dynquant_add_isa_sources(<target> <folder> [<suffix>...]): adds scalar.cpp, avx2.cpp and avx512.cpp of a folder, and
# if they exist avx512_vbmi.cpp and avx512_fp16.cpp. A suffix adds such files with _<suffix>, as in avx2_<suffix>.cpp.
# Each file is compiled for the instruction set in its name.
function(dynquant_add_isa_sources target folder)
    set(scalar "")
    set(avx2 "-mavx2;-mfma;-mf16c;-mbmi2")
    set(avx512 "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mf16c;-mbmi2;-mprefer-vector-width=512;\
$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>") # false warnings in g++ 12's intrinsics header (GCC bug 105593)
    set(avx512_vbmi "${avx512};-mavx512vbmi")
    set(avx512_fp16 "${avx512};$<$<BOOL:${DYNQUANT_HAS_AVX512FP16}>:-mavx512fp16>")
    set(extensions avx512_vbmi avx512_fp16)
    set(sets scalar)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND sets avx2 avx512 ${extensions})
    endif()
    list(TRANSFORM ARGN PREPEND _ OUTPUT_VARIABLE suffixes)
    foreach(set IN LISTS sets)
        foreach(suffix IN ITEMS "" LISTS suffixes)
            set(source ${folder}/${set}${suffix}.cpp)
            if(set IN_LIST extensions AND NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
                continue()
            endif()
            # -O3 in every optimized build: g++'s -O2 does not vectorize the loops that prepare parameters and transpose
            # tiles. What a target sets for one of these sources comes later, and wins.
            set_source_files_properties(${source} PROPERTIES
                COMPILE_OPTIONS "${${set}};$<$<NOT:$<CONFIG:Debug>>:-O3>")
            target_sources(${target} PRIVATE ${source})
        endforeach()
    endforeach()
endfunction()
