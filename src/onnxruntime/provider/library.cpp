// The execution provider's entry points, its factory, and what ONNX Runtime asks of it for a session.
#include <onnxruntime_c_api.h>

#include <array>
#include <cstring>
#include <locale>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <malloc.h>

#include "dynquant/version.hpp"
#include "layers/match/narrow_weights.hpp"
#include "onnx/element_type.hpp"
#include "onnxruntime/common/status.hpp"
#include "onnxruntime/provider/compiled.hpp"
#include "onnxruntime/provider/node_match.hpp"
#include "onnxruntime/provider/options.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

using layers::match::find_layer, layers::match::find_row_scales;
using layers::match::is_narrow_product, layers::match::is_product;
using layers::match::layer_match, layers::match::match_result, layers::match::row_scales;

/// The first version of the API of execution providers, that of the headers in third_party.
constexpr std::uint32_t provider_api_version = 23;

using version = std::array<int, 3>;

version version_of(const OrtApiBase &base) {
    version v = {};
    std::istringstream text(base.GetVersionString());
    text.imbue(std::locale::classic());
    char point = 0;
    text >> v[0] >> point >> v[1] >> point >> v[2];
    return v;
}

/// ONNX Runtime before 1.23.2 takes each provider that it does not know by name for a device with memory of its own,
/// and then fails for want of copies (its pull request 26088).
bool may_claim(const OrtApiBase &base) {
    return version_of(base) >= version {1, 23, 2};
}

has_shape_function find_has_shape(const OrtApiBase &base) {
    if (version_of(base) < version {1, 24, 0}) return nullptr; // GetApi() would print that it is older
    const OrtApi *const api = base.GetApi(24);
    if (!api) return nullptr;
    static_assert(ORT_API_VERSION == provider_api_version);
    has_shape_function found = nullptr; // the first that 1.24 added to the functions that these headers have
    std::memcpy(&found, api + 1, sizeof found);
    return found;
}

/// Nodes that become one, as they were matched in the graph that ONNX Runtime asked about.
struct claimed {
    std::vector<std::size_t> nodes;
    std::vector<layer_match> layers; // none: of a node that quantizes
};

/// The value that a fused node always gives.
const value &y_of(const graph &g, const claimed &c) {
    return c.layers.empty() ? g.output(g.nodes[c.nodes.front()]) : g.values[c.layers.front().y];
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

constexpr const char *quantizes = "DynamicQuantizeLinear"; // of ONNX's domain, or `dynquant`

/// A layer that the provider claims.
match_result find_claim(const graph &g, std::size_t product, const std::vector<bool> &is_claimed) {
    const auto &n = g.nodes[product];
    auto result = find_layer(g, product, is_claimed);
    if (!result.found) return result;
    if (g.input(n, 0).is_constant()) return {std::nullopt, "its input is constant"}; // fused nodes do not receive it
    if (const auto rank = g.input(n, 1).known->shape.size(); n.op_type == "MatMulInteger" && rank != 2)
        return {std::nullopt, concat("its weights have rank ", rank)};
    return result;
}

/// Gives freed memory of the heap back to the system. ONNX Runtime frees its copies of weights that layers have packed
/// before it creates a state of a node, and glibc keeps what does not lie above its last block. Where only weights are
/// free this takes as long as giving back the weights alone, and 0.1 s in a heap of 1.6 GiB with 370,000 other holes.
void give_back_freed_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

struct compute_info : OrtNodeComputeInfo {
    compute_info(const OrtApi &of, std::unique_ptr<fused_node> n, bool &f)
        : OrtNodeComputeInfo {}
        , api(of)
        , node(std::move(n))
        , freed(f) {
        ort_version_supported = provider_api_version;
        CreateState = [](OrtNodeComputeInfo *self, OrtNodeComputeContext *, void **state) -> OrtStatus * {
            *state = self; // runs have no state of their own
            auto &info = *static_cast<compute_info *>(self);
            return guarded(info.api, [&] {
                if (std::exchange(info.freed, false)) give_back_freed_memory();
            });
        };
        Compute = [](OrtNodeComputeInfo *self, void *, OrtKernelContext *context) -> OrtStatus * {
            auto &info = *static_cast<compute_info *>(self);
            return guarded(info.api, [&] { info.node->compute(*context); });
        };
        ReleaseState = [](OrtNodeComputeInfo *, void *) {};
    }

    const OrtApi &api;
    std::unique_ptr<fused_node> node;
    bool &freed; // whether weights of the session were freed since memory was given back
};

/// The provider of one session.
class provider : public OrtEp {
  public:
    provider(const OrtApi &api, bool may_claim, has_shape_function has_shape, const OrtSessionOptions &session,
            const OrtLogger *logger)
        : OrtEp {}
        , api_(api)
        , ep_api_(*api.GetEpApi())
        , may_claim_(may_claim)
        , has_shape_(has_shape)
        , options_(read_options(api, session))
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
                std::vector<std::unique_ptr<compute_info>> compiled;
                for (std::size_t i = 0; i < count; ++i)
                    compiled.push_back(
                            std::make_unique<compute_info>(p.api_, p.compile(*graphs[i], *fused[i]), p.freed_));
                for (std::size_t i = 0; i < count; ++i)
                    infos[i] = compiled[i].release();
            });
        };
        ReleaseNodeComputeInfos = [](OrtEp *, OrtNodeComputeInfo **infos, std::size_t count) noexcept {
            for (std::size_t i = 0; i < count; ++i)
                delete static_cast<compute_info *>(infos[i]);
        };
    }

  private:
    void claim(const OrtGraph &from, OrtEpGraphSupportInfo &claims) {
        if (options_.claim == claim_policy::none) return;
        if (!may_claim_) return say("leaves all nodes: expected ONNX Runtime 1.23.2 or newer, given an older one");
        if (options_.writes_context_model) // for which ONNX Runtime wants an EPContext node of each fused node
            return say(concat("leaves all nodes: expected a session without ", context_enable,
                    ", given one that writes an EPContext model, which keeps them as they are"));
        auto [g, handles] = read_graph(api_, has_shape_, from, initializers_);
        std::vector<claimed> found_claims;
        std::vector<bool> is_claimed(g.nodes.size());
        std::vector<layer_match> layers;
        for (std::size_t i = 0; i < g.nodes.size(); ++i) {
            if (!is_product(g.nodes[i])) continue;
            auto [found, reason] = find_claim(g, i, is_claimed);
            if (found && found->nodes.size() == 1)
                reason = reason_to_leave_product(g, g.nodes[i], options_.claim == claim_policy::all);
            if (take(g, i, found, std::move(reason), is_claimed)) layers.push_back(*std::move(found));
        }
        for (std::size_t i = 0; i < g.nodes.size() && options_.claims_narrow; ++i) {
            if (!is_narrow_product(g, g.nodes[i])) continue;
            auto [found, reason] = find_layer(g, i, is_claimed);
            if (found) reason = reason_to_leave_narrow(g, *found, options_.claim == claim_policy::all);
            if (take(g, i, found, std::move(reason), is_claimed)) found_claims.push_back({found->nodes, {*found}});
        }
        group(g, std::move(layers), is_claimed, found_claims);
        for (std::size_t i = 0; i < g.nodes.size(); ++i) {
            const auto &n = g.nodes[i];
            if (!is_quantization(n) || is_claimed[i]) continue;
            const auto reason = reason_to_leave(g, n, is_claimed, options_.claim == claim_policy::all);
            if (reason.empty())
                found_claims.push_back({{i}, {}});
            else
                leave(n, reason);
        }
        // A graph is compiled before another one is asked about: names that two subgraphs share do not meet.
        claims_.clear();
        for (auto &c : found_claims) {
            add(g, handles, c, claims);
            claims_.emplace(y_of(g, c).name, std::move(c));
        }
        for (auto &v : g.values)
            if (v.known) v.known->data = nullptr; // its memory may be freed when this returns
        graph_ = claims_.empty() ? graph {} : std::move(g);
    }

    /// Whether a product's layer becomes one node: there is no reason against it. Its nodes then are claimed.
    bool take(const graph &g, std::size_t product, const std::optional<layer_match> &found, std::string reason,
            std::vector<bool> &is_claimed) const {
        if (found && !is_used(g.values[found->y])) reason = "nothing takes its y";
        if (!reason.empty()) {
            leave(g.nodes[product], reason);
            return false;
        }
        for (const auto index : found->nodes)
            is_claimed[index] = true;
        return true;
    }

    /// The layers whose rows have scales of their own, which nobody else reads.
    row_scales rows_of(const graph &g, std::size_t quantize, const std::vector<layer_match> &layers) const {
        auto rows = find_row_scales(g, quantize, layers);
        const auto is_by_row = [&](std::size_t i) { return layers[i].scales_by_row; };
        if (!wants_rows(g.nodes[quantize]) && !std::ranges::all_of(rows.layers, is_by_row)) rows.layers.clear();
        return rows;
    }

    /// Adds the layers to the claims: one by one, or several with what quantizes their x by rows, which is then
    /// claimed. A layer alone takes no scales of rows.
    void group(const graph &g, std::vector<layer_match> layers, std::vector<bool> &is_claimed,
            std::vector<claimed> &to) const {
        std::vector<bool> is_alone(layers.size(), true);
        for (std::size_t q = 0; q < g.nodes.size(); ++q) {
            if (g.nodes[q].op_type != quantizes) continue;
            const auto [readers, reason] = rows_of(g, q, layers);
            if (!reason.empty() && wants_rows(g.nodes[q]))
                say(concat("keeps one scale of ", describe(g.nodes[q]), ": ", reason));
            if (!reason.empty() || readers.empty()) continue;
            for (const auto i : readers)
                layers[i].scales_by_row = true;
            if (layers[readers.front()].quantize != none) continue;
            auto &c = to.emplace_back(claimed {{q}, {}});
            is_claimed[q] = true;
            for (const auto i : readers) {
                is_alone[i] = false;
                c.nodes.insert(c.nodes.end(), layers[i].nodes.begin(), layers[i].nodes.end());
                c.layers.push_back(layers[i]);
            }
            std::ranges::sort(c.nodes);
        }
        for (std::size_t i = 0; i < layers.size(); ++i) {
            auto &l = layers[i];
            if (!is_alone[i]) continue;
            if (l.scales_by_row && l.quantize == none) {
                leave(g.nodes[l.product], "its rows have scales of their own, which other nodes take, too");
                for (const auto index : l.nodes)
                    is_claimed[index] = false;
            } else {
                to.push_back({l.nodes, {l}});
            }
        }
    }

    bool wants_rows(const node &quantize) const {
        return options_.scales == activation_scales::per_row && quantize.is(quantizes);
    }

    void add(const graph &g, const std::vector<const OrtNode *> &handles, const claimed &c,
            OrtEpGraphSupportInfo &claims) const {
        std::vector<const OrtNode *> fused;
        std::string names;
        for (const auto index : c.nodes) {
            fused.push_back(handles[index]);
            names += concat(names.empty() ? "" : ", ", describe(g.nodes[index]));
        }
        OrtNodeFusionOptions fusion {};
        fusion.ort_version_supported = provider_api_version;
        fusion.drop_constant_initializers = !c.layers.empty(); // which layers copy
        check(api_, ep_api_.EpGraphSupportInfo_AddNodesToFuse(&claims, fused.data(), fused.size(), &fusion));
        say(concat("claims ", names));
    }

    void leave(const node &n, const std::string &reason) const { say(concat("leaves ", describe(n), ": ", reason)); }

    std::unique_ptr<fused_node> compile(const OrtGraph &from, const OrtNode &fused) {
        const compile_arguments args {
                api_, graph_, input_names(api_, fused), output_names(api_, fused), options_.threads};
        const auto is_claimed = [&](const std::string &name) { return claims_.contains(name); };
        const auto y = std::ranges::find_if(args.outputs, is_claimed);
        if (y == args.outputs.end())
            throw error(status::runtime_error, "internal error: expected a node that was claimed");
        const auto c = std::move(claims_.extract(*y).mapped());
        bind_constants(graph_, c, read_graph(api_, has_shape_, from, initializers_).view);
        freed_ = freed_ || !c.layers.empty();
        auto compiled = compile(args, c);
        if (claims_.empty()) graph_ = {};
        return compiled;
    }

    std::unique_ptr<fused_node> compile(const compile_arguments &a, const claimed &c) const {
        if (c.layers.empty()) return compile_node(a, graph_.nodes[c.nodes.front()]);
        if (c.layers.front().quantize == none && graph_.nodes[c.nodes.front()].op_type == quantizes)
            return compile_group(a, c.layers);
        const auto &l = c.layers.front();
        return l.dequantize != none ? compile_narrow(a, l, narrow_memory_) : compile_layer(a, l);
    }

    void say(const std::string &text) const {
        if (!options_.verbose) return;
        const auto line = concat("dynquant: ", text);
        constexpr const char *file = "library.cpp"; // ORT_FILE may have the folder of whoever compiles this
        check(api_, api_.Logger_LogMessage(logger_, ORT_LOGGING_LEVEL_WARNING, line.c_str(), file, __LINE__, "claim"));
    }

    const OrtApi &api_;
    const OrtEpApi &ep_api_;
    bool may_claim_;
    has_shape_function has_shape_;
    options options_;
    session_initializers initializers_;
    // What is not compiled yet, by y, of the graph that ONNX Runtime asked about last. Both are empty in between.
    std::map<std::string, claimed> claims_;
    graph graph_;
    const OrtLogger *logger_;
    bool freed_ = false;
    std::shared_ptr<narrow_memory_pool> narrow_memory_ = std::make_shared<narrow_memory_pool>();
};

class factory : public OrtEpFactory {
  public:
    factory(const OrtApi &of, const OrtApiBase &base)
        : OrtEpFactory {}
        , api_(of)
        , may_claim_(may_claim(base))
        , has_shape_(find_has_shape(base)) {
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
            return guarded(f.api_, [&] {
                *ep = std::make_unique<provider>(f.api_, f.may_claim_, f.has_shape_, *given, logger).release();
            });
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
    bool may_claim_;
    has_shape_function has_shape_;
};

} // namespace
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
