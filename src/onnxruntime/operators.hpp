// Which operators are offered to ONNX Runtime, under which names, and for which types.
#pragma once

#include <string_view>
#include <vector>

#include "onnxruntime/types.hpp"

namespace dynquant::onnxruntime {

/// An operator under the name that a model gives it.
struct registration {
    const char *domain; // the model's
    const char *name;
    int since;               // the first version of that domain
    const char *onnx_domain; // where src/onnx knows it
    const char *op_type;
};

/// Those of a domain.
std::vector<registration> registrations_in(std::string_view domain);

/// The types of one kernel. Those of the zero point are the quantized side's.
struct kernel_types {
    onnx::element_type x, scale, y; // scale is undefined where the operator computes it
    onnx::element_type zero_point;
};

/// All combinations that the newest version of an operator allows and the running ONNX Runtime knows. ONNX Runtime
/// takes the first whose inputs are the node's: without zero point y is what the specification says of such a node.
std::vector<kernel_types> combinations(const OrtApi &api, const registration &o);

} // namespace dynquant::onnxruntime
