// The buffers of one case, filled.
#pragma once

#include "fill.hpp"
#include "graph_program.hpp"
#include "guarded_buffer.hpp"

namespace dqbench {

/// For checking, no buffer is aligned beyond its type; for measuring, all are.
class workspace {
  public:
    workspace(const statement &s, const parameters &p, std::int64_t dst_bytes, filling kind);

    buffers handles();
    buffers handles_with_dst(guarded_buffer &other);
    const guarded_buffer &src() const { return src_; }
    const guarded_buffer &dst() const { return dst_; }

    /// What run() of the direct API takes, for a dst elsewhere.
    dynquant::arguments arguments_with_dst(void *other) const;

    std::int64_t input_bytes() const;

    /// Takes note of the inputs, for inputs_unchanged().
    void remember_inputs();
    bool inputs_unchanged() const;

  private:
    guarded_buffer src_, scales_, zero_points_, dst_;
    std::vector<std::byte> before_;

    std::vector<std::byte> all_inputs() const;
};

} // namespace dqbench
