#include "targets/features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace dynquant::targets {

#if defined(__x86_64__)
namespace {

struct registers {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// All 0 for a leaf that the processor does not have.
registers cpuid(unsigned leaf, unsigned subleaf = 0) {
    registers r;
    return __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) != 0 ? r : registers {};
}

/// XCR0: the registers that the operating system saves.
std::uint64_t saved_registers() {
    constexpr unsigned osxsave = 1U << 27;
    if ((cpuid(1).ecx & osxsave) == 0) return 0;
    std::uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<std::uint64_t>(high) << 32 | low;
}

/// Intel SDM, volume 2, CPUID; volume 1, chapter 13, XCR0.
features detect() {
    constexpr std::uint64_t of_ymm = 0x6, of_zmm = of_ymm | 0xe0, of_tiles = 3U << 17;
    const auto saved = saved_registers();
    const auto one = cpuid(1), seven = cpuid(7), seven_one = cpuid(7, 1);
    features result = 0;
    const auto add = [&](std::uint64_t needs, unsigned from, unsigned bit, features added) {
        if ((saved & needs) == needs && (from >> bit & 1) != 0) result |= added;
    };
    add(of_ymm, one.ecx, 12, feature::fma);
    add(of_ymm, one.ecx, 29, feature::f16c);
    add(of_ymm, seven.ebx, 5, feature::avx2);
    add(of_ymm, seven.ebx, 8, feature::bmi2);
    add(of_ymm, seven_one.eax, 4, feature::avx_vnni);
    add(of_zmm, seven.ebx, 16, feature::avx512f);
    add(of_zmm, seven.ebx, 17, feature::avx512dq);
    add(of_zmm, seven.ebx, 30, feature::avx512bw);
    add(of_zmm, seven.ebx, 31, feature::avx512vl);
    add(of_zmm, seven.ecx, 1, feature::avx512vbmi);
    add(of_zmm, seven.ecx, 11, feature::avx512vnni);
    add(of_zmm, seven.edx, 23, feature::avx512fp16);
    constexpr unsigned performance = 0x8000001a, fp128 = 1, fp256 = 4; // AMD64 Programmer's Manual, volume 3, E.4.13
    if ((cpuid(performance).eax & (fp128 | fp256)) == fp128) result |= feature::ymm_in_halves;
    constexpr unsigned tile = 1U << 24, int8 = 1U << 25;
    if ((saved & of_tiles) == of_tiles && (seven.edx & (tile | int8)) == (tile | int8)) result |= feature::amx_int8;
    return result;
}

} // namespace

features of_processor() {
    static const features detected = detect();
    return detected;
}

bool request_amx() {
    constexpr long request_permission = 0x1023, tile_data = 18; // Linux, Documentation/arch/x86/xstate.rst
    static const bool granted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    return granted;
}

vendor processor_vendor() {
    const auto zero = cpuid(0);
    if (zero.ebx == signature_AMD_ebx && zero.ecx == signature_AMD_ecx) return vendor::amd;
    if (zero.ebx == signature_INTEL_ebx && zero.ecx == signature_INTEL_ecx) return vendor::intel;
    return vendor::other;
}

std::int64_t level3_of_complex() {
    constexpr unsigned cache_properties = 0x8000001d, third = 3; // AMD64 Programmer's Manual, volume 3, E.4.15
    if (processor_vendor() != vendor::amd) return 0;
    const auto r = cpuid(cache_properties, third);
    if ((r.eax & 31) == 0) return 0;
    const auto ways = (r.ebx >> 22) + std::int64_t {1}, partitions = (r.ebx >> 12 & 1023) + std::int64_t {1};
    const auto line = (r.ebx & 4095) + std::int64_t {1}, sets = r.ecx + std::int64_t {1};
    return ways * partitions * line * sets;
}
#else
features of_processor() {
#if defined(__aarch64__)
    static const features detected = [] {
        const auto first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
        return feature::neon | ((first & HWCAP_ASIMDDP) != 0 ? feature::dotprod : 0)
                | ((second & HWCAP2_I8MM) != 0 ? feature::i8mm : 0);
    }();
    return detected;
#else
    return scalar;
#endif
}

bool request_amx() {
    return false;
}

vendor processor_vendor() {
    return vendor::other;
}

std::int64_t level3_of_complex() {
    return 0;
}
#endif

features of(isa value) {
    switch (value) {
        case isa::scalar: return scalar;
        case isa::avx2: return avx2;
        case isa::avx512: return avx512;
        case isa::neon: return neon;
    }
    return scalar; // no enumerator
}

features up_to(isa cap) {
    features result = of(cap) | feature::ymm_in_halves;
    for (const auto &set : instruction_sets) {
        const bool is_avx512 = has(set.needs, feature::avx512f), is_arm = has(set.needs, feature::neon);
        const bool admits_x86 = cap == isa::avx512 || (cap == isa::avx2 && !is_avx512);
        if (is_arm ? cap == isa::neon : admits_x86) result |= set.needs;
    }
    return result;
}

isa strongest(features available) {
    auto result = isa::scalar;
    for (const auto value : {isa::avx2, isa::avx512, isa::neon})
        if (has(available, of(value))) result = value;
    return result;
}

} // namespace dynquant::targets
