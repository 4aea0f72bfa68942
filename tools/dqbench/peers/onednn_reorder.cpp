// oneDNN's reorder primitive with scales and zero points as attributes, which oneDNN Graph lowers these ops to.
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

#include "peers/peer.hpp"
#include "quantization/onednn_type.hpp"

namespace dqbench {
namespace {

using dnnl::memory;

memory::data_type memory_type(data_type type) {
    return static_cast<memory::data_type>(dynquant::onednn_type(type));
}

memory::desc describe_tensor(data_type type, const dynquant::dims &extents, const dynquant::dims &strides) {
    if (extents.empty()) return {{1}, memory_type(type), memory::dims {1}}; // oneDNN has no rank 0
    return {extents, memory_type(type), strides};
}

memory::desc describe_vector(std::size_t count, memory::data_type type) {
    return {{static_cast<std::int64_t>(count)}, type, memory::format_tag::a};
}

void require_statable(const statement &s) {
    if (s.qtype == granularity::per_group) throw refusal("a reorder of oneDNN 3.2 takes no groups");
    if (s.types.zps && s.parameter_count() > 1) // 3.13 takes the mask and uses the first one throughout
        throw refusal("a reorder takes one zero point, the statement has one for each channel");
}

class onednn_reorder_peer final : public peer {
  public:
    explicit onednn_reorder_peer(const task &t)
        : dst_(t.dst)
        , dst_strides_(t.dst_strides)
        , zero_points_(t.drawn.zero_points) {
        require_statable(t.s);
        const auto &s = t.s;
        const int quantized = s.quantizing ? DNNL_ARG_DST : DNNL_ARG_SRC;
        const auto channels = s.channel_dim();
        dnnl::primitive_attr attributes;
        attributes.set_scales_mask(quantized, channels ? 1 << *channels : 0);
        if (s.types.zps) attributes.set_zero_points_mask(quantized, 0);

        const auto src = describe_tensor(s.types.src, s.extents, s.src_strides);
        const auto dst = describe_tensor(s.types.dst, s.extents, t.dst_strides);
        primitive_ = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), src, cpu(), dst, attributes));

        add(DNNL_ARG_SRC, src, t.inputs.src);
        add(DNNL_ARG_DST, dst, dst_.data());
        add(DNNL_ARG_ATTR_SCALES | quantized, describe_vector(t.drawn.scales.size(), memory_type(s.types.scales)),
                t.inputs.scales);
        if (s.types.zps)
            add(DNNL_ARG_ATTR_ZERO_POINTS | quantized, describe_vector(1, memory::data_type::s32), zero_points_.data());
    }

    void execute() override {
        primitive_.execute(stream_, arguments_);
        stream_.wait();
    }

    std::optional<computed> dst() const override { return computed {dst_, dst_strides_}; }

  private:
    void add(int argument, const memory::desc &description, void *buffer) {
        arguments_.emplace(argument, memory(description, cpu(), buffer));
    }

    guarded_buffer &dst_;
    dynquant::dims dst_strides_;
    std::vector<std::int32_t> zero_points_;
    dnnl::stream stream_ {cpu()};
    dnnl::reorder primitive_;
    std::unordered_map<int, memory> arguments_;
};

} // namespace

std::unique_ptr<peer> make_onednn_reorder(const task &t) {
    return std::make_unique<onednn_reorder_peer>(t);
}

} // namespace dqbench
