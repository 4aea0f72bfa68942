# Compiles loops once for each instruction set of this architecture. src/targets/targets.inc lists them, with the
# compiler's flags; no other file has flags of instruction sets.

include(CheckCXXCompilerFlag)

set(dynquant_targets "${PROJECT_SOURCE_DIR}/src/targets/targets.inc")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${dynquant_targets}")
set(DYNQUANT_INSTRUCTION_SETS "")
set(dynquant_known_sets "") # of other architectures, too
block(PROPAGATE DYNQUANT_INSTRUCTION_SETS dynquant_known_sets)
    file(STRINGS "${dynquant_targets}" lines REGEX "^DYNQUANT_TARGET")
    string(REPLACE AMD64 x86_64 architecture "${CMAKE_SYSTEM_PROCESSOR}")
    foreach(line IN LISTS lines)
        if(NOT line MATCHES "^DYNQUANT_TARGET\\(([a-z0-9_]+), ([a-z0-9_]+), [^,]+, ([a-z0-9_]+), \"(.*)\"\\)$")
            message(FATAL_ERROR "${dynquant_targets}: expected DYNQUANT_TARGET(name, extended, features, architecture, \"flags\"), given ${line}")
        endif()
        set(name ${CMAKE_MATCH_1})
        set(extended ${CMAKE_MATCH_2})
        set(of ${CMAKE_MATCH_3})
        set(given "${CMAKE_MATCH_4}")
        list(APPEND dynquant_known_sets ${name})
        if(NOT of MATCHES "^(any|${architecture})$")
            continue()
        endif()
        string(MAKE_C_IDENTIFIER "DYNQUANT_HAS${given}" knows) # is asked again when the flags change
        check_cxx_compiler_flag("${given}" ${knows})
        if(NOT ${knows})
            dynquant_left_out("Code for ${name} is left out: the compiler does not know ${given}")
            continue()
        endif()
        list(APPEND DYNQUANT_INSTRUCTION_SETS ${name})
        string(REPLACE " " ";" flags "${given}")
        list(PREPEND flags ${flags_of_${extended}})
        if(name STREQUAL avx512) # false warnings in g++ 12's intrinsics header (GCC bug 105593)
            list(APPEND flags "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
        endif()
        set(flags_of_${name} "${flags}")
        set(dynquant_flags_of_${name} "${flags}" PARENT_SCOPE)
    endforeach()
endblock()

# dynquant_add_loops(<target> <name> IN <folder> NAMESPACE <namespace> TYPE <type> DECLARED <header> LOOPS <header>
#                    SETS <instruction set>...)
# Compiles LOOPS once for each set and defines there SET_<name> = <name>_of<simd::SET>. Where the folder has isa/SET.cpp,
# that file defines it instead. Then makes <name>_table of them, strongest first, which DECLARED declares and from which
# pick() of src/targets/features.hpp chooses at run time. Without scalar, the last entry is null.
function(dynquant_add_loops target name)
    cmake_parse_arguments(PARSE_ARGV 2 of "" "IN;NAMESPACE;TYPE;DECLARED;LOOPS" "SETS")
    foreach(set IN LISTS of_SETS)
        if(NOT set IN_LIST dynquant_known_sets)
            message(FATAL_ERROR "dynquant_add_loops: ${name}: expected SETS of ${dynquant_known_sets}, given ${set}")
        endif()
    endforeach()
    set(externs "")
    set(entries "")
    set(unchecked "")
    if("undefined" IN_LIST DYNQUANT_SANITIZE)
        # Of the time that clang++ takes for the longest of these sources they are four fifths. The address sanitizer
        # sees what they see of an address that is used, null too, and vectors that must be aligned fault.
        set(unchecked -fno-sanitize=pointer-overflow,object-size,null,alignment)
    endif()
    foreach(set IN LISTS DYNQUANT_INSTRUCTION_SETS)
        if(NOT set IN_LIST of_SETS)
            continue()
        endif()
        set(source "${CMAKE_CURRENT_SOURCE_DIR}/${of_IN}/isa/${set}.cpp")
        if(NOT EXISTS "${source}")
            set(source "${CMAKE_CURRENT_BINARY_DIR}/${of_IN}/isa/${set}_${name}.cpp")
            file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
"// Made by dynquant_add_loops() of cmake/DynquantIsa.cmake.
#include \"targets/@set@.hpp\"

#include \"@of_LOOPS@\"

namespace @of_NAMESPACE@ {

extern const @of_TYPE@ @set@_@name@;
constinit const @of_TYPE@ @set@_@name@ = @name@_of<dynquant::simd::@set@>;

} // namespace @of_NAMESPACE@
")
        endif()
        # -O3 in every optimized build: g++'s -O2 does not vectorize the loops that prepare parameters and transpose
        # tiles. What a target sets for one of these sources comes later, and wins.
        set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON # they have other flags
            COMPILE_OPTIONS "${dynquant_flags_of_${set}};$<$<NOT:$<CONFIG:Debug>>:-O3>;${unchecked}")
        target_sources(${target} PRIVATE "${source}")
        string(APPEND externs "extern const ${of_TYPE} ${set}_${name};\n")
        string(PREPEND entries "    {dynquant::targets::${set}, &${set}_${name}},\n")
    endforeach()
    if(NOT scalar IN_LIST of_SETS)
        string(APPEND entries "    {dynquant::targets::scalar, nullptr},\n")
    endif()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${of_IN}/${name}_table.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
"// Made by dynquant_add_loops() of cmake/DynquantIsa.cmake.
#include \"@of_DECLARED@\"

namespace @of_NAMESPACE@ {

@externs@
constinit const dynquant::targets::candidate<const @of_TYPE@ *> @name@_table[] = {
@entries@};

} // namespace @of_NAMESPACE@
")
    target_sources(${target} PRIVATE "${source}")
endfunction()
