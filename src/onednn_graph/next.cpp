#include "onednn_graph/next.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <type_traits>

#include "quantization/environment.hpp"
#include "quantization/text.hpp"

namespace dynquant::onednn_graph {
namespace {

/// The functions after this library's own in the search order, else those of a libdnnl that was loaded with local
/// scope, for instance as a plug-in's dependency.
struct next_functions : core::onednn_functions {
    bool complete = true;

    next_functions() {
        void *const loaded = dlopen("libdnnl.so.3", RTLD_LAZY | RTLD_NOLOAD);
        const auto find = [=](auto &function, const char *name) {
            void *found = dlsym(RTLD_NEXT, name);
            if (!found && loaded) found = dlsym(loaded, name);
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
            return found != nullptr;
        };
#define DYNQUANT_ONEDNN(name, function) complete &= find(name, #function);
#define DYNQUANT_NEWER_ONEDNN(name, function) find(name, #function);
#include "graph/onednn_functions.inc"
#undef DYNQUANT_NEWER_ONEDNN
#undef DYNQUANT_ONEDNN
    }
};

const next_functions &next() {
    static const next_functions functions;
    return functions;
}

/// "THREADPOOL", as in DNNL_RUNTIME_THREADPOOL.
std::string name_of_runtime(unsigned runtime) {
    switch (runtime) {
        case DNNL_RUNTIME_NONE: return "NONE";
        case DNNL_RUNTIME_SEQ: return "SEQ";
        case DNNL_RUNTIME_OMP: return "OMP";
        case DNNL_RUNTIME_TBB: return "TBB";
        case DNNL_RUNTIME_THREADPOOL: return "THREADPOOL";
        case DNNL_RUNTIME_SYCL: return "SYCL";
        default: return concat("number ", runtime);
    }
}

} // namespace

bool has_onednn() {
    if (next().complete) [[likely]]
        return true;
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    if (told.test_and_set()) return false;
    std::fputs(
            "dynquant: expected oneDNN's library (libdnnl 3.2 or newer, with Graph) behind libdynquant_onednn_graph, "
            "given none.\n"
            "dynquant: link it before libdnnl (-ldynquant_onednn_graph -ldnnl), or start the program with "
            "LD_PRELOAD=libdynquant_onednn_graph.so; a oneDNN that is linked statically cannot be extended.\n",
            stderr);
    return false;
}

void tell_wrong_environment() {
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    try {
        environment::check();
    } catch (const error &e) {
        if (!told.test_and_set())
            std::fprintf(stderr, "dynquant: %s; the drop-in leaves its ops to oneDNN\n", e.what());
    }
}

// Earlier work on an asynchronous stream may still write the inputs. This library computes at once and would not wait
// for it, nor for the events that a SYCL program passes to execute.
std::string explain_unsupported_runtime() {
    const auto runtime = onednn().version()->cpu_runtime;
    if (core::is_synchronous(runtime)) return "";
    return concat("oneDNN's CPU runtime: expected SEQ, OMP or TBB, given ", name_of_runtime(runtime));
}

} // namespace dynquant::onednn_graph

namespace dynquant::graph::core {

const onednn_functions &onednn() {
    return dynquant::onednn_graph::next();
}

} // namespace dynquant::graph::core
