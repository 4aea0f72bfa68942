// session_threads runs parts by ONNX Runtime's KernelContext_ParallelFor, on no more threads than it is told. The API
// is made up here: it counts what it is asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "onnxruntime/common/threads.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::onnxruntime {
namespace {

struct request {
    std::size_t parts, batches; // ONNX Runtime runs each batch on one thread; 0: it chooses
    bool operator==(const request &) const = default;
};
std::vector<request> requests;

OrtApi counting_api() {
    OrtApi api {};
    api.KernelContext_ParallelFor = [](const OrtKernelContext *, void (*function)(void *, std::size_t),
                                            std::size_t total, std::size_t batches,
                                            void *data) noexcept -> OrtStatus * {
        requests.push_back({total, batches});
        for (std::size_t i = 0; i < total; ++i)
            function(data, i);
        return nullptr;
    };
    return api;
}

int processors() {
    return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
}

TEST(session_threads, has_all_processors) {
    const auto api = counting_api();
    const session_threads all(api, nullptr, 0);
    EXPECT_EQ(parallel::concurrency(), processors());
    requests.clear();
    parallel::for_each_part(100, 7, [](parallel::range) {});
    EXPECT_EQ(requests, (std::vector<request> {{7, 0}}));
}

TEST(session_threads, nobody_lends_threads_outside_of_a_run) {
    const auto caller = std::this_thread::get_id();
    EXPECT_EQ(parallel::concurrency(), 1);
    std::vector<int> seen(100);
    parallel::for_each_part(100, 7, [&](parallel::range part) { // though asked for seven parts
        EXPECT_EQ(std::this_thread::get_id(), caller);
        for (auto i = part.begin; i < part.end; ++i)
            ++seen[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(seen, std::vector<int>(100, 1));
}

TEST(session_threads, has_at_most_as_many_as_told) {
    const auto api = counting_api();
    for (const int most : {1, 2, 1000}) {
        const session_threads some(api, nullptr, most);
        EXPECT_EQ(parallel::concurrency(), std::min(most, processors()));
        requests.clear();
        std::vector<int> seen(100);
        parallel::for_each_part(100, 7, [&](parallel::range part) {
            for (auto i = part.begin; i < part.end; ++i)
                ++seen[static_cast<std::size_t>(i)];
        });
        EXPECT_EQ(requests, (std::vector<request> {{7, static_cast<std::size_t>(most)}}));
        EXPECT_EQ(seen, std::vector<int>(100, 1));
    }
}

TEST(session_threads, one_within_another_gives_way_to_it) {
    const auto api = counting_api();
    const session_threads outer(api, nullptr, 1);
    {
        const session_threads inner(api, nullptr, 0);
        EXPECT_EQ(parallel::concurrency(), processors());
    }
    EXPECT_EQ(parallel::concurrency(), 1);
}

} // namespace
} // namespace dynquant::onnxruntime
