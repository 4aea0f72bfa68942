// The execution provider's entry points, its factory, and what ONNX Runtime asks of it for a session.
#include <onnxruntime_c_api.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <malloc.h>

#include "dynquant/version.hpp"
#include "onnxruntime/common/status.hpp"
#include "onnxruntime/common/threads.hpp"
#include "onnxruntime/provider/claims.hpp"
#include "onnxruntime/provider/compiled.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

/// The first version of the API of execution providers, that of the headers in third_party.
constexpr std::uint32_t provider_api_version = 23;

/// A number that grows with versions: 12302 for "1.23.2".
int version_of(const OrtApiBase &base) {
    int major = 0, minor = 0, patch = 0;
    std::sscanf(base.GetVersionString(), "%d.%d.%d", &major, &minor, &patch);
    return (major * 100 + minor) * 100 + patch;
}

/// ONNX Runtime before 1.23.2 takes each provider that it does not know by name for a device with memory of its own,
/// and then fails for want of copies (its pull request 26088).
constexpr int oldest_that_may_claim = 12302;

has_shape_function find_has_shape(const OrtApiBase &base) {
    if (version_of(base) < 12400) return nullptr; // GetApi() would print that it is older
    const OrtApi *const api = base.GetApi(24);
    if (!api) return nullptr;
    static_assert(ORT_API_VERSION == provider_api_version);
    has_shape_function found = nullptr; // the first that 1.24 added to the functions that these headers have
    std::memcpy(&found, api + 1, sizeof found);
    return found;
}

/// Writes the addresses that constants have in a fused node's graph into the graph that was matched.
void bind_constants(graph &g, const claimed &c, const graph &fused) {
    for (const auto index : c.nodes)
        for (const auto input : g.nodes[index].inputs) {
            if (input == none || !g.values[input].known) continue;
            auto &to = *g.values[input].known;
            const auto found = std::ranges::find(fused.values, g.values[input].name, &value::name);
            if (found == fused.values.end() || !found->known || found->known->type != to.type
                    || found->known->shape != to.shape)
                throw error(status::runtime_error,
                        concat("internal error: ", describe(g.nodes[index]), ": expected the constant '",
                                g.values[input].name, "' that was claimed"));
            to.data = found->known->data;
        }
}

/// Gives freed memory of the heap back to the system. ONNX Runtime frees its copies of weights that layers have packed
/// before it creates a state of a node, and glibc keeps what does not lie above its last block. Where only weights are
/// free this takes as long as giving back the weights alone, and 0.1 s in a heap of 1.6 GiB with 370,000 other holes.
void give_back_freed_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/// The provider of one session.
class provider : public OrtEp {
  public:
    provider(const OrtApi &api, const OrtApiBase &base, const OrtSessionOptions &session, const OrtLogger *logger)
        : OrtEp {}
        , api_(api)
        , ep_api_(*api.GetEpApi())
        , has_shape_(find_has_shape(base))
        , options_(read_options(api, session, version_of(base)))
        , initializers_(api, session)
        , logger_(logger) {
        ort_version_supported = provider_api_version;
        GetName = [](const OrtEp *) noexcept { return provider_name; };
        GetCapability = [](OrtEp *self, const OrtGraph *from, OrtEpGraphSupportInfo *claims) noexcept -> OrtStatus * {
            auto &p = *static_cast<provider *>(self);
            return guarded(p.api_, [&] { p.claim(*from, *claims); });
        };
        Compile = [](OrtEp *self, const OrtGraph **graphs, const OrtNode **fused, std::size_t count,
                          OrtNodeComputeInfo **infos, OrtNode **) noexcept -> OrtStatus * {
            auto &p = *static_cast<provider *>(self);
            return guarded(p.api_, [&] {
                std::vector<std::unique_ptr<fused_node>> compiled;
                for (std::size_t i = 0; i < count; ++i)
                    compiled.push_back(p.compile(*graphs[i], *fused[i]));
                for (std::size_t i = 0; i < count; ++i)
                    infos[i] = compiled[i].release();
            });
        };
        ReleaseNodeComputeInfos = [](OrtEp *, OrtNodeComputeInfo **infos, std::size_t count) noexcept {
            for (std::size_t i = 0; i < count; ++i)
                delete static_cast<fused_node *>(infos[i]);
        };
    }

  private:
    void claim(const OrtGraph &from, OrtEpGraphSupportInfo &claims) {
        if (options_.claim == claim_policy::none) return;
        if (options_.ort_version < oldest_that_may_claim)
            return say("leaves all nodes: expected ONNX Runtime 1.23.2 or newer, given an older one");
        if (!options_.leaves_all.empty())
            return say(concat("leaves all nodes: expected a session without ", options_.leaves_all,
                    ", under which ONNX Runtime fails if nodes are fused"));
        auto [g, handles] = read_graph(api_, has_shape_, from, initializers_);
        for (auto &v : g.values)
            if (taken_by_subgraphs_.contains(v.name)) {
                v.is_seen_outside = true;
                ++v.subgraph_consumers;
            }
        // ONNX Runtime compiles a graph, or none of it, before it asks about another one: names that two subgraphs
        // share do not meet.
        claims_.clear();
        for (auto &c : find_claims(g, options_, [this](const std::string &text) { say(text); })) {
            std::vector<const OrtNode *> nodes;
            for (const auto index : c.nodes)
                nodes.push_back(handles[index]);
            OrtNodeFusionOptions fusion {};
            fusion.ort_version_supported = provider_api_version;
            fusion.drop_constant_initializers = !c.layers.empty(); // which layers copy
            check(api_, ep_api_.EpGraphSupportInfo_AddNodesToFuse(&claims, nodes.data(), nodes.size(), &fusion));
            for (const auto index : c.nodes)
                for (const auto input : g.nodes[index].inputs)
                    if (input != none && g.values[input].is_of_outer_graph)
                        taken_by_subgraphs_.insert(g.values[input].name);
            claims_.emplace(c.y, std::move(c));
        }
        for (auto &v : g.values)
            if (v.known) v.known->data = nullptr; // its memory may be freed when this returns
        graph_ = claims_.empty() ? graph {} : std::move(g);
    }

    std::unique_ptr<fused_node> compile(const OrtGraph &from, const OrtNode &fused) {
        const compile_arguments args {
                api_, graph_, input_names(api_, fused), output_names(api_, fused), options_.threads, freed_};
        const auto is_claimed = [&](const std::string &name) { return claims_.contains(name); };
        const auto y = std::ranges::find_if(args.outputs, is_claimed);
        if (y == args.outputs.end())
            throw error(status::runtime_error, "internal error: expected a node that was claimed");
        const auto c = std::move(claims_.extract(*y).mapped());
        const char *name = nullptr;
        check(api_, api_.Node_GetName(&fused, &name));
        say(concat("compiles ", name, " as ", c.name));
        bind_constants(graph_, c, read_graph(api_, has_shape_, from, initializers_).view);
        freed_ = freed_ || !c.layers.empty();
        auto compiled = compile(args, c);
        if (claims_.empty()) graph_ = {};
        return compiled;
    }

    std::unique_ptr<fused_node> compile(const compile_arguments &a, const claimed &c) const {
        if (c.layers.empty()) return compile_node(a, graph_.nodes[c.nodes.front()]);
        if (c.is_group) return compile_group(a, c.layers);
        if (c.layers.size() > 1) return compile_chain(a, c.layers);
        const auto &l = c.layers.front();
        if (l.is_weight_only()) return compile_weight_only(a, l, weight_only_workspace_);
        return has_several_matrices(graph_, graph_.nodes[l.product]) ? compile_stack(a, l) : compile_layer(a, l);
    }

    void say(const std::string &text) const {
        if (!options_.verbose) return;
        const auto line = concat("dynquant: ", text);
        constexpr const char *file = "library.cpp"; // ORT_FILE may have the folder of whoever compiles this
        check(api_, api_.Logger_LogMessage(logger_, ORT_LOGGING_LEVEL_WARNING, line.c_str(), file, __LINE__, "claim"));
    }

    const OrtApi &api_;
    const OrtEpApi &ep_api_;
    has_shape_function has_shape_;
    options options_;
    session_initializers initializers_;
    // What is not compiled yet of the graph that ONNX Runtime asked about last, by y. Both are empty when all of it is.
    std::map<std::string, claimed> claims_;
    // What claimed nodes of subgraphs take of outer graphs. ONNX Runtime asks about subgraphs first, and drops
    // constants from what they take then; but of a layer of the outer graph it would have found that others take its
    // weights.
    std::set<std::string> taken_by_subgraphs_;
    graph graph_;
    const OrtLogger *logger_;
    bool freed_ = false;
    std::shared_ptr<weight_only_workspace_pool> weight_only_workspace_ = std::make_shared<weight_only_workspace_pool>();
};

class factory : public OrtEpFactory {
  public:
    factory(const OrtApi &of, const OrtApiBase &base)
        : OrtEpFactory {}
        , api_(of)
        , base_(base) {
        ort_version_supported = provider_api_version;
        GetName = [](const OrtEpFactory *) noexcept { return provider_name; };
        GetVendor = [](const OrtEpFactory *) noexcept { return "dynquant"; };
        GetVendorId = [](const OrtEpFactory *) noexcept { return std::uint32_t {0}; };
        GetVersion = [](const OrtEpFactory *) noexcept {
            static const auto version =
                    concat(DYNQUANT_VERSION_MAJOR, '.', DYNQUANT_VERSION_MINOR, '.', DYNQUANT_VERSION_PATCH);
            return version.c_str();
        };
        GetSupportedDevices = [](OrtEpFactory *self, const OrtHardwareDevice *const *devices, std::size_t count,
                                      OrtEpDevice **found, std::size_t most,
                                      std::size_t *found_count) noexcept -> OrtStatus * {
            const auto &api = static_cast<factory *>(self)->api_;
            *found_count = 0;
            for (std::size_t i = 0; i < count && *found_count < most; ++i)
                if (api.HardwareDevice_Type(devices[i]) == OrtHardwareDeviceType_CPU)
                    if (auto *status = api.GetEpApi()->CreateEpDevice(
                                self, devices[i], nullptr, nullptr, &found[(*found_count)++]))
                        return status;
            return nullptr;
        };
        CreateEp = [](OrtEpFactory *self, const OrtHardwareDevice *const *, const OrtKeyValuePairs *const *,
                           std::size_t, const OrtSessionOptions *given, const OrtLogger *logger,
                           OrtEp **ep) noexcept -> OrtStatus * {
            const auto &f = *static_cast<factory *>(self);
            return guarded(
                    f.api_, [&] { *ep = std::make_unique<provider>(f.api_, f.base_, *given, logger).release(); });
        };
        ReleaseEp = [](OrtEpFactory *, OrtEp *ep) noexcept { delete static_cast<provider *>(ep); };
        CreateAllocator = [](OrtEpFactory *, const OrtMemoryInfo *, const OrtKeyValuePairs *,
                                  OrtAllocator **allocator) noexcept -> OrtStatus * {
            *allocator = nullptr; // ONNX Runtime's own
            return nullptr;
        };
        ReleaseAllocator = [](OrtEpFactory *, OrtAllocator *) noexcept {};
        CreateDataTransfer = [](OrtEpFactory *, OrtDataTransferImpl **transfer) noexcept -> OrtStatus * {
            *transfer = nullptr;
            return nullptr;
        };
        IsStreamAware = [](const OrtEpFactory *) noexcept { return false; };
    }

  private:
    const OrtApi &api_;
    const OrtApiBase &base_;
};

} // namespace

fused_node::fused_node(const compile_arguments &a)
    : OrtNodeComputeInfo {}
    , api_(a.api)
    , threads_(a.threads)
    , freed_(a.freed) {
    ort_version_supported = provider_api_version;
    CreateState = [](OrtNodeComputeInfo *self, OrtNodeComputeContext *, void **state) -> OrtStatus * {
        *state = self; // runs have no state of their own
        auto &node = *static_cast<fused_node *>(self);
        return guarded(node.api_, [&] {
            if (std::exchange(node.freed_, false)) give_back_freed_memory();
        });
    };
    Compute = [](OrtNodeComputeInfo *self, void *, OrtKernelContext *context) -> OrtStatus * {
        auto &node = *static_cast<fused_node *>(self);
        return guarded(node.api_, [&] {
            const session_threads threads(node.api_, context, node.threads_);
            node.compute(*context);
        });
    };
    ReleaseState = [](OrtNodeComputeInfo *, void *) {};
}

} // namespace dynquant::onnxruntime

extern "C" {

[[gnu::visibility("default")]] OrtStatus *CreateEpFactories(const char *, const OrtApiBase *base, const OrtLogger *,
        OrtEpFactory **factories, std::size_t most, std::size_t *count) {
    using namespace dynquant::onnxruntime;
    const OrtApi *api = base->GetApi(provider_api_version);
    if (!api) return refuse_version(*base, provider_api_version);
    return guarded(*api, [&] {
        *count = 0;
        if (most > 0) factories[(*count)++] = std::make_unique<factory>(*api, *base).release();
    });
}

/// A factory is never destroyed. ONNX Runtime calls this when the library is unregistered, and a session that lives on
/// releases its provider through the factory later.
[[gnu::visibility("default")]] OrtStatus *ReleaseEpFactory(OrtEpFactory *) {
    return nullptr;
}
}
