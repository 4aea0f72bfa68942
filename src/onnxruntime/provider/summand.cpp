#include "onnxruntime/provider/summand.hpp"

#include "quantization/broadcast.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

const void *repeated(
        const void *from, const dims &shape, const dims &to, std::size_t bytes, std::vector<std::byte> &memory) {
    auto *const data = layers::workspace::ensure_size(memory, static_cast<std::size_t>(volume(to).value()) * bytes);
    copy_strided(static_cast<const std::byte *>(from), broadcast_strides(shape, to), to, bytes, data);
    return data;
}

} // namespace

dims unequal_summands::repeat(layers::layer_arguments &args, repeated_operands &memory) const {
    const auto sum = broadcast_shape(y, tensor);
    if (!sum || (keeps_shape ? *sum != y : sum->back() != y.back()))
        throw error(status::invalid_shape,
                concat(label, ": expected what is added to its y of shape ", to_string(y),
                        " to broadcast with it, given shape ", to_string(tensor)));
    if (tensor != *sum)
        args.tensor = static_cast<const float *>(repeated(args.tensor, tensor, *sum, sizeof(float), memory.tensor));
    if (*sum == y) return x;
    auto of_sum = *sum;
    of_sum.back() = x.back();
    if (x_has_heads) of_sum = {(*sum)[0], x[1], (*sum)[1], x[3]};
    args.x = repeated(args.x, x, of_sum, x_bytes, memory.x);
    return of_sum;
}

} // namespace dynquant::onnxruntime
