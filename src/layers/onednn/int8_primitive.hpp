// An int8 primitive of oneDNN: a source, constant weights, an s32 destination.
#pragma once

#include <array>

#include "oneapi/dnnl/dnnl.hpp"
#include "parallel/pool.hpp"

namespace dynquant::layers {

/// A primitive and its weights in the layout that it prefers. run() is thread-safe. It allocates only when more calls
/// run at once than ever before.
class int8_primitive {
  public:
    /// weights: in the layout `given`, copied.
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
    /// The stream, memory objects and arguments of one call at a time.
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
    mutable parallel::object_pool<call> idle_;
};

/// The engine of all primitives.
const dnnl::engine &cpu_engine();

/// The caller passes the scratchpad. The primitive's own one could not serve two calls at once.
dnnl::primitive_attr user_scratchpad();

} // namespace dynquant::layers
