// SPDX-License-Identifier: Apache-2.0
// std::lower_bound, which most programs use. It needs no C++ library when it is linked.
#include <algorithm>
#include <cstddef>
#include <cstdint>

template <typename Key>
static void search(const Key *sorted, std::size_t n, const Key *keys, std::size_t count,
		   std::uint32_t *answers)
{
	for (std::size_t i = 0; i < count; i++)
		answers[i] = static_cast<std::uint32_t>(
			std::lower_bound(sorted, sorted + n, keys[i]) - sorted);
}

extern "C" void standard_lower_bound_u32(const std::uint32_t *sorted, std::size_t n,
					 const std::uint32_t *keys, std::size_t count,
					 std::uint32_t *answers)
{
	search(sorted, n, keys, count, answers);
}

extern "C" void standard_lower_bound_u64(const std::uint64_t *sorted, std::size_t n,
					 const std::uint64_t *keys, std::size_t count,
					 std::uint32_t *answers)
{
	search(sorted, n, keys, count, answers);
}
