#include "variants.hpp"

#include <algorithm>
#include <cmath>

namespace dynquant::test {

std::string variant::name() const {
    const std::string text = to_string(kernel);
    return kernel == kernel_kind::native ? text + "_" + to_string(max_isa) : text;
}

std::ostream &operator<<(std::ostream &out, const variant &v) {
    return out << v.name();
}

std::vector<variant> universal_variants() {
    std::vector<variant> result = {{kernel_kind::native, isa::scalar}};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        result.push_back({kernel_kind::native, isa::avx2});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
            && __builtin_cpu_supports("avx512dq"))
        result.push_back({kernel_kind::native, isa::avx512});
#endif
    result.push_back({kernel_kind::reference, isa::scalar});
    return result;
}

variant onednn_variant() {
    return {kernel_kind::onednn, isa::avx512};
}

std::vector<variant> all_variants() {
    auto result = universal_variants();
    result.push_back(onednn_variant());
    return result;
}

std::vector<variant> variants_for(const quantization &q) {
    return onednn_computes(q) ? all_variants() : universal_variants();
}

} // namespace dynquant::test
