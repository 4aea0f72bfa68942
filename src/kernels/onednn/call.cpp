#include "kernels/onednn/call.hpp"

#include "elements/load_store.hpp"
#include "kernels/onednn/lowering.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels::onednn {
namespace {

/// Memory without a buffer; each call binds one.
dnnl::memory unbound(const dnnl::memory::desc &desc, const dnnl::engine &engine) {
    return dnnl::memory(desc, engine, DNNL_MEMORY_NONE);
}

dnnl::memory::desc vector_of(std::int64_t count, dnnl::memory::data_type type) {
    return dnnl::memory::desc({count}, type, dnnl::memory::format_tag::a);
}

void bind(dnnl::memory &memory, const void *buffer) {
    memory.set_data_handle(const_cast<void *>(buffer)); // oneDNN writes to dst only
}

} // namespace

call::call(const quantization &q, const dnnl::reorder::primitive_desc &description) {
    const dnnl::engine engine = description.get_engine();
    const int parameters = parameter_argument(q);
    const auto count = *volume(parameter_dims(q.src.dims, q.scales.block));
    stream_ = dnnl::stream(engine);
    add(DNNL_ARG_SRC, src_ = unbound(description.src_desc(), engine));
    add(DNNL_ARG_DST, dst_ = unbound(description.dst_desc(), engine));
    add(DNNL_ARG_ATTR_SCALES | parameters, scales_ = unbound(vector_of(count, dnnl::memory::data_type::f32), engine));
    if (q.zero_points) {
        zero_point_type_ = q.zero_points->type;
        zero_point_ = dnnl::memory(vector_of(1, dnnl::memory::data_type::s32), engine, &zero_point_value_);
        add(DNNL_ARG_ATTR_ZERO_POINTS | parameters, zero_point_);
    }
    if (description.scratchpad_desc().get_size() > 0) {
        scratchpad_ = dnnl::memory(description.scratchpad_desc(), engine);
        add(DNNL_ARG_SCRATCHPAD, scratchpad_);
    }
}

void call::add(int argument, const dnnl::memory &memory) {
    exec_args_[static_cast<std::size_t>(exec_arg_count_++)] = {argument, memory.get()};
}

dnnl_status_t call::run(const dnnl::reorder &primitive, const arguments &args) {
    bind(src_, args.src);
    bind(dst_, args.dst);
    bind(scales_, args.scales);
    if (zero_point_type_) zero_point_value_ = static_cast<std::int32_t>(load(*zero_point_type_, args.zero_points, 0));
    // The C function, because the C++ one takes a map, which each call would have to build.
    return dnnl_primitive_execute(primitive.get(), stream_.get(), exec_arg_count_, exec_args_.data());
}

} // namespace dynquant::kernels::onednn
