// The operators that are registered with ONNX Runtime: names, domains and types.
#pragma once

#include <string_view>
#include <vector>

#include "onnxruntime/common/types.hpp"

namespace dynquant::onnxruntime {

/// An operator under the name that a model gives it.
struct registration {
    const char *domain; // the model's, of version 1
    const char *name;
    const char *onnx_domain; // the domain in src/onnx
    const char *op_type;
};

/// The registrations of a domain.
std::vector<registration> registrations_in(std::string_view domain);

/// The types of one kernel.
struct kernel_types {
    std::vector<onnx::element_type> inputs, outputs;
};

/// All combinations that the newest version of an operator allows and the running ONNX Runtime knows. ONNX Runtime
/// takes the first one that fits the node's inputs, so without zero point the order decides y: the specification's
/// default comes first.
std::vector<kernel_types> combinations(const OrtApi &api, const registration &o);

} // namespace dynquant::onnxruntime
