// Independent pieces of work on several threads. Law: what comes out does not depend on the number of threads: each
// piece writes only its own results, and of several failures the one with the smallest index is thrown.
#pragma once

#include <cstddef>
#include <functional>

namespace blockyard::study {

// Calls work(0) .. work(count - 1), at most `jobs` at a time (1 = in turn, on this thread). After a failure no new
// piece begins.
void for_each_index(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work);

}  // namespace blockyard::study
