#include "layers/chain_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <set>

#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench::layers {

using dynquant::concat;
using dynquant::dims;
using json_graph::op;
using json_graph::tensor;

namespace {

// Attributes of other ops that the oracle knows, or that oneDNN's dumps have and that say nothing of values.
const std::map<std::string, std::set<std::string>> known_attributes {{"Add", {"auto_broadcast"}},
        {"BiasAdd", {"data_format"}}, {"Clamp", {"min", "max"}},
        {"Convolution",
                {"auto_pad", "data_format", "dilations", "groups", "pads_begin", "pads_end", "strides",
                        "weights_format"}},
        {"Divide", {"auto_broadcast"}}, {"HardSigmoid", {"alpha", "beta"}}, {"HardSwish", {}}, {"LeakyReLU", {"alpha"}},
        {"MatMul", {"transpose_a", "transpose_b"}}, {"Multiply", {"auto_broadcast"}},
        {"PReLU", {"data_format", "per_channel_broadcast"}}, {"ReLU", {}}, {"Subtract", {"auto_broadcast"}}};

bool is_product(const op &o) {
    return o.kind == "MatMul" || o.kind == "Convolution";
}

bool is_of_two_sides(const op &o) {
    return o.kind == "Add" || o.kind == "BiasAdd" || o.kind == "Divide" || o.kind == "Multiply" || o.kind == "PReLU"
            || o.kind == "Subtract";
}

[[noreturn]] void refuse(const op &o, const auto &...text) {
    throw not_supported(concat(describe(o), ": ", text...));
}

bool has(const op &o, const char *name) {
    const auto found = o.others.find(name);
    return found != o.others.end() && !found->second.numbers.empty() && found->second.numbers.front() != 0;
}

/// "" where an op does not have the attribute.
std::string word(const op &o, const char *name) {
    const auto found = o.others.find(name);
    return found == o.others.end() ? "" : found->second.text;
}

std::vector<std::int64_t> numbers(const op &o, const char *name) {
    const auto found = o.others.find(name);
    if (found == o.others.end()) return {};
    return {found->second.numbers.begin(), found->second.numbers.end()};
}

oracle::convolution_attributes attributes_of(const op &o) {
    oracle::convolution_attributes a;
    a.is_ncx = word(o, "data_format") == "NCX";
    a.is_oix = word(o, "weights_format") == "OIX";
    if (const auto groups = numbers(o, "groups"); !groups.empty()) a.groups = groups.front();
    if (const auto mode = word(o, "auto_pad"); !mode.empty()) a.auto_pad = mode;
    a.strides = numbers(o, "strides");
    a.dilations = numbers(o, "dilations");
    if (a.auto_pad == "VALID") return a;
    a.pads = numbers(o, "pads_begin");
    const auto end = numbers(o, "pads_end");
    a.pads.insert(a.pads.end(), end.begin(), end.end());
    return a;
}

/// Whether the second input is a vector for the channels of a src that has them before space.
bool has_vector_of_ncx(const op &o) {
    const bool takes_vectors = o.kind == "BiasAdd" || o.kind == "PReLU";
    return takes_vectors && o.inputs[1].extents->size() == 1 && o.inputs[0].extents->size() > 2
            && word(o, "data_format") == "NCX";
}

dims vector_of_ncx(const op &o) {
    dims result(o.inputs[0].extents->size() - 1, 1);
    result.front() = o.inputs[1].extents->front();
    return result;
}

float number(const op &o, const char *name) {
    return static_cast<float>(o.others.at(name).numbers.at(0));
}

std::string text(const op &o, const std::string &name, const std::string &otherwise) {
    const auto found = o.attributes.find(name);
    return found == o.attributes.end() ? otherwise : found->second;
}

/// The dim along which scales differ; -1: none.
std::int64_t axis_of(const op &o) {
    if (text(o, "qtype", "per_tensor") != "per_channel") return -1;
    const auto rank = std::ssize(*o.inputs.front().extents);
    auto axis = parse_integer(text(o, "axis", "1"), -rank, rank - 1);
    return axis < 0 ? axis + rank : axis;
}

/// The extents of a group; empty unless scales differ from group to group.
dims groups_of(const op &o) {
    dims result;
    if (text(o, "qtype", "") == "per_group")
        for (const auto &each : split(text(o, "group_shape", ""), 'x'))
            result.push_back(parse_integer(each, 1, INT64_MAX));
    return result;
}

/// The dims of an op's scales and zps.
dims parameter_dims_of(const op &o) {
    const auto &extents = *o.inputs.front().extents;
    auto result = groups_of(o);
    if (!result.empty() && result.size() != extents.size())
        refuse(o, "expected group_shape of ", extents.size(), " extents, given ", result.size());
    for (std::size_t d = 0; d < result.size(); ++d)
        result[d] = (extents[d] + result[d] - 1) / result[d];
    if (!result.empty()) return result;
    const auto axis = axis_of(o);
    return {axis < 0 ? 1 : extents[static_cast<std::size_t>(axis)]};
}

void require_known(const op &o) {
    if (o.supported_kind) {
        if (o.attributes.count("mask")) refuse(o, "attribute mask");
    } else {
        const auto known = known_attributes.find(o.kind);
        if (known == known_attributes.end()) refuse(o, "dqbench has no oracle of it");
        for (const auto &[name, value] : o.others) {
            if (name == "matched_pattern") continue;
            if (!known->second.count(name) || value.type.empty()) refuse(o, "attribute ", name);
            const bool are_equal = o.inputs.size() == 2 && o.inputs[0].extents == o.inputs[1].extents;
            if (name == "auto_broadcast" && value.text != "numpy" && !are_equal)
                refuse(o, "auto_broadcast ", value.text, " of other dims");
        }
    }
    static const std::map<std::string, std::vector<std::string>> required {
            {"Clamp", {"min", "max"}}, {"HardSigmoid", {"alpha", "beta"}}, {"LeakyReLU", {"alpha"}}};
    if (const auto names = required.find(o.kind); names != required.end())
        for (const auto &name : names->second)
            if (const auto found = o.others.find(name); found == o.others.end() || found->second.type != "f32")
                refuse(o, "expected the attribute ", name, " of f32");
    const auto require = [&](const tensor &t, std::initializer_list<const char *> types) {
        if (std::ranges::none_of(types, [&](const char *type) { return t.type == type; }))
            refuse(o, "tensor ", t.id, " of ", t.type);
    };
    const bool is_dynamic = o.kind == "DynamicQuantize" || o.kind == "DynamicDequantize";
    for (std::size_t i = 0; i < o.inputs.size(); ++i)
        if (i == 0 && is_dequantize(o))
            require(o.inputs[i], {"s8", "u8", "s4", "u4"});
        else if (i == 2 && is_dynamic)
            require(o.inputs[i], {"s32", "s8", "u8", "s4", "u4"});
        else
            require(o.inputs[i], {"f32"});
    for (const auto &t : o.outputs)
        is_quantize(o) ? require(t, {"s8", "u8"}) : require(t, {"f32"});
    const std::size_t least = is_product(o) || is_of_two_sides(o) || is_dynamic ? 2 : 1;
    const std::size_t most = is_product(o) || is_dynamic ? 3 : least;
    if (o.inputs.size() < least || o.inputs.size() > most || o.outputs.size() != 1)
        refuse(o, o.inputs.size(), " inputs and ", o.outputs.size(), " outputs");
}

/// Producers before consumers.
std::vector<op> in_order(const std::vector<op> &ops) {
    std::set<std::uint64_t> made;
    for (const auto &o : ops)
        for (const auto &t : o.outputs)
            made.insert(t.id);
    std::vector<op> result;
    std::vector<bool> is_taken(ops.size());
    while (result.size() < ops.size()) {
        const auto before = result.size();
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const auto waits = [&](const tensor &t) { return made.count(t.id) != 0; };
            if (is_taken[i] || std::ranges::any_of(ops[i].inputs, waits)) continue;
            is_taken[i] = true;
            for (const auto &t : ops[i].outputs)
                made.erase(t.id);
            result.push_back(ops[i]);
        }
        if (result.size() == before) throw not_supported("the ops form a cycle");
    }
    return result;
}

dims matrix_product(const op &o) {
    auto x = *o.inputs[0].extents, w = *o.inputs[1].extents;
    if (x.size() < 2 || w.size() < 2) refuse(o, "rank ", std::min(x.size(), w.size()));
    if (has(o, "transpose_a")) std::swap(x.end()[-1], x.end()[-2]);
    if (has(o, "transpose_b")) std::swap(w.end()[-1], w.end()[-2]);
    if (x.back() != w.end()[-2])
        refuse(o, "expected as many columns of src as rows of weights, given ", x.back(), " and ", w.end()[-2]);
    auto result = oracle::broadcast({x.begin(), x.end() - 2}, {w.begin(), w.end() - 2});
    result.insert(result.end(), {x.end()[-2], w.back()});
    return result;
}

dims convolution(const op &o) {
    const auto &x = *o.inputs[0].extents, &w = *o.inputs[1].extents;
    const auto a = attributes_of(o);
    const auto space = x.size() - 2;
    if (x.size() < 3 || a.groups < 1 || a.strides.size() != space || a.dilations.size() != space
            || (!a.pads.empty() && a.pads.size() != 2 * space) || !oracle::fits(a, x, w))
        refuse(o, "expected attributes and weights that fit src of ", dynquant::to_string(x), ", given weights of ",
                dynquant::to_string(w));
    return oracle::extents_of(a, x, w);
}

/// A list of attributes in the syntax of --op-attrs, repeated cyclically.
std::string repeated(const std::string &list, std::int64_t count, const char *otherwise) {
    const auto values = split(list, 'x');
    std::string result;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        result += concat(i == 0 ? "" : "x", otherwise && at >= values.size() ? otherwise : values[at % values.size()]);
    }
    return result;
}

void set_dense(tensor &t, const dims &extents) {
    t.extents = extents;
    t.strides = dynquant::row_major(extents);
    t.layout = "strided";
}

/// Sets the shapes of the inputs that are parameters and of the outputs.
void infer(op &o) {
    auto &src = o.inputs.front();
    if (o.supported_kind) {
        const auto counts = parameter_dims_of(o);
        const auto count = *dynquant::volume(counts);
        for (std::size_t i = 1; i < o.inputs.size(); ++i)
            set_dense(o.inputs[i], counts);
        for (const auto &[name, otherwise] : {std::pair<const char *, const char *> {"scales", nullptr}, {"zps", "0"}})
            if (const auto list = text(o, name, ""); !list.empty())
                o.attributes[name] = repeated(list, count, count > 1 ? otherwise : nullptr);
        set_dense(o.outputs.front(), *src.extents);
    } else if (o.kind == "MatMul") {
        set_dense(o.outputs.front(), matrix_product(o));
    } else if (o.kind == "Convolution") {
        set_dense(o.outputs.front(), convolution(o));
    } else if (is_of_two_sides(o)) {
        const auto other = has_vector_of_ncx(o) ? vector_of_ncx(o) : *o.inputs[1].extents;
        const auto result = oracle::broadcast(*src.extents, other);
        for (const auto &side : {*src.extents, other})
            for (std::size_t d = 0; d < side.size(); ++d)
                if (const auto extent = side[side.size() - 1 - d];
                        extent != 1 && extent != result[result.size() - 1 - d])
                    refuse(o, "expected dims that broadcast, given ", dynquant::to_string(*src.extents), " and ",
                            dynquant::to_string(*o.inputs[1].extents));
        set_dense(o.outputs.front(), result);
    } else {
        set_dense(o.outputs.front(), *src.extents);
    }
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T> &values) {
    std::vector<std::byte> result(values.size() * sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), values.data(), result.size());
    return result;
}

template <typename T>
std::vector<T> values_of(const std::vector<std::byte> &bytes) {
    std::vector<T> result(bytes.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
}

bool has_4_bits(const std::string &type) {
    return type == "s4" || type == "u4";
}

std::vector<std::int64_t> integers_of(const tensor &t, const std::vector<std::byte> &bytes) {
    const auto &type = t.type;
    if (has_4_bits(type)) { // the first of two in the low half
        std::vector<std::int64_t> result;
        for (std::int64_t i = 0; i < *dynquant::volume(*t.extents); ++i) {
            const auto code = std::to_integer<std::int64_t>(bytes[static_cast<std::size_t>(i / 2)]) >> i % 2 * 4 & 15;
            result.push_back(type == "s4" && code > 7 ? code - 16 : code);
        }
        return result;
    }
    const auto as = [&](auto zero) {
        const auto values = values_of<decltype(zero)>(bytes);
        return std::vector<std::int64_t>(values.begin(), values.end());
    };
    if (type == "s8") return as(std::int8_t {});
    if (type == "u8") return as(std::uint8_t {});
    return as(std::int32_t {});
}

std::vector<std::byte> bytes_of_integers(const std::string &type, const std::vector<std::int64_t> &values) {
    if (type == "s32") return bytes_of(std::vector<std::int32_t>(values.begin(), values.end()));
    if (has_4_bits(type)) {
        std::vector<std::byte> result((values.size() + 1) / 2);
        for (std::size_t i = 0; i < values.size(); ++i)
            result[i / 2] |= static_cast<std::byte>((values[i] & 15) << i % 2 * 4);
        return result;
    }
    return bytes_of(std::vector<std::uint8_t>(values.begin(), values.end()));
}

std::pair<std::int64_t, std::int64_t> range_of(const std::string &type) {
    const std::int64_t count = has_4_bits(type) ? 16 : 256, least = type.front() == 'u' ? 0 : -count / 2;
    return {least, least + count - 1};
}

oracle::along_axis parameters_of(const op &o, const buffers &data) {
    oracle::along_axis result;
    result.axis = axis_of(o);
    result.groups = groups_of(o);
    if (o.inputs.size() > 1) {
        result.scales = values_of<float>(data.at(o.inputs[1].id));
        if (o.inputs.size() > 2) result.zero_points = integers_of(o.inputs[2], data.at(o.inputs[2].id));
        return result;
    }
    for (const auto &each : split(text(o, "scales", ""), 'x'))
        result.scales.push_back(parse_f32(each));
    if (const auto zps = text(o, "zps", ""); !zps.empty())
        for (const auto &each : split(zps, 'x'))
            result.zero_points.push_back(parse_integer(each, -(1 << 20), 1 << 20));
    return result;
}

/// Draws the inputs of one graph, ports in order, so that a graph's are the same at each run.
class drawer {
  public:
    explicit drawer(std::int64_t amplitude)
        : amplitude_(amplitude) {}

    void draw(const op &o, std::size_t port, const std::string &integers, buffers &data) {
        const auto &t = o.inputs[port];
        const auto count = *dynquant::volume(*t.extents);
        if (o.supported_kind && port == 1)
            data[t.id] = bytes_of(floats(count, 0x1p-8F, 0x1p-7F));
        else if (o.supported_kind && port == 2)
            data[t.id] = bytes_of_integers(t.type, draw_zero_points(integers, count));
        else if (is_dequantize(o))
            data[t.id] = bytes_of_integers(t.type, draw_codes(o, count, parameters_of(o, data)));
        else if (is_quantize(o))
            data[t.id] = bytes_of(floats(count, -128 * largest(o, data), 128 * largest(o, data)));
        else
            data[t.id] = bytes_of(signed_floats(count));
    }

  private:
    std::int64_t within(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(most - least + 1));
    }
    std::vector<float> floats(std::int64_t count, float least, float most) {
        std::vector<float> result;
        for (std::int64_t i = 0; i < count; ++i)
            result.push_back(least + (most - least) * static_cast<float>(within(0, 1 << 23)) * 0x1p-23F);
        return result;
    }
    /// Of 0.5 to 2, so that nothing is divided by 0.
    std::vector<float> signed_floats(std::int64_t count) {
        auto result = floats(count, 0.5F, 2);
        for (auto &v : result)
            if (within(0, 1) == 1) v = -v;
        return result;
    }
    static float largest(const op &o, const buffers &data) {
        const auto scales = parameters_of(o, data).scales;
        return *std::ranges::max_element(scales);
    }
    std::vector<std::int64_t> draw_zero_points(const std::string &integers, std::int64_t count) {
        std::vector<std::int64_t> result;
        for (std::int64_t i = 0; i < count; ++i)
            result.push_back(has_4_bits(integers) ? within(-3, 3) + (integers == "u4" ? 8 : 0)
                            : integers == "u8"    ? within(100, 150)
                                                  : within(-20, 20));
        return result;
    }
    std::vector<std::int64_t> draw_codes(const op &o, std::int64_t count, const oracle::along_axis &p) {
        const auto [least, most] = range_of(o.inputs.front().type);
        std::vector<std::int64_t> result;
        for (std::int64_t i = 0; i < count; ++i)
            result.push_back(std::clamp(
                    p.zero_point_of(i, *o.inputs.front().extents) + within(-amplitude_, amplitude_), least, most));
        return result;
    }

    std::mt19937_64 bits_ {1};
    std::int64_t amplitude_;
};

} // namespace

bool is_quantize(const op &o) {
    return o.kind == "Quantize" || o.kind == "DynamicQuantize";
}

bool is_dequantize(const op &o) {
    return o.kind == "Dequantize" || o.kind == "DynamicDequantize";
}

chain_graph::chain_graph(json_graph::graph from)
    : g(std::move(from))
    , product(0) {
    g.ops = in_order(g.ops);
    std::map<std::uint64_t, tensor> tensors;
    std::set<std::uint64_t> read;
    std::map<std::uint64_t, const op *> producers;
    bool has_product = false;
    for (auto &o : g.ops) {
        require_known(o);
        for (auto &t : o.inputs) {
            read.insert(t.id);
            if (const auto made = tensors.find(t.id); made != tensors.end()) {
                t = made->second;
                continue;
            }
            if (o.supported_kind && &t != &o.inputs.front()) continue; // infer() says what they are
            if (!t.extents) refuse(o, "the dims of tensor ", t.id, " are unknown: give them by --in-shapes");
            if (std::ranges::count(*t.extents, 0) != 0)
                refuse(o, "expected dims from 1 on, given ", dynquant::to_string(*t.extents));
            set_dense(t, *t.extents);
        }
        infer(o);
        for (auto &t : o.inputs)
            if (tensors.emplace(t.id, t).second)
                inputs.push_back(t);
            else if (tensors.at(t.id).extents != t.extents)
                refuse(o, "tensor ", t.id, " has other dims elsewhere");
        for (const auto &t : o.outputs) {
            tensors.emplace(t.id, t);
            producers[t.id] = &o;
        }
        if (!is_product(o)) continue;
        if (has_product) refuse(o, "the graph has another MatMul or Convolution");
        has_product = true;
        product = o.id;
        has_float_x = o.kind == "MatMul" && !producers.count(o.inputs[0].id) && producers.count(o.inputs[1].id);
        for (const std::size_t side : {0U, 1U}) {
            if (has_float_x && side == 0) continue;
            const auto made = producers.find(o.inputs[side].id);
            if (made == producers.end() || !is_dequantize(*made->second))
                refuse(o, side == 0 ? "src" : "weights", " is not the result of Dequantize");
            if (has_float_x) continue;
            if (!groups_of(*made->second).empty()) refuse(*made->second, "qtype per_group, beside integers");
            if (has_4_bits(made->second->inputs.front().type)) refuse(*made->second, "4 bits, beside integers");
            const auto axis = axis_of(*made->second), rank = std::ssize(*o.inputs[side].extents);
            const auto of_filters = attributes_of(o).is_oix ? 0 : rank - 1;
            const bool is_transposed = has(o, side == 0 ? "transpose_a" : "transpose_b");
            if (o.kind == "MatMul" ? axis == rank - ((side == 0) == is_transposed ? 2 : 1)
                                   : axis >= 0 && axis != (side == 0 ? 0 : of_filters))
                refuse(*made->second, "scales differ along a dim that ", o.kind, " sums");
        }
    }
    if (!has_product) throw not_supported("there is no MatMul and no Convolution");
    for (const auto &o : g.ops)
        for (const auto &t : o.outputs)
            if (!read.count(t.id)) outputs.push_back(t);
}

void chain_graph::set_weights(const std::string &property) {
    std::uint64_t dequantized = 0, weights = 0;
    for (const auto &o : g.ops)
        if (o.id == product) dequantized = o.inputs[1].id;
    for (const auto &o : g.ops)
        if (o.outputs.front().id == dequantized) weights = o.inputs.front().id;
    for (auto &o : g.ops)
        for (auto &t : o.inputs)
            if (t.id == weights) t.property = property;
    for (auto &t : inputs)
        if (t.id == weights) t.property = property;
}

buffers chain_graph::draw(std::int64_t amplitude) const {
    buffers data;
    drawer from(amplitude);
    std::set<std::uint64_t> made;
    for (const auto &o : g.ops) {
        const auto integers = is_dequantize(o) ? o.inputs.front().type : o.outputs.front().type;
        for (std::size_t i = o.inputs.size(); i-- > 0;) // parameters first
            if (const auto id = o.inputs[i].id; !made.count(id) && !data.count(id)) from.draw(o, i, integers, data);
        made.insert(o.outputs.front().id);
    }
    return data;
}

std::map<std::uint64_t, chain_graph::value> chain_graph::expected(const buffers &data) const {
    std::map<std::uint64_t, value> values;
    for (const auto &t : inputs) {
        if (t.type == "f32") {
            values[t.id].reals = oracle::exact(*t.extents, values_of<float>(data.at(t.id)));
        } else {
            auto codes = integers_of(t, data.at(t.id));
            values[t.id].codes = {*t.extents, codes, codes, codes};
        }
    }
    std::map<std::uint64_t, const op *> producers;
    for (const auto &o : g.ops) {
        producers[o.outputs.front().id] = &o;
        auto &to = values[o.outputs.front().id];
        const auto &src = values.at(o.inputs.front().id);
        const auto other = [&] {
            auto reals = values.at(o.inputs[1].id).reals;
            if (has_vector_of_ncx(o)) reals.extents = vector_of_ncx(o);
            return reals;
        };
        if (is_dequantize(o)) {
            if (src.codes.least != src.codes.most) refuse(o, "its integers depend on roundings before it");
            to.reals = oracle::dequantize(src.codes, parameters_of(o, data));
        } else if (is_quantize(o)) {
            const auto [least, most] = range_of(o.outputs.front().type);
            to.codes = oracle::quantize(src.reals, parameters_of(o, data), least, most);
            if (values.count(o.inputs.front().id) && !producers.count(o.inputs.front().id))
                to.codes.least = to.codes.most = to.codes.values; // of an input: dynquant's are exact
        } else if (is_product(o)) {
            const auto side = [&](std::size_t i) {
                const auto &from = *producers.at(o.inputs[i].id);
                return std::pair {values.at(from.inputs.front().id).codes, parameters_of(from, data)};
            };
            const auto [w, of_w] = side(1);
            if (has_float_x) {
                to.reals = oracle::product(src.reals, has(o, "transpose_a"), w, of_w, has(o, "transpose_b"));
            } else {
                const auto [x, of_x] = side(0);
                to.reals = o.kind == "MatMul"
                        ? oracle::product(x, of_x, has(o, "transpose_a"), w, of_w, has(o, "transpose_b"))
                        : oracle::convolution(attributes_of(o), x, of_x, w, of_w);
            }
            if (o.inputs.size() > 2) {
                auto bias = values.at(o.inputs[2].id).reals;
                if (attributes_of(o).is_ncx) bias.extents.resize(o.inputs[0].extents->size() - 1, 1);
                to.reals = apply(oracle::binary::add, to.reals, bias);
            }
        } else if (is_of_two_sides(o)) {
            using oracle::binary;
            const auto which = o.kind == "Divide" ? binary::divide
                    : o.kind == "Multiply"        ? binary::multiply
                    : o.kind == "PReLU"           ? binary::prelu
                    : o.kind == "Subtract"        ? binary::subtract
                                                  : binary::add;
            to.reals = apply(which, src.reals, other());
        } else {
            using oracle::function;
            if (o.kind == "ReLU") to.reals = apply(function::relu, src.reals, 0, 0);
            if (o.kind == "Clamp") to.reals = apply(function::clamp, src.reals, number(o, "min"), number(o, "max"));
            if (o.kind == "LeakyReLU") to.reals = apply(function::leaky_relu, src.reals, number(o, "alpha"), 0);
            if (o.kind == "HardSwish") to.reals = apply(function::hard_swish, src.reals, 0, 0);
            if (o.kind == "HardSigmoid")
                to.reals = apply(function::hard_sigmoid, src.reals, number(o, "alpha"), number(o, "beta"));
        }
    }
    return values;
}

chain_graph chain_graph::with_static_ops(const buffers &data) const {
    auto result = *this;
    bool is_changed = false;
    for (auto &o : result.g.ops) {
        if (o.inputs.size() < 2 || !o.supported_kind) continue;
        const auto p = parameters_of(o, data);
        if (!p.groups.empty()) refuse(o, "no static op has groups");
        is_changed = true;
        std::string scales, zps;
        for (const auto scale : p.scales)
            scales += concat(scales.empty() ? "" : "x", to_shortest(scale));
        for (std::size_t i = 0; i < p.scales.size(); ++i)
            zps += concat(i == 0 ? "" : "x", p.zero_points.empty() ? 0 : p.zero_points[i]);
        if (p.zero_points.size() > 1) refuse(o, "oneDNN takes the first of several zps for all");
        o.kind = is_quantize(o) ? "Quantize" : "Dequantize";
        o.supported_kind = is_quantize(o) ? op_kind::Quantize : op_kind::Dequantize;
        o.attributes["scales"] = scales;
        o.attributes["zps"] = zps;
        o.inputs.resize(1);
    }
    if (!is_changed) throw not_supported("no op is dynamic");
    std::erase_if(result.inputs, [&](const tensor &t) {
        return std::ranges::none_of(result.g.ops, [&](const op &o) {
            return std::ranges::any_of(o.inputs, [&](const tensor &each) { return each.id == t.id; });
        });
    });
    return result;
}

std::string chain_graph::extents() const {
    for (const auto &o : g.ops)
        if (o.id == product)
            return concat(dynquant::to_string(*o.inputs[0].extents), '*', dynquant::to_string(*o.inputs[1].extents));
    return "";
}

} // namespace dqbench::layers
