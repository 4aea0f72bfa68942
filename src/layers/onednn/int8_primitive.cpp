#include "layers/onednn/int8_primitive.hpp"

#include "layers/onednn/onednn.hpp"

namespace dynquant::layers {

bool int8_is_exact() {
    // Bits of dnnl_cpu_isa_t: AVX2-VNNI, and AVX-512 VNNI, which AMX implies.
    constexpr unsigned avx2_vnni = 0x8, avx512_vnni = 0x40;
    static const bool exact = (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & (avx2_vnni | avx512_vnni)) != 0;
    return exact;
}

const dnnl::engine &cpu_engine() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

dnnl::primitive_attr user_scratchpad() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
}

int8_primitive::call::call(const int8_primitive &p)
    : stream(cpu_engine())
    , src(p.src_, cpu_engine(), DNNL_MEMORY_NONE)
    , dst(p.dst_, cpu_engine(), DNNL_MEMORY_NONE)
    , scratchpad(p.scratchpad_, cpu_engine())
    , arguments {{{DNNL_ARG_SRC, src.get()}, {DNNL_ARG_WEIGHTS, p.weights_.get()}, {DNNL_ARG_DST, dst.get()},
              {DNNL_ARG_SCRATCHPAD, scratchpad.get()}}} {}

dnnl::memory int8_primitive::reordered(
        const dnnl::memory::desc &given, const void *weights, const dnnl::memory::desc &wanted) {
    dnnl::memory from(given, cpu_engine(), const_cast<void *>(weights)), to(wanted, cpu_engine()); // from is only read
    dnnl::stream stream(cpu_engine());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return to;
}

void int8_primitive::run(const void *src, void *dst) const {
    auto call = idle_.take([&] { return std::make_unique<struct call>(*this); });
    call->src.set_data_handle(const_cast<void *>(src)); // only read
    call->dst.set_data_handle(dst);
    // The C function, as the C++ one takes a map, built for each call.
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), call->stream.get(),
                                    static_cast<int>(call->arguments.size()), call->arguments.data()),
            "oneDNN could not execute a primitive");
    idle_.give_back(std::move(call));
}

} // namespace dynquant::layers
