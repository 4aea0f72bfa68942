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

/// By the ids of tensors. Empty: nothing is rewritten.
using new_shapes = std::map<std::uint64_t, new_shape>;

/// Values by the ids of ops and the names of attributes.
using new_attributes = std::map<std::uint64_t, std::map<std::string, std::string>>;

/// ID:SHAPE[*STRIDES][+...], STRIDES a tag (acdb) or numbers (48x1x16x4); SHAPE may be empty before
/// STRIDES, and - is rank 0. Throws usage_error.
new_shapes parse_in_shapes(std::string_view text);

/// ID:NAME:VALUE[*NAME:VALUE...][+...]. Throws usage_error.
new_attributes parse_op_attrs(std::string_view text);

/// A new shape of src goes on to dst, which keeps its order of dims, and to the op of the four that
/// reads it; ops of other kinds hold it up. Throws usage_error for ids that the graph does not have.
void rewrite(graph &g, const new_shapes &shapes);
void rewrite(graph &g, const new_attributes &attributes);

/// The values of --in-shapes and --op-attrs that were given last.
class rewrites {
  public:
    /// Comma lists. Throw usage_error, changing nothing.
    void set_in_shapes(std::string_view list);
    void set_op_attrs(std::string_view list);

    /// The graph as each combination of them makes it. Throws usage_error.
    std::vector<graph> apply(const graph &g) const;

  private:
    std::vector<std::string> in_shapes_ {""}, op_attrs_ {""}; // "": as the file has it
};

} // namespace dqbench::json_graph
