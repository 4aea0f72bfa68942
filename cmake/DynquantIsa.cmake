# The row algorithms are compiled once for each instruction set that this architecture has.

# dynquant_add_isa_sources(<target> <folder>): the files scalar.cpp, avx2.cpp, avx512.cpp and, where there is one,
# avx512_vbmi.cpp of a folder, each compiled for what its name says.
function(dynquant_add_isa_sources target folder)
    set(sources ${folder}/scalar.cpp)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND sources ${folder}/avx2.cpp ${folder}/avx512.cpp)
        set_source_files_properties(${folder}/avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-mbmi2")
        set(avx512 "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mf16c;-mbmi2;-mprefer-vector-width=512;\
$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>") # g++ 12 warns of its own header (GCC bug 105593)
        set_source_files_properties(${folder}/avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512}")
        if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/avx512_vbmi.cpp")
            list(APPEND sources ${folder}/avx512_vbmi.cpp)
            set_source_files_properties(${folder}/avx512_vbmi.cpp PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vbmi")
        endif()
    endif()
    # Whatever the rest is built with: preparing parameters and turning tiles are loops that -O2 leaves scalar.
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O3>)
    target_sources(${target} PRIVATE ${sources})
endfunction()
