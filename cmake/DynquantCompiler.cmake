# Compiler options of all targets in this project. None of them propagates to programs that link dynquant.

set(CMAKE_CXX_STANDARD 20) # the implementation; the public headers are C++17
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# g++ otherwise contracts a multiply and an add, even intrinsics, to an FMA, which rounds differently.
add_compile_options(-ffp-contract=off)

if(DYNQUANT_SANITIZE)
    list(JOIN DYNQUANT_SANITIZE "," sanitizers)
    add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${sanitizers})
endif()

if(DYNQUANT_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link) # all code tells libFuzzer where it goes
endif()

# dynquant_set_warnings(<target>): called for each target, so that targets of an including project are not affected.
function(dynquant_set_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
        -Wold-style-cast -Wcast-align -Wimplicit-fallthrough -Wundef
        $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow> # g++'s -Wshadow warns of a constructor status(status)
        $<$<BOOL:${DYNQUANT_WERROR}>:-Werror>)
endfunction()

# dynquant_sources(<variable> <folder>...): the .cpp files in these folders of the current one and below, but in isa/,
# where dynquant_add_loops() looks
function(dynquant_sources variable)
    list(TRANSFORM ARGN APPEND "/*.cpp")
    file(GLOB_RECURSE sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS ${ARGN})
    list(FILTER sources EXCLUDE REGEX "(^|/)isa/")
    set(${variable} ${sources} PARENT_SCOPE)
endfunction()
