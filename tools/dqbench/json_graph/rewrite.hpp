// --in-shapes and --op-attrs, in benchdnn's syntax.
#pragma once

#include <string_view>

#include "json_graph/model.hpp"
#include "layout.hpp"

namespace dqbench::json_graph {

struct new_shape {
    std::optional<dynquant::dims> extents; // none: as they are
    dqbench::layout layout;
};

/// New shapes by tensor id. Empty: nothing is rewritten.
using new_shapes = std::map<std::uint64_t, new_shape>;

/// New values by op id and attribute name.
using new_attributes = std::map<std::uint64_t, std::map<std::string, std::string>>;

/// Parses ID:SHAPE[*STRIDES][+...]. STRIDES is a tag (acdb) or numbers (48x1x16x4); SHAPE may be empty before
/// STRIDES; - is rank 0. Throws usage_error.
new_shapes parse_in_shapes(std::string_view text);

/// Parses ID:NAME:VALUE[*NAME:VALUE...][+...]. Throws usage_error.
new_attributes parse_op_attrs(std::string_view text);

/// Applies new shapes. A new shape of src is propagated to dst, which keeps its order of dims, and to the supported ops
/// that read dst; ops of other kinds stop it. Throws usage_error for ids that the graph does not have.
void rewrite(graph &g, const new_shapes &shapes);
void rewrite(graph &g, const new_attributes &attributes);

/// The latest values of --in-shapes and --op-attrs.
class rewrites {
  public:
    /// Take a comma list. Throw usage_error, changing nothing.
    void set_in_shapes(std::string_view list);
    void set_op_attrs(std::string_view list);

    /// One graph for each combination of values. Throws usage_error.
    std::vector<graph> apply(const graph &g) const;

  private:
    std::vector<std::string> in_shapes_ {""}, op_attrs_ {""}; // "": as the file has it
};

} // namespace dqbench::json_graph
