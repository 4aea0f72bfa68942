// The onednn kernel: one dnnl::reorder with scale and zero-point attributes. prepare() builds the reorder, which all
// calls share. Objects that calls cannot share come from a pool.
#include <array>

#include "elements/load_store.hpp"
#include "kernels/kernel.hpp"
#include "kernels/onednn/lowering.hpp"
#include "kernels/onednn/support.hpp"
#include "parallel/executor.hpp"
#include "parallel/float_control.hpp"
#include "parallel/pool.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::kernels {
namespace onednn {
namespace {

/// Calls f and turns an error of oneDNN into one of dynquant: operations throw no other.
template <typename F>
auto translated(const F &f) {
    try {
        return f();
    } catch (const dnnl::error &e) {
        throw error(from_onednn(e.status), concat("onednn: ", e.message));
    }
}

/// Memory without a buffer; each call binds one.
dnnl::memory unbound(const dnnl::memory::desc &desc, const dnnl::engine &engine) {
    return dnnl::memory(desc, engine, DNNL_MEMORY_NONE);
}

dnnl::memory::desc vector_of(std::int64_t count, dnnl::memory::data_type type) {
    return dnnl::memory::desc({count}, type, dnnl::memory::format_tag::a);
}

void bind(dnnl::memory &memory, const void *buffer) {
    memory.set_data_handle(const_cast<void *>(buffer)); // oneDNN writes to dst only
}

/// Stream, memory objects and scratchpad of a call. Not thread-safe: concurrent calls need one object each.
class call {
  public:
    call(const quantization &q, const dnnl::reorder::primitive_desc &description) {
        const dnnl::engine engine = description.get_engine();
        const int parameters = parameter_argument(q);
        const auto count = *volume(parameter_dims(q.src.dims, q.scales.block));
        stream_ = dnnl::stream(engine);
        add(DNNL_ARG_SRC, src_ = unbound(description.src_desc(), engine));
        add(DNNL_ARG_DST, dst_ = unbound(description.dst_desc(), engine));
        add(DNNL_ARG_ATTR_SCALES | parameters,
                scales_ = unbound(vector_of(count, dnnl::memory::data_type::f32), engine));
        if (q.zero_points) {
            zero_point_type_ = q.zero_points->type;
            zero_point_ = dnnl::memory(vector_of(1, dnnl::memory::data_type::s32), engine, &zero_point_value_);
            add(DNNL_ARG_ATTR_ZERO_POINTS | parameters, zero_point_);
        }
        if (description.scratchpad_desc().get_size() > 0) {
            scratchpad_ = dnnl::memory(description.scratchpad_desc(), engine);
            add(DNNL_ARG_SCRATCHPAD, scratchpad_);
        }
    }
    call(const call &) = delete;
    call &operator=(const call &) = delete;

    dnnl_status_t run(const dnnl::reorder &primitive, const arguments &args) {
        bind(src_, args.src);
        bind(dst_, args.dst);
        bind(scales_, args.scales);
        if (zero_point_type_)
            zero_point_value_ = static_cast<std::int32_t>(load(*zero_point_type_, args.zero_points, 0));
        // The C function, because the C++ one takes a map, which each call would have to build.
        return dnnl_primitive_execute(primitive.get(), stream_.get(), exec_arg_count_, exec_args_.data());
    }

  private:
    void add(int argument, const dnnl::memory &memory) {
        exec_args_[static_cast<std::size_t>(exec_arg_count_++)] = {argument, memory.get()};
    }

    dnnl::stream stream_;
    dnnl::memory src_, dst_, scales_, zero_point_, scratchpad_;
    std::optional<data_type> zero_point_type_;
    std::int32_t zero_point_value_ = 0; // a reorder takes s32 only
    std::array<dnnl_exec_arg_t, 5> exec_args_ = {};
    int exec_arg_count_ = 0;
};

/// parallel::run_controlled() for a body that calls oneDNN, whose threads may be OpenMP's.
template <typename Body>
void run_controlled(const Body &body, int threads = 0) {
    static const bool on_openmp = [] {
        if (dnnl_version()->cpu_runtime != DNNL_RUNTIME_OMP) return false;
        parallel::openmp_executor(reinterpret_cast<const void *>(dnnl_version));
        return true;
    }();
    if (!on_openmp) return parallel::run_controlled(body, threads);
    // An OpenMP worker keeps the control word that it started with; no call changes it. A team of one thread has the
    // word that is set here.
    const parallel::float_control control;
    const parallel::scoped_openmp_threads alone(1);
    body();
}

class onednn_implementation final : public implementation {
  public:
    onednn_implementation(const quantization &q, const canonical_form &form)
        : q_(q)
        , description_(lower(q, form, engine_))
        , primitive_(description_) {
        calls_.give_back(new_call());
    }

    operation_info info() const override {
        return translated([this] { return operation_info {kernel_kind::onednn, description_.impl_info_str()}; });
    }

    void run(const arguments &args) const override {
        auto one = calls_.take([this] { return translated([this] { return new_call(); }); });
        dnnl_status_t given = dnnl_success;
        translated([&] { run_controlled([&] { given = one->run(primitive_, args); }); });
        calls_.give_back(std::move(one));
        if (given != dnnl_success)
            throw error(from_onednn(given), concat("onednn: expected the reorder to execute, given status ", given));
    }

  private:
    std::unique_ptr<call> new_call() const { return std::make_unique<call>(q_, description_); }

    quantization q_;
    dnnl::engine engine_ {dnnl::engine::kind::cpu, 0}; // outlives the objects that use it
    dnnl::reorder::primitive_desc description_;
    dnnl::reorder primitive_;
    mutable parallel::object_pool<call> calls_;
};

/// The implementation for tensors without elements. oneDNN lacks a reorder for some of them.
class nothing final : public implementation {
  public:
    operation_info info() const override { return {kernel_kind::onednn, "none"}; }
    void run(const arguments &) const override {}
};

attempt prepare(const quantization &q, const settings &s) {
    if (auto why = refusal(q)) return {{}, *why};
    if (volume(q.src.dims) == 0) return {std::make_unique<nothing>()};
    const auto forms = canonicalize(q);
    if (auto why = refusal(q, forms)) return {{}, *why};
    // oneDNN splits the work for the number of threads that it sees here.
    return translated([&] {
        attempt result;
        run_controlled([&] { result.made = std::make_unique<onednn_implementation>(q, forms.front()); }, s.threads);
        return result;
    });
}

} // namespace
} // namespace onednn

constinit const kernel onednn_kernel = {kernel_kind::onednn, onednn::prepare};

} // namespace dynquant::kernels
