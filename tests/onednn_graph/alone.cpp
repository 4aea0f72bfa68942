// A program without oneDNN's library, for which the drop-in prints what is missing.
#include <cstdio>

#include "oneapi/dnnl/dnnl_graph.h"

int main() {
    dnnl_graph_op_t op = nullptr;
    const auto status = dnnl_graph_op_create(&op, 0, dnnl_graph_op_quantize, "q");
    dnnl_graph_op_destroy(op);
    std::printf("%d\n", static_cast<int>(status));
}
