// The buffers of one case, filled.
#pragma once

#include "fill.hpp"
#include "graph_program.hpp"
#include "guarded_buffer.hpp"

namespace dqbench {

/// Buffers begin `offset` elements after a multiple of 64 bytes. By default that is one element for checking, so
/// that none is aligned beyond its type, and none for measuring.
class workspace {
  public:
    workspace(const statement &s, const parameters &p, std::int64_t dst_bytes, filling kind,
            std::optional<std::int64_t> offset = {});

    buffers handles();
    const guarded_buffer &src() const { return src_; }
    const guarded_buffer &dst() const { return dst_; }
    guarded_buffer &dst() { return dst_; }

    /// What run() of the direct API takes, for a dst elsewhere.
    dynquant::arguments arguments_with_dst(void *other) const;

    std::int64_t input_bytes() const;

    /// All of them.
    std::vector<std::span<const std::byte>> memory() const;

    /// Takes note of the inputs, for inputs_unchanged().
    void remember_inputs();
    bool inputs_unchanged() const;

  private:
    std::int64_t offset_;
    guarded_buffer src_, scales_, zero_points_, dst_;
    std::vector<std::byte> before_;

    std::vector<std::byte> all_inputs() const;
};

} // namespace dqbench
