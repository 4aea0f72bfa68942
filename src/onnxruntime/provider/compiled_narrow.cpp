#include "onnxruntime/provider/compiled_narrow.hpp"

#include <utility>

#include "layers/match/describe.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/common/threads.hpp"
#include "quantization/environment.hpp"

namespace dynquant::onnxruntime {

compiled_narrow::compiled_narrow(const OrtApi &api, const graph &g, const layers::match::layer_match &m,
        const std::vector<std::string> &inputs, int threads, std::shared_ptr<narrow_memory_pool> memory)
    : api_(api)
    , threads_(threads)
    , layer_(describe_narrow(g, m), environment::usable_features())
    , x_input_(index_of(g, m.x, inputs))
    , idle_(std::move(memory)) {
    // An invalid node is refused when the session is created.
    if (const auto &shape = g.values[m.x].shape; is_known(shape)) layer_.y_of(*shape);
}

void compiled_narrow::compute(OrtKernelContext &context) {
    const session_threads threads(api_, &context, threads_);
    const auto &x = *input_of(api_, context, x_input_);
    const dims shape(shape_of(api_, x));
    auto *const y = static_cast<float *>(make_output(api_, context, 0, layer_.y_of(shape)));
    auto memory = idle_->take([] { return std::make_unique<layers::narrow_layer::memory>(); });
    layer_.run(static_cast<const float *>(data_of(api_, x)), shape, y, *memory);
    idle_->give_back(std::move(memory));
}

} // namespace dynquant::onnxruntime
