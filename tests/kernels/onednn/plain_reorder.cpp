#include "plain_reorder.hpp"

#include <limits>

#include "oneapi/dnnl/dnnl.hpp"
#include "support/direct.hpp"

namespace dynquant::test {

namespace {

dnnl::memory::data_type type_of(data_type type) {
    switch (type) {
        case data_type::f32: return dnnl::memory::data_type::f32;
        case data_type::s32: return dnnl::memory::data_type::s32;
        case data_type::s8: return dnnl::memory::data_type::s8;
        default: return dnnl::memory::data_type::u8; // the only other type in these tests
    }
}

dnnl::memory::desc descriptor(const tensor &t) {
    if (!t.strides.empty()) return {t.dims, type_of(t.type), t.strides};
    dims dense(t.dims.size(), 1);
    for (std::size_t d = dense.size(); d-- > 1;)
        dense[d - 1] = dense[d] * t.dims[d];
    return {t.dims, type_of(t.type), dense};
}

int mask_of(const quantization &q) {
    int mask = 0;
    for (std::size_t d = 0; d < q.src.dims.size(); ++d)
        if (q.scales.block[d] < q.src.dims[d]) mask |= 1 << d;
    return mask;
}

int argument_of(const quantization &q) {
    return q.dir == direction::quantize ? DNNL_ARG_DST : DNNL_ARG_SRC;
}

dnnl::reorder::primitive_desc describe(const quantization &q, const dnnl::engine &engine) {
    dnnl::primitive_attr attributes;
    attributes.set_scales_mask(argument_of(q), mask_of(q));
    if (q.zero_points) attributes.set_zero_points_mask(argument_of(q), mask_of(q));
    return {engine, descriptor(q.src), engine, descriptor(q.dst), attributes};
}

std::vector<float> scales_of(const quantization &q, const oracle::inputs &in) {
    if (q.scales.values.empty()) return elements<float>(in.scales);
    return {q.scales.values.begin(), q.scales.values.end()};
}

/// A reorder's zero points are s32.
std::vector<std::int32_t> zero_points_of(const parameter &p, const oracle::inputs &in) {
    std::vector<std::int32_t> result(p.values.begin(), p.values.end());
    const auto given = static_cast<std::int64_t>(in.zero_points.size()) * 8 / bits_in(p.type);
    for (std::int64_t i = 0; p.values.empty() && i < given; ++i)
        result.push_back(static_cast<std::int32_t>(integer_from(p.type, get_bits(p.type, in.zero_points.data(), i))));
    return result;
}

/// A vector as memory. `beyond` follows it, for a oneDNN that reads more elements than the vector has.
template <typename T>
dnnl::memory vector_memory(std::vector<T> &values, dnnl::memory::data_type type, const dnnl::engine &engine, T beyond) {
    const auto count = static_cast<std::int64_t>(values.size());
    values.resize(values.size() + 64, beyond);
    return {{{count}, type, dnnl::memory::format_tag::a}, engine, values.data()};
}

} // namespace

std::optional<std::vector<std::byte>> plain_reorder(const quantization &q, const oracle::inputs &in) {
    std::vector<std::byte> src = in.src, dst(bytes_spanned(q.dst));
    auto scales = scales_of(q, in);
    auto zero_points = q.zero_points ? zero_points_of(*q.zero_points, in) : std::vector<std::int32_t> {};
    try {
        const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        dnnl::stream stream(engine);
        const auto description = describe(q, engine);
        std::unordered_map<int, dnnl::memory> args = {
                {DNNL_ARG_SRC, {description.src_desc(), engine, src.data()}},
                {DNNL_ARG_DST, {description.dst_desc(), engine, dst.data()}},
                {DNNL_ARG_ATTR_SCALES | argument_of(q),
                        vector_memory(
                                scales, dnnl::memory::data_type::f32, engine, std::numeric_limits<float>::quiet_NaN())},
        };
        if (q.zero_points)
            args.emplace(DNNL_ARG_ATTR_ZERO_POINTS | argument_of(q),
                    vector_memory(zero_points, dnnl::memory::data_type::s32, engine, 77));
        dnnl::reorder(description).execute(stream, args);
        stream.wait();
    } catch (const dnnl::error &) {
        return std::nullopt;
    }
    return dst;
}

std::string plain_implementation(const quantization &q) {
    return describe(q, dnnl::engine(dnnl::engine::kind::cpu, 0)).impl_info_str();
}

bool onednn_older_than(int major, int minor) {
    const auto &version = *dnnl_version();
    return version.major < major || (version.major == major && version.minor < minor);
}

} // namespace dynquant::test
