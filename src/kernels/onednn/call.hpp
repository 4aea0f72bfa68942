// What a call of a reorder needs in addition to the primitive.
#pragma once

#include <array>
#include <cstdint>

#include "dynquant/quantization.hpp"
#include "oneapi/dnnl/dnnl.hpp"

namespace dynquant::kernels::onednn {

/// Stream, memory objects and scratchpad of a call. Not thread-safe: concurrent calls need one object each.
class call {
  public:
    call(const quantization &q, const dnnl::reorder::primitive_desc &description);
    call(const call &) = delete;
    call &operator=(const call &) = delete;

    dnnl_status_t run(const dnnl::reorder &primitive, const arguments &args);

  private:
    void add(int argument, const dnnl::memory &memory);

    dnnl::stream stream_;
    dnnl::memory src_, dst_, scales_, zero_point_, scratchpad_;
    std::optional<data_type> zero_point_type_;
    std::int32_t zero_point_value_ = 0; // a reorder takes s32 only
    std::array<dnnl_exec_arg_t, 5> exec_args_ = {};
    int exec_arg_count_ = 0;
};

} // namespace dynquant::kernels::onednn
