#include "layers/chain_program.hpp"

#include "text_parsing.hpp"

namespace dqbench::layers {
namespace {

using attr = dnnl::graph::op::attr;

/// Of the ops that chain_graph takes.
attr attribute_named(const std::string &name) {
    static const std::map<std::string, attr> all {{"alpha", attr::alpha}, {"auto_broadcast", attr::auto_broadcast},
            {"auto_pad", attr::auto_pad}, {"axis", attr::axis}, {"beta", attr::beta},
            {"data_format", attr::data_format}, {"dilations", attr::dilations},
            {"group_shape", dynquant::graph::newer::group_shape}, {"groups", attr::groups}, {"max", attr::max},
            {"min", attr::min}, {"pads_begin", attr::pads_begin}, {"pads_end", attr::pads_end},
            {"per_channel_broadcast", attr::per_channel_broadcast}, {"qtype", attr::qtype}, {"scales", attr::scales},
            {"strides", attr::strides}, {"transpose_a", attr::transpose_a}, {"transpose_b", attr::transpose_b},
            {"weights_format", attr::weights_format}, {"zps", attr::zps}};
    return all.at(name);
}

} // namespace

dnnl::graph::op::kind kind_of(const json_graph::op &o) {
    using kind = dnnl::graph::op::kind;
    static const std::map<std::string, kind> all {{"Add", kind::Add}, {"BiasAdd", kind::BiasAdd},
            {"Clamp", kind::Clamp}, {"Convolution", kind::Convolution}, {"Dequantize", kind::Dequantize},
            {"Divide", kind::Divide}, {"DynamicDequantize", kind::DynamicDequantize},
            {"DynamicQuantize", kind::DynamicQuantize}, {"HardSigmoid", kind::HardSigmoid},
            {"HardSwish", kind::HardSwish}, {"LeakyReLU", kind::LeakyReLU}, {"MatMul", kind::MatMul},
            {"Multiply", kind::Multiply}, {"PReLU", kind::PReLU}, {"Quantize", kind::Quantize}, {"ReLU", kind::ReLU},
            {"Subtract", kind::Subtract}};
    return all.at(o.kind);
}

logical_tensor logical_tensor_of(const json_graph::tensor &t) {
    using type = logical_tensor::data_type;
    using property = logical_tensor::property_type;
    static const std::map<std::string, type> types {{"f32", type::f32}, {"s32", type::s32}, {"s8", type::s8},
            {"u8", type::u8}, {"s4", dynquant::graph::newer::s4}, {"u4", dynquant::graph::newer::u4}};
    const auto which = t.property == "constant" ? property::constant
            : t.property == "variable"          ? property::variable
                                                : property::undef;
    return {t.id, types.at(t.type), *t.extents, *t.strides, which};
}

template <typename Op>
void set_attributes(Op &to, const json_graph::op &o) {
    for (const auto &[name, text] : o.attributes) {
        if (name == "group_shape" && o.attributes.at("qtype") != "per_group") continue;
        const auto which = attribute_named(name);
        if (name == "qtype") {
            to.set_attr(which, text);
        } else if (name == "axis") {
            to.set_attr(which, std::int64_t {parse_integer(text, INT64_MIN, INT64_MAX)});
        } else if (name == "scales") {
            std::vector<float> values;
            for (const auto &each : split(text, 'x'))
                values.push_back(parse_f32(each));
            to.set_attr(which, values);
        } else {
            std::vector<std::int64_t> values;
            for (const auto &each : split(text, 'x'))
                values.push_back(parse_integer(each, INT64_MIN, INT64_MAX));
            to.set_attr(which, values);
        }
    }
    for (const auto &[name, value] : o.others) {
        if (name == "matched_pattern") continue; // oneDNN's own note
        const auto which = attribute_named(name);
        if (value.type == "string")
            to.set_attr(which, value.text);
        else if (value.type == "bool")
            to.set_attr(which, value.numbers.front() != 0);
        else if (value.type == "s64")
            to.set_attr(which, static_cast<std::int64_t>(value.numbers.front()));
        else if (value.type == "s64[]")
            to.set_attr(which, std::vector<std::int64_t>(value.numbers.begin(), value.numbers.end()));
        else
            to.set_attr(which, static_cast<float>(value.numbers.front()));
    }
}

template void set_attributes(with_dynquant::op &to, const json_graph::op &o);
template void set_attributes(with_onednn::op &to, const json_graph::op &o);

} // namespace dqbench::layers
