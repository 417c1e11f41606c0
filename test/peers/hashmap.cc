// SPDX-License-Identifier: Apache-2.0
//
// hashmap - how fast the map `best` of `locus hashmap` is beside others:
// boost::concurrent_flat_map, oneTBB's concurrent_hash_map, libcuckoo and liburcu's cds_lfht, on 1,
// 2, 4, ... threads and on all CPUs; and, on one, beside boost::unordered_flat_map, which no second
// thread may use. What is not installed is named and left out; 77 where all are.
//
// Keys are scattered over all 64-bit numbers. Beside the sequential map they are consecutive, too:
// its hash spreads those evenly, and fills its groups better than with other keys; the hash of ours
// is keyed, and treats all alike. The goal, at most 1.5, is for scattered keys.
//
// All maps are full before the clock starts, have room for all keys from the start, and the same
// hash function. All are on transparent huge pages: ours asks for them, and so does malloc() unless
// GLIBC_TUNABLES is set. Operations look up keys that are there, or replace their values. Maps take
// turns; a speed is operations over the CPU time of each thread, so preemption does not count.
// Prints medians in millions of operations a second, and the median ratios of the pairs to the
// fastest other map, with 95 % intervals: of single calls to single calls, and of batches of 256 to
// whatever is fastest. Boost looks up 256 keys in one call, too (boost256), but writes one by one;
// the others have single calls only. Ends with 1 where a goal is missed, or ours is slower beyond
// doubt. Differences: Boost, oneTBB and libcuckoo lock for a lookup, so a value may be of any type;
// cds_lfht replaces a value in place, without regard to a removal at the same time, and runs with
// QSBR, the cheapest of liburcu's flavours.
//
//	hashmap [PAIRS [KEYS [READS [u|z]]]]
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <sched.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<boost/unordered/unordered_flat_map.hpp>)
#include <boost/unordered/unordered_flat_map.hpp>
#define HAVE_FLAT 1
#else
#define HAVE_FLAT 0
#endif
#if __has_include(<boost/unordered/concurrent_flat_map.hpp>)
#include <boost/unordered/concurrent_flat_map.hpp>
#define HAVE_BOOST 1
#else
#define HAVE_BOOST 0
#endif
#if __has_include(<libcuckoo/cuckoohash_map.hh>)
#include <libcuckoo/cuckoohash_map.hh>
#define HAVE_CUCKOO 1
#else
#define HAVE_CUCKOO 0
#endif
#if HAVE_TBB
#include <oneapi/tbb/concurrent_hash_map.h>
#else
#define HAVE_TBB 0
#endif
#if HAVE_URCU
#define _LGPL_SOURCE
#include <urcu/urcu-qsbr.h>
#include <urcu/rculfhash.h>
#else
#define HAVE_URCU 0
#endif

#include "goal.h"

extern "C" {
#include "base/statistics.h"
#include "solve/map/cmap.h"
}

namespace
{

using word = std::uint64_t;

struct hash {
	std::size_t operator()(word key) const
	{
		const unsigned __int128 p =
			static_cast<unsigned __int128>(key ^ 0x243f6a8885a308d3) *
			0x9e3779b97f4a7c15;

		return (static_cast<word>(p) ^ static_cast<word>(p >> 64)) * 0x9e3779b97f4a7c15;
	}
};

// Key i.
word key_of(word i, bool scattered)
{
	const word k = i * 0xd6e8feb86659fd93;

	return scattered ? k ^ k >> 32 : i;
}

// Each map gives its threads a hand, which does the operations.
struct ours {
	cmap *map;
	explicit ours(std::size_t n)
	{
		cmap_options o{};
		o.capacity = n;
		map = cmap_open(&o);
	}
	~ours()
	{
		cmap_close(map);
	}
	struct hand {
		cmap_handle *h;
		explicit hand(ours &m) : h(cmap_join(m.map))
		{
		}
		~hand()
		{
			cmap_leave(h);
		}
		bool find(word k, word &v)
		{
			return cmap_find(h, k, &v);
		}
		void upsert(word k, word v)
		{
			cmap_upsert(h, k, v);
		}
		void pause()
		{
		}
	};
};

#if HAVE_TBB
struct tbb_map {
	struct compare {
		static std::size_t hash(word k)
		{
			return ::hash{}(k);
		}
		static bool equal(word a, word b)
		{
			return a == b;
		}
	};
	using type = oneapi::tbb::concurrent_hash_map<word, word, compare>;
	type map;
	explicit tbb_map(std::size_t n) : map(n)
	{
	}
	struct hand {
		type &m;
		explicit hand(tbb_map &t) : m(t.map)
		{
		}
		bool find(word k, word &v)
		{
			type::const_accessor a;
			if (!m.find(a, k))
				return false;
			v = a->second;
			return true;
		}
		void upsert(word k, word v)
		{
			type::accessor a;
			m.insert(a, k);
			a->second = v;
		}
		void pause()
		{
		}
	};
};
#endif

#if HAVE_CUCKOO
struct cuckoo {
	using type = libcuckoo::cuckoohash_map<word, word, ::hash>;
	type map;
	explicit cuckoo(std::size_t n) : map(n)
	{
	}
	struct hand {
		type &m;
		explicit hand(cuckoo &c) : m(c.map)
		{
		}
		bool find(word k, word &v)
		{
			return m.find(k, v);
		}
		void upsert(word k, word v)
		{
			m.insert_or_assign(k, v);
		}
		void pause()
		{
		}
	};
};
#endif

#if HAVE_BOOST
struct boost_map {
	// Spreads keys over all bits, which Boost would have to do otherwise.
	struct avalanching : ::hash {
		using is_avalanching = void;
	};
	using type = boost::concurrent_flat_map<word, word, avalanching>;
	type map;
	explicit boost_map(std::size_t n) : map(n)
	{
	}
	struct hand {
		type &m;
		explicit hand(boost_map &b) : m(b.map)
		{
		}
		bool find(word k, word &v)
		{
			return m.cvisit(k, [&](const auto &found) { v = found.second; });
		}
		void upsert(word k, word v)
		{
			m.insert_or_assign(k, v);
		}
		void pause()
		{
		}
	};
};
#endif

#if HAVE_URCU
struct lfht {
	struct node {
		cds_lfht_node link;
		rcu_head head;
		word key, value;
	};
	cds_lfht *map;
	explicit lfht(std::size_t n)
	{
		std::size_t buckets = 64;
		while (buckets < n)
			buckets *= 2;
		map = cds_lfht_new_flavor(buckets, 64, 0,
					  CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING,
					  &urcu_qsbr_flavor, nullptr);
	}
	~lfht()
	{
		urcu_qsbr_register_thread();
		cds_lfht_iter i;
		cds_lfht_first(map, &i);
		while (cds_lfht_node *n = cds_lfht_iter_get_node(&i)) {
			cds_lfht_del(map, n);
			urcu_qsbr_call_rcu(&reinterpret_cast<node *>(n)->head, free_node);
			cds_lfht_next(map, &i);
		}
		urcu_qsbr_unregister_thread();
		urcu_qsbr_barrier();
		cds_lfht_destroy(map, nullptr);
	}
	static int match(cds_lfht_node *n, const void *key)
	{
		return reinterpret_cast<node *>(n)->key == *static_cast<const word *>(key);
	}
	static void free_node(rcu_head *h)
	{
		delete reinterpret_cast<node *>(reinterpret_cast<char *>(h) - offsetof(node, head));
	}
	struct hand {
		cds_lfht *m;
		explicit hand(lfht &l) : m(l.map)
		{
			urcu_qsbr_register_thread();
		}
		~hand()
		{
			urcu_qsbr_unregister_thread();
		}
		node *look(word k)
		{
			cds_lfht_iter i;
			cds_lfht_lookup(m, ::hash{}(k), match, &k, &i);
			return reinterpret_cast<node *>(cds_lfht_iter_get_node(&i));
		}
		bool find(word k, word &v)
		{
			node *n = look(k);
			if (n)
				v = __atomic_load_n(&n->value, __ATOMIC_RELAXED);
			return n;
		}
		void upsert(word k, word v)
		{
			if (node *n = look(k))
				__atomic_store_n(&n->value, v, __ATOMIC_RELEASE);
			else
				insert(k, v);
		}
		bool insert(word k, word v)
		{
			node *n = new node;
			cds_lfht_node_init(&n->link);
			n->key = k;
			n->value = v;
			if (cds_lfht_add_unique(m, ::hash{}(k), match, &k, &n->link) == &n->link)
				return true;
			delete n;
			return false;
		}
		void pause()
		{
			urcu_qsbr_quiescent_state();
		}
	};
};
#endif

#if HAVE_FLAT
struct flat {
	using type = boost::unordered_flat_map<word, word>;
	type map;
	explicit flat(std::size_t n)
	{
		map.reserve(n);
	}
	struct hand {
		type &m;
		explicit hand(flat &f) : m(f.map)
		{
		}
		bool find(word k, word &v)
		{
			auto i = m.find(k);
			if (i == m.end())
				return false;
			v = i->second;
			return true;
		}
		void upsert(word k, word v)
		{
			m.insert_or_assign(k, v);
		}
		void pause()
		{
		}
	};
};
#endif

// The CPUs that this process may use.
std::vector<unsigned> cpus()
{
	std::vector<unsigned> all;
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			all.push_back(i);
	return all;
}

double cpu_now()
{
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct work {
	std::size_t keys;
	unsigned reads; // per cent
	unsigned threads;
	const std::vector<std::uint32_t> *zipf; // nullptr: uniform
	bool scattered;
};

word next_random(word &s)
{
	s += 0x9e3779b97f4a7c15;
	word z = s;
	z = (z ^ z >> 32) * 0xd6e8feb86659fd93;
	return z ^ z >> 32;
}

// Ranks of Zipf 0.99, scrambled.
std::vector<std::uint32_t> zipf_keys(std::size_t n)
{
	std::vector<double> sum(n);
	double s = 0;
	std::vector<std::uint32_t> out(1 << 18);
	word state = 7;

	for (std::size_t i = 0; i < n; i++)
		sum[i] = s += std::pow(static_cast<double>(i + 1), -0.99);
	for (auto &k : out) {
		const double u = static_cast<double>(next_random(state) >> 11) * 0x1p-53 * s;
		const word rank = static_cast<word>(std::lower_bound(sum.begin(), sum.end(), u) -
						    sum.begin());
		k = static_cast<std::uint32_t>(::hash{}(rank) % n);
	}
	return out;
}

// The operations of a thread, drawn one by one.
struct draw {
	word state;
	const work &w;
	std::size_t at;
	word limit = static_cast<word>(w.reads * 0x1p32 / 100);
	word random()
	{
		return next_random(state);
	}
	bool reads(word r) const
	{
		return (r & 0xffffffff) < limit;
	}
	word key(word r)
	{
		return key_of(w.zipf ? (*w.zipf)[at++ % w.zipf->size()]
				     : static_cast<word>(
					       (static_cast<unsigned __int128>(r) * w.keys) >> 64),
			      w.scattered);
	}
};

constexpr std::size_t BATCH = 256;

template <typename Map> word one_by_one(typename Map::hand &h, draw &d, std::size_t count)
{
	word sum = 0;
	for (std::size_t i = 0; i < count; i++) {
		const word r = d.random(), k = d.key(r);
		word v = 0;
		if (d.reads(r)) {
			h.find(k, v);
			sum += v;
		} else {
			h.upsert(k, r);
		}
		if (i % 1024 == 0)
			h.pause();
	}
	return sum;
}

word by_batches(ours::hand &h, draw &d, std::size_t count)
{
	cmap_operation o[BATCH];
	word sum = 0;
	for (std::size_t i = 0; i < count; i += BATCH) {
		for (auto &one : o) {
			const word r = d.random();
			one.key = d.key(r);
			one.value = r;
			one.kind = d.reads(r) ? CMAP_FIND : CMAP_UPSERT;
		}
		cmap_batch(h.h, o, BATCH);
		for (auto &one : o)
			sum += one.value;
	}
	return sum;
}

#if HAVE_BOOST
// Boost looks up many keys at once; it has no such writes.
word by_bulk(boost_map::hand &h, draw &d, std::size_t count)
{
	word keys[BATCH], sum = 0;
	for (std::size_t i = 0; i < count; i += BATCH) {
		std::size_t n = 0;
		for (std::size_t j = 0; j < BATCH; j++) {
			const word r = d.random(), k = d.key(r);
			if (d.reads(r))
				keys[n++] = k;
			else
				h.upsert(k, r);
		}
		h.m.cvisit(keys, keys + n, [&](const auto &found) { sum += found.second; });
	}
	return sum;
}
#endif

// Operations a second: of all threads, each pinned, on the same map. A quarter comes before the
// clock starts, to bring the map into caches.
template <typename Map, typename Loop>
double speed(Map &m, const work &w, std::size_t count, Loop loop)
{
	static std::atomic<word> seed(time(nullptr));
	static const std::vector<unsigned> cpu = cpus();
	std::atomic<unsigned> ready(w.threads);
	std::vector<double> time(w.threads);
	std::vector<std::thread> threads;
	double all = 0;

	for (unsigned i = 0; i < w.threads; i++)
		threads.emplace_back([&, i] {
			cpu_set_t set;
			CPU_ZERO(&set);
			CPU_SET(cpu[i % cpu.size()], &set);
			sched_setaffinity(0, sizeof(set), &set);
			typename Map::hand h(m);
			draw d{ ::hash{}(seed++), w, i * 99991 };
			word sum = loop(h, d, count / 4);
			ready--;
			while (ready)
				h.pause();
			const double begin = cpu_now();
			sum += loop(h, d, count);
			time[i] = cpu_now() - begin;
			__asm__ volatile("" : : "r"(sum));
		});
	for (auto &t : threads)
		t.join();
	for (double t : time)
		all += static_cast<double>(count) / t;
	return all;
}

struct candidate {
	const char *name;
	bool batches;
	std::function<double(const work &, std::size_t count)> run;
};

template <typename Map> std::shared_ptr<Map> filled(std::size_t keys, bool scattered = true)
{
	auto m = std::make_shared<Map>(keys);
	std::thread([&] {
		typename Map::hand h(*m);
		for (word k = 0; k < keys; k++) {
			h.upsert(key_of(k, scattered), k);
			if (k % 1024 == 0)
				h.pause();
		}
	}).join();
	return m;
}

template <typename Map> candidate single(const char *name, std::shared_ptr<Map> m)
{
	return { name, false, [=](const work &w, std::size_t count) {
			return speed(*m, w, count, one_by_one<Map>);
		} };
}

// The first OURS are ours.
constexpr std::size_t OURS = 2;

std::vector<candidate> candidates(std::size_t keys)
{
	std::vector<candidate> all;
	auto best = filled<ours>(keys);

	all.push_back(single("best", best));
	all.push_back({ "batches", true, [=](const work &w, std::size_t count) {
			       return speed(*best, w, count, by_batches);
		       } });
#if HAVE_BOOST
	auto boost = filled<boost_map>(keys);
	all.push_back(single("boost", boost));
	all.push_back({ "boost256", true, [=](const work &w, std::size_t count) {
			       return speed(*boost, w, count, by_bulk);
		       } });
#endif
#if HAVE_TBB
	all.push_back(single("oneTBB", filled<tbb_map>(keys)));
#endif
#if HAVE_CUCKOO
	all.push_back(single("libcuckoo", filled<cuckoo>(keys)));
#endif
#if HAVE_URCU
	all.push_back(single("cds_lfht", filled<lfht>(keys)));
#endif
	return all;
}

double middle(std::vector<double> x)
{
	statistics_sort(x.data(), x.size());
	return statistics_quantile(x.data(), x.size(), 0.5);
}

// The median ratio of the pairs, and its interval.
struct ratio {
	double value, low = NAN, high = NAN;
	ratio(const std::vector<double> &over, const std::vector<double> &under)
	{
		std::vector<double> all(over.size());

		for (std::size_t i = 0; i < all.size(); i++)
			all[i] = over[i] / under[i];
		statistics_sort(all.data(), all.size());
		value = statistics_quantile(all.data(), all.size(), 0.5);
		statistics_median_interval(all.data(), all.size(), &low, &high);
		std::printf("  %5.2f [%5.2f, %5.2f]", value, low, high);
	}
};

// Prints the ratio. False: the goal is missed, or, without a goal (0), it is slower beyond doubt.
bool tell_ratio(const std::vector<double> &ours, const std::vector<double> &theirs, double goal)
{
	const ratio r(ours, theirs);

	if (goal > 0)
		std::printf(" %-7s", goal_outcome(r.low, r.high, goal, INFINITY));
	else
		std::printf(" %s", r.high < 0.95 ? "loss" : r.low < 0.95 ? "?  " : "   ");
	return !goal_missed(r.low, r.high, goal > 0 ? goal : 0.95, INFINITY);
}

// The fastest candidate that is not ours: of single calls, or of all. Needs one.
std::size_t fastest_other(const std::vector<candidate> &all,
			  const std::vector<std::vector<double>> &speeds, bool batches)
{
	std::size_t fastest = all.size();

	for (std::size_t c = OURS; c < all.size(); c++)
		if ((batches || !all[c].batches) &&
		    (fastest == all.size() || middle(speeds[c]) > middle(speeds[fastest])))
			fastest = c;
	return fastest;
}

// Prints a row. `goals`: of single calls, and of batches. Returns whether both are reached.
bool compare(const work &w, const std::vector<candidate> &all, unsigned pairs,
	     const double (&goals)[2])
{
	std::vector<std::vector<double>> speeds(all.size());
	std::size_t count = 1 << 16;

	while (static_cast<double>(count) < 0.015 * all[0].run(w, count) / w.threads)
		count *= 2;
	for (unsigned i = 0; i < pairs; i++)
		for (std::size_t k = 0; k < all.size(); k++) {
			const std::size_t c = (i % 2 ? all.size() - 1 - k : k);
			speeds[c].push_back(all[c].run(w, count));
		}
	std::printf("%8zu %4u %% %s %7u", w.keys, w.reads, w.zipf ? "zipf   " : "uniform",
		    w.threads);
	for (const auto &speed : speeds)
		std::printf(" %9.1f", middle(speed) / 1e6);
	bool good = true;
	for (unsigned i = 0; i < OURS && all.size() > OURS; i++)
		good &= tell_ratio(speeds[i], speeds[fastest_other(all, speeds, all[i].batches)],
				   goals[i]);
	std::printf("\n");
	std::fflush(stdout);
	return good;
}

// 1, 2, 4, ... and all CPUs; two at least, for which there are goals.
std::vector<unsigned> thread_counts()
{
	const unsigned most = static_cast<unsigned>(cpus().size());
	std::vector<unsigned> counts{ 1, 2 };

	for (unsigned n = 4; n < most; n *= 2)
		counts.push_back(n);
	if (most > 2)
		counts.push_back(most);
	return counts;
}

bool compare_all(std::size_t keys, const std::vector<unsigned> &reads, bool zipf, unsigned pairs)
{
	const auto all = candidates(keys);
	const auto ranks = zipf ? zipf_keys(keys) : std::vector<std::uint32_t>();
	bool good = true;

	for (unsigned threads : thread_counts())
		for (unsigned share : reads) {
			const work w{ keys, share, threads, zipf ? &ranks : nullptr, true };
			const bool has = threads == 2 && (keys == 100000 || keys == 1000000) &&
					 (share == 50 || share == 95);
			const double goals[2] = { !has	 ? 0
						  : zipf ? 1.3
							 : 2,
						  !has		   ? 0
						  : zipf	   ? 1.3
						  : keys == 100000 ? 2
								   : 3 };
			good &= compare(w, all, pairs, goals);
		}
	return good;
}

// What being concurrent costs a single thread.
bool compare_sequential(std::size_t keys, bool scattered, const std::vector<unsigned> &reads,
			unsigned pairs)
{
	bool good = true;
#if HAVE_FLAT
	const auto best = single("best", filled<ours>(keys, scattered));
	const auto flat_map = single("flat", filled<flat>(keys, scattered));

	for (unsigned share : reads) {
		const work w{ keys, share, 1, nullptr, scattered };
		std::vector<double> a, b;
		for (unsigned i = 0; i < pairs; i++) {
			if (i % 2)
				b.push_back(flat_map.run(w, 1 << 18));
			a.push_back(best.run(w, 1 << 18));
			if (i % 2 == 0)
				b.push_back(flat_map.run(w, 1 << 18));
		}
		std::printf("%8zu %4u %% %-11s %9.1f %9.1f", keys, share,
			    scattered ? "scattered" : "consecutive", middle(a) / 1e6,
			    middle(b) / 1e6);
		const ratio r(b, a);
		std::printf("  at most 1.5: %s\n", goal_outcome(r.low, r.high, 0, 1.5));
		good &= !scattered || !goal_missed(r.low, r.high, 0, 1.5);
		std::fflush(stdout);
	}
#endif
	return good;
}

// Starts this program anew, with a malloc() that asks for huge pages.
void ask_for_huge_pages(char **argv)
{
	if (!setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0))
		execv("/proc/self/exe", argv);
}

// Names what was missing when this was built. Returns whether all is.
bool tell_missing()
{
	static const struct {
		bool there;
		const char *what;
	} others[] = {
		{ HAVE_BOOST, "boost::concurrent_flat_map (Boost from 1.83 on; PyPI: "
			      "boost-headers)" },
		{ HAVE_FLAT, "boost::unordered_flat_map (Boost from 1.81 on; PyPI: "
			     "boost-headers)" },
		{ HAVE_TBB, "oneTBB (Debian: libtbb-dev, Fedora: tbb-devel)" },
		{ HAVE_CUCKOO, "libcuckoo (Debian: libcuckoo-dev)" },
		{ HAVE_URCU, "liburcu (Debian: liburcu-dev, Fedora: userspace-rcu-devel)" },
	};
	bool all = true;

	for (const auto &other : others) {
		if (!other.there)
			std::printf("peers: %s is missing\n", other.what);
		all &= !other.there;
	}
	return all;
}

} // namespace

int main(int argc, char **argv)
{
	const unsigned pairs = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 9;
	std::vector<std::size_t> keys{ 1000, 10000, 100000, 1000000, 10000000 };
	std::vector<unsigned> reads{ 0, 50, 95, 100 };
	bool good = true;

	if (argc > 2)
		keys = { std::strtoul(argv[2], nullptr, 10) };
	if (argc > 3)
		reads = { static_cast<unsigned>(std::atoi(argv[3])) };
	if (pairs < LEAST_VALUES || !keys[0]) {
		std::fprintf(stderr, "usage: hashmap [PAIRS [KEYS [READS]]], PAIRS from %d on\n",
			     LEAST_VALUES);
		return 2;
	}
	if (!getenv("GLIBC_TUNABLES"))
		ask_for_huge_pages(argv);
	if (tell_missing())
		return 77;
	std::printf("%u turns each; millions of operations a second; best over the fastest other\n"
		    "    keys  reads keys   threads",
		    pairs);
	for (const auto &c : candidates(1))
		std::printf(" %9s", c.name);
	std::printf("  single calls         batches\n");
	for (std::size_t n : keys)
		good &= compare_all(n, reads, false, pairs);
	for (std::size_t n : keys)
		if (n == 100000 || n == 1000000)
			good &= compare_all(n, { 50, 95 }, true, pairs);
#if HAVE_FLAT
	std::printf("\none thread: boost::unordered_flat_map over best\n"
		    "    keys  reads keys             best      flat  ratio\n");
#endif
	for (std::size_t n : keys)
		for (bool scattered : { true, false })
			if (n <= 1000000)
				good &= compare_sequential(n, scattered, { 50, 95 }, pairs);
	return !good;
}
