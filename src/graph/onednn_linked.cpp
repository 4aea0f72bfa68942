// The table of functions for libdynquant: the oneDNN that it is linked with.
#include <dlfcn.h>

#include "graph/onednn.hpp"

namespace dynquant::graph::core {
namespace {

onednn_functions linked() {
    onednn_functions f {};
#define DYNQUANT_ONEDNN(name, function) f.name = function;
#define DYNQUANT_NEWER_ONEDNN(name, function)                                                                          \
    f.name = reinterpret_cast<decltype(f.name)>(dlsym(RTLD_DEFAULT, #function));
#include "graph/onednn_functions.inc"
#undef DYNQUANT_NEWER_ONEDNN
#undef DYNQUANT_ONEDNN
    return f;
}

} // namespace

const onednn_functions &onednn() {
    static const onednn_functions functions = linked();
    return functions;
}

} // namespace dynquant::graph::core
