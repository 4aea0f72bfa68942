// The filled buffers of one case.
#pragma once

#include "fill.hpp"
#include "graph_program.hpp"
#include "guarded_buffer.hpp"

namespace dqbench {

/// Buffers begin `offset` elements after a multiple of 64 bytes. The default is 1 for checking, so that no buffer is
/// aligned beyond its type, and 0 for measuring.
class workspace {
  public:
    workspace(const statement &s, const parameters &p, std::int64_t dst_bytes, filling kind,
            std::optional<std::int64_t> offset = {});

    buffers handles();
    const guarded_buffer &src() const { return src_; }
    const guarded_buffer &scales() const { return scales_; }
    const guarded_buffer &zero_points() const { return zero_points_; }
    const guarded_buffer &dst() const { return dst_; }
    guarded_buffer &dst() { return dst_; }

    /// What a run writes: dst, then computed scales and zero points.
    struct output {
        data_type type;
        guarded_buffer *buffer;
    };
    std::vector<output> outputs();

    /// The arguments of the direct API's run() without its outputs.
    dynquant::arguments inputs() const;

    std::int64_t input_bytes() const;
    std::int64_t output_bytes() const;

    /// All buffers.
    std::vector<std::span<const std::byte>> memory() const;

    /// Copies the inputs for inputs_unchanged().
    void remember_inputs();
    bool inputs_unchanged() const;

  private:
    data_types types_;
    std::int64_t offset_;
    bool computes_parameters_;
    guarded_buffer src_, scales_, zero_points_, dst_;
    std::vector<std::byte> before_;

    std::int64_t parameter_bytes() const;
    std::vector<std::byte> all_inputs() const;
};

} // namespace dqbench
