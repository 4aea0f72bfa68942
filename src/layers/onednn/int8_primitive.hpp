// oneDNN's int8 primitives: a source, constant weights, a destination of s32.
#pragma once

#include <array>

#include "oneapi/dnnl/dnnl.hpp"
#include "parallel/pool.hpp"

namespace dynquant::layers {

/// A primitive with its weights in the layout that it prefers. run() may be called from many threads at once; it
/// allocates only where more calls run at once than ever before.
class int8_primitive {
  public:
    /// weights: of the given layout, copied.
    template <typename Primitive>
    int8_primitive(const typename Primitive::primitive_desc &description, const Primitive &primitive,
            const dnnl::memory::desc &given, const void *weights)
        : primitive_(primitive)
        , src_(description.src_desc())
        , dst_(description.dst_desc())
        , scratchpad_(description.scratchpad_desc())
        , weights_(reordered(given, weights, description.weights_desc())) {}

    int8_primitive(const int8_primitive &) = delete;
    int8_primitive &operator=(const int8_primitive &) = delete;

    void run(const void *src, void *dst) const;

  private:
    /// All that oneDNN wants for a call beside the primitive.
    struct call {
        explicit call(const int8_primitive &p);

        dnnl::stream stream;
        dnnl::memory src, dst, scratchpad;
        std::array<dnnl_exec_arg_t, 4> arguments;
    };

    static dnnl::memory reordered(
            const dnnl::memory::desc &given, const void *weights, const dnnl::memory::desc &wanted);

    dnnl::primitive primitive_;
    dnnl::memory::desc src_, dst_, scratchpad_;
    dnnl::memory weights_;
    mutable parallel::pool<call> idle_;
};

/// The engine that all of them run on.
const dnnl::engine &cpu_engine();

/// A scratchpad of the caller's: one of the primitive's own could not be used by two calls at once.
dnnl::primitive_attr user_scratchpad();

} // namespace dynquant::layers
