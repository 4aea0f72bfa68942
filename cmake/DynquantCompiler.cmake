# How every target of this project is compiled; nothing here reaches a program that links dynquant.

set(CMAKE_CXX_STANDARD 20) # the implementation; the public headers are C++17
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# g++ otherwise fuses a multiply and an add, of intrinsics too, into one differently rounded operation.
add_compile_options(-ffp-contract=off)

if(DYNQUANT_SANITIZE)
    list(JOIN DYNQUANT_SANITIZE "," sanitizers)
    add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${sanitizers})
endif()

# Called by each target of this project; an including project's targets are its own business.
function(dynquant_set_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
        -Wold-style-cast -Wcast-align -Wimplicit-fallthrough -Wundef
        $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow> # g++'s plain one forbids a constructor status(status)
        $<$<BOOL:${DYNQUANT_WERROR}>:-Werror>)
endfunction()
