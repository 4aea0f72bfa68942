// The public API.
#include "dynquant/model.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "model/executor.hpp"
#include "model/file.hpp"
#include "model/fused_stages.hpp"
#include "model/infer.hpp"
#include "model/plain_stages.hpp"
#include "model/refusal.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "parallel/executor.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant {
namespace {

std::vector<model_port> ports_of(const std::vector<models::port> &ports) {
    std::vector<model_port> result;
    result.reserve(ports.size());
    for (const auto &p : ports)
        result.push_back({p.name, p.type, *p.shape});
    return result;
}

std::vector<model_stage> descriptions_of(const std::vector<models::placed_stage> &stages) {
    std::vector<model_stage> result;
    result.reserve(stages.size());
    for (const auto &s : stages)
        result.push_back(s.description);
    return result;
}

template <typename Pointer>
void check_buffers(const char *what, const std::vector<Pointer> &given, const std::vector<model_port> &ports) {
    if (given.size() != ports.size())
        models::refuse(status::invalid_arguments, what, "s: expected ", ports.size(), " buffers, given ", given.size());
    for (std::size_t i = 0; i < ports.size(); ++i)
        if (!given[i] && volume(ports[i].shape) != 0)
            models::refuse(
                    status::invalid_arguments, what, " '", ports[i].name, "': expected a buffer, given a null pointer");
}

/// Checks the thread counts and limits them to those of the machine.
model_options checked(model_options opts) {
    for (auto [what, threads] : {std::pair {"threads", &opts.threads}, {"kernel.threads", &opts.kernel.threads}}) {
        if (*threads < 0) models::refuse(status::invalid_arguments, what, ": expected 0 or more, given ", *threads);
        *threads = std::min(*threads, parallel::machine_threads());
    }
    return opts;
}

models::graph read(std::string_view bytes, const model_options &opts) {
    auto g = models::read(bytes, opts.folder);
    models::inline_constants(g);
    models::infer(g, opts.shapes);
    return g;
}

std::vector<models::placed_stage> prepare(const models::graph &g, const model_options &opts) {
    auto kernel = opts.kernel;
    if (kernel.threads == 0) kernel.threads = opts.threads;
    return opts.fuse ? models::fused_stages(g, kernel) : models::plain_stages(g, kernel);
}

/// Runs dynquant's loops on oneDNN's OpenMP threads, where it has them, so that two pools do not compete.
void share_threads_with_onednn() {
    if (dnnl_version()->cpu_runtime == DNNL_RUNTIME_OMP)
        parallel::run_on_openmp(reinterpret_cast<const void *>(dnnl_version));
}

} // namespace

class model::implementation {
  public:
    implementation(const models::graph &g, std::vector<models::placed_stage> stages, int threads)
        : inputs(ports_of(g.inputs))
        , outputs(ports_of(g.outputs))
        , descriptions(descriptions_of(stages))
        , runs(std::move(stages), g, threads) {}

    /// Throws error for an empty model.
    static const implementation &of(const model &m) {
        if (!m.impl_) throw error(status::invalid_arguments, "model: expected one that was loaded, given an empty one");
        return *m.impl_;
    }

    const std::vector<model_port> inputs, outputs;
    const std::vector<model_stage> descriptions;
    const models::executor runs;
};

model model::load(const std::string &path, const model_options &opts) {
    auto given = opts;
    if (given.folder.empty()) given.folder = models::folder_of(path);
    return parse(models::bytes_of_file(path), path, given);
}

model model::parse(std::string_view bytes, const std::string &name, const model_options &opts) {
    const auto given = checked(opts);
    share_threads_with_onednn();
    return models::prefix_errors(name, [&] {
        try {
            std::shared_ptr<const implementation> impl;
            parallel::run_controlled([&] { // folded constants and tables of activations are results
                const auto g = read(bytes, given);
                impl = std::make_shared<const implementation>(g, prepare(g, given), given.threads);
            });
            return model(impl);
        } catch (const std::bad_alloc &) {
            throw error(status::out_of_memory, "expected a model for which there is memory, given a larger one");
        }
    });
}

const std::vector<model_port> &model::inputs() const {
    return implementation::of(*this).inputs;
}

const std::vector<model_port> &model::outputs() const {
    return implementation::of(*this).outputs;
}

const std::vector<model_stage> &model::stages() const {
    return implementation::of(*this).descriptions;
}

void model::run(const std::vector<const void *> &inputs, const std::vector<void *> &outputs) const {
    const auto &of = implementation::of(*this);
    check_buffers("input", inputs, of.inputs);
    check_buffers("output", outputs, of.outputs);
    of.runs.run(inputs, outputs);
}

} // namespace dynquant
