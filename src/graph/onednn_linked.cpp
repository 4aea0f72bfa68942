// The table of functions for libdynquant: the oneDNN that it is linked with.
#include <dlfcn.h>

#include "graph/onednn.hpp"

namespace dynquant::graph::core {
namespace {

/// Looks up a function that may be newer than oneDNN's headers at build time.
template <typename Function>
Function find(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

onednn_functions linked() {
    onednn_functions f {};
#define DYNQUANT_ONEDNN(name, function) f.name = function;
#include "graph/onednn_functions.inc"
#undef DYNQUANT_ONEDNN
    f.compiled_partition_execute_v2 = find<onednn_functions::execute_v2>("dnnl_graph_compiled_partition_execute_v2");
    f.compiled_partition_get_scratchpad_logical_tensor =
            find<decltype(f.compiled_partition_get_scratchpad_logical_tensor)>(
                    "dnnl_graph_compiled_partition_get_scratchpad_logical_tensor");
    f.graph_set_fpmath_mode = find<decltype(f.graph_set_fpmath_mode)>("dnnl_graph_graph_set_fpmath_mode");
    return f;
}

} // namespace

const onednn_functions &onednn() {
    static const onednn_functions functions = linked();
    return functions;
}

} // namespace dynquant::graph::core
