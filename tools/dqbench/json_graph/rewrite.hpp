// --in-shapes, --op-attrs and benchdnn's other options that rewrite a graph, in its syntax.
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

/// Parses ID:NAME:VALUE[*NAME:VALUE...][+...]. The value undef removes an attribute. Throws usage_error.
new_attributes parse_op_attrs(std::string_view text);

/// The old strides where only a new batch needs room. Else dense strides for new extents, with the dims in the order of
/// the old strides; none where the old ones are of another rank or unknown.
std::optional<dynquant::dims> strides_in_order_of(const tensor &old, const dynquant::dims &extents);

/// Applies new shapes to inputs, and to outputs that no op reads; others are refused. A new shape of src is propagated
/// to dst, which keeps its order of dims, and to the supported ops that read dst; ops of other kinds stop it. An id
/// that the graph does not have becomes a note. Throws usage_error for an op that it does not have.
void rewrite(graph &g, const new_shapes &shapes);
void rewrite(graph &g, const new_attributes &attributes);

/// A graph's rewriting option: its name, what its value must be, and what it does. The rest are in rewrite.cpp's table.
struct rewriting {
    const char *name, *values, *help;
    /// Throws usage_error.
    void (*check)(std::string_view value);
};

/// The options that rewrite graphs, in the order in which their lists multiply, outermost first.
const std::vector<rewriting> &rewritings();

/// The latest values of the options that rewrite graphs.
class rewrites {
  public:
    static bool has(std::string_view name);

    bool is_set(std::string_view name) const { return values_.count(name) != 0; }

    /// Takes a comma list. Throws usage_error, changing nothing.
    void set(std::string_view name, std::string_view list);

    /// Sets the option as set() does, but leaves the check of the value to apply().
    void set_unchecked(std::string_view name, std::string_view list);

    /// One graph for each combination of values; `links`: what depends on them follows. Throws usage_error.
    std::vector<graph> apply(const graph &g, bool links = true) const;

  private:
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

} // namespace dqbench::json_graph
