# The row algorithms are compiled once for each instruction set that this architecture has.

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mavx512fp16 DYNQUANT_HAS_AVX512FP16) # without it, what needs it compiles to nothing

# dynquant_add_isa_sources(<target> <folder> [<suffix>...]): the files scalar.cpp, avx2.cpp and avx512.cpp of a folder
# and, where there are some, avx512_vbmi.cpp and avx512_fp16.cpp, and those with a suffix, as in avx2_<suffix>.cpp, each
# compiled for what its name says.
function(dynquant_add_isa_sources target folder)
    set(scalar "")
    set(avx2 "-mavx2;-mfma;-mf16c;-mbmi2")
    set(avx512 "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mf16c;-mbmi2;-mprefer-vector-width=512;\
$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>") # g++ 12 warns of its own header (GCC bug 105593)
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
            # Whatever the rest is built with: preparing parameters and turning tiles are loops that -O2 leaves scalar.
            set_source_files_properties(${source} PROPERTIES
                COMPILE_OPTIONS "${${set}};$<$<NOT:$<CONFIG:Debug>>:-O3>")
            target_sources(${target} PRIVATE ${source})
        endforeach()
    endforeach()
endfunction()
