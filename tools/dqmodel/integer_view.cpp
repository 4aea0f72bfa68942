#include "integer_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "model/rescale.hpp"
#include "onnx/element_type.hpp"
#include "quantization/text.hpp"

namespace dqmodel {
namespace {

using namespace dynquant::models;
namespace type = dynquant::onnx::type;

const node *only_user(const graph &g, const std::string &value) {
    const auto at = std::find_if(g.nodes.begin(), g.nodes.end(),
            [&](const node &n) { return std::count(n.inputs.begin(), n.inputs.end(), value) > 0; });
    return at == g.nodes.end() ? nullptr : &*at;
}

const node *producer(const graph &g, const std::string &value) {
    const auto at = std::find_if(g.nodes.begin(), g.nodes.end(),
            [&](const node &n) { return std::count(n.outputs.begin(), n.outputs.end(), value) > 0; });
    return at == g.nodes.end() ? nullptr : &*at;
}

bool is_product(const node *n) {
    return n && (n->op_type == "MatMulInteger" || n->op_type == "ConvInteger");
}

/// The product whose sums, perhaps with a bias, the value is.
const node *product_of(const graph &g, const std::string &value) {
    const auto *n = producer(g, value);
    if (!n || n->op_type != "Add") return is_product(n) ? n : nullptr;
    for (const auto &input : n->inputs)
        if (const auto *p = producer(g, input); is_product(p)) return p;
    return nullptr;
}

const tensor *constant(const graph &g, const node &n) {
    for (const auto &input : n.inputs)
        if (const auto at = g.initializers.find(input); at != g.initializers.end()) return &at->second;
    return nullptr;
}

/// Whether QuantizeLinear only rounds: scale 1, zero point 0 of 8 bits.
bool only_rounds(const graph &g, const node &n) {
    if (n.inputs.size() < 2) return false;
    const auto scale = g.initializers.find(n.inputs[1]);
    if (scale == g.initializers.end() || scale->second.data.size() != sizeof(float)) return false;
    float value = 0;
    std::memcpy(&value, scale->second.data.data(), sizeof value);
    if (n.inputs.size() == 2 || n.inputs[2].empty()) return value == 1;
    const auto zero = g.initializers.find(n.inputs[2]);
    return value == 1 && zero != g.initializers.end() && zero->second.data == std::vector<std::byte>(1);
}

/// Follows the nodes from the sums to the results.
layer_rescaling rescaling_of(const graph &g, const node &cast, const node &product) {
    layer_rescaling l {dynquant::models::label(product), cast.inputs.front(), {}, {}, false, {}};
    const auto *n = only_user(g, cast.outputs.front());
    for (; n && (n->op_type == "Mul" || n->op_type == "Relu"); n = only_user(g, n->outputs.front())) {
        if (n->op_type == "Relu") {
            l.relu = true;
            continue;
        }
        const auto *multiplier = constant(g, *n);
        if (!multiplier || multiplier->what.type != type::float32) break;
        l.multipliers.push_back(multiplier);
    }
    if (!n || n->op_type != "QuantizeLinear" || !only_rounds(g, *n))
        l.without = "its rescaled values are not rounded to 8 bits by a QuantizeLinear of scale 1 and zero point 0";
    else
        l.result = n->outputs.front();
    return l;
}

/// An exact product of multipliers as an integer and a shift.
struct integer_rescale {
    std::int64_t integer = 1;
    int shift = 0;
};

void multiply(integer_rescale &r, float multiplier) {
    int exponent = 0;
    auto integer = static_cast<std::int64_t>(std::ldexp(std::frexp(multiplier, &exponent), 24));
    int shift = 24 - exponent;
    for (; integer != 0 && integer % 2 == 0 && shift > 0; --shift)
        integer /= 2;
    const bool fits = std::isfinite(multiplier) && shift >= 0
            && (integer == 0 || std::abs(r.integer) <= largest_quant_scale / std::abs(integer));
    if (!fits) throw std::runtime_error("its multipliers are no integer of 24 bits and a right shift");
    r.integer *= integer;
    r.shift += shift;
}

/// Of elements in row-major order, that of a constant which is broadcast to them.
class broadcast {
  public:
    broadcast(const tensor &t, const dynquant::dims &shape)
        : data_(t.data.data())
        , shape_(shape)
        , strides_(shape.size()) {
        std::int64_t stride = 1;
        const auto &own = t.what.shape;
        for (std::size_t d = 0; d < own.size(); ++d) {
            const auto extent = own[own.size() - 1 - d];
            if (d < shape.size()) strides_[shape.size() - 1 - d] = extent == 1 ? 0 : stride;
            stride *= extent;
        }
    }

    float at(std::int64_t i) const {
        std::int64_t from = 0;
        for (auto d = shape_.size(); d-- > 0; i /= shape_[d])
            from += i % shape_[d] * strides_[d];
        float value = 0;
        std::memcpy(&value, data_ + from * std::int64_t {sizeof value}, sizeof value);
        return value;
    }

  private:
    const std::byte *data_;
    const dynquant::dims &shape_;
    dynquant::dims strides_;
};

} // namespace

std::int64_t shifted(std::int32_t sum, std::int64_t integer, int shift) {
    const auto product = sum * integer;
    if (shift >= 62) return 0; // of at most 2^55: less than half
    const auto floor = product >> shift, rest = product - (floor << shift), half = (std::int64_t {1} << shift) / 2;
    return floor + (rest > half || (rest == half && half > 0 && floor % 2 != 0) ? 1 : 0);
}

std::vector<layer_rescaling> rescalings_of(const graph &g) {
    std::vector<layer_rescaling> result;
    for (const auto &n : g.nodes)
        if (n.op_type == "Cast")
            if (const auto *product = product_of(g, n.inputs.front())) result.push_back(rescaling_of(g, n, *product));
    return result;
}

integer_differences compare_with_integers(const layer_rescaling &l, const dynquant::dims &shape,
        const std::int32_t *sums, const void *result, bool is_unsigned) {
    integer_differences d;
    d.of = 1;
    for (const auto extent : shape)
        d.of *= extent;
    std::vector<broadcast> multipliers;
    multipliers.reserve(l.multipliers.size());
    for (const auto *m : l.multipliers)
        multipliers.emplace_back(*m, shape);
    const std::int64_t lowest = is_unsigned || l.relu ? 0 : -128, highest = is_unsigned ? 255 : 127;
    for (std::int64_t i = 0; i < d.of; ++i) {
        integer_rescale r;
        for (const auto &m : multipliers)
            multiply(r, m.at(i));
        const auto given = std::clamp(shifted(sums[i], r.integer, r.shift), lowest, highest);
        const std::int64_t expected = is_unsigned ? static_cast<const std::uint8_t *>(result)[i]
                                                  : static_cast<const std::int8_t *>(result)[i];
        d.count += given != expected;
        d.largest = std::max(d.largest, std::abs(given - expected));
    }
    return d;
}

} // namespace dqmodel
