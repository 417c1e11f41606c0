// SPDX-License-Identifier: Apache-2.0
// Other ways to run actors, as far as they are installed: oneTBB, Taskflow, CAF. Each is used as
// its documentation says: a message that is done schedules the next one of its actor.
#include "executors.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <vector>

#include "bench/actors/bodies.h"

#ifdef HAVE_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#endif
#if __has_include(<taskflow/taskflow.hpp>)
#include <taskflow/taskflow.hpp>
#define HAVE_TASKFLOW
#endif
#ifdef HAVE_CAF
#include <caf/all.hpp>
#endif

namespace
{

struct one {
	const peers_work *work;
	std::uint32_t *state;
	std::uint64_t ran = 0;

	bool handle()
	{
		peers_note(work, this);
		bodies_walk(state, work->words, work->touched, ran++);
		return ran < work->hops;
	}
};

std::vector<one> all(const peers_work *w)
{
	std::vector<one> actors(w->actors);

	for (std::size_t i = 0; i < w->actors; i++) {
		actors[i].work = w;
		actors[i].state = reinterpret_cast<std::uint32_t *>(w->states + i * w->stride);
	}
	return actors;
}

double now()
{
	using namespace std::chrono;
	return duration<double>(steady_clock::now().time_since_epoch()).count();
}

#ifdef HAVE_TBB
void turn_in(tbb::task_group &group, one *a)
{
	if (a->handle())
		group.run([&group, a] { turn_in(group, a); });
}

struct queue {
	tbb::task_arena arena;
	std::atomic<std::size_t> left;
	std::promise<void> done;

	queue(int threads, std::size_t actors) : arena(threads, 0), left(actors)
	{
	}

	void turn(one *a)
	{
		if (a->handle())
			arena.enqueue([this, a] { turn(a); });
		else if (--left == 0)
			done.set_value();
	}
};
#endif

#ifdef HAVE_TASKFLOW
void turn_on(tf::Executor &executor, one *a)
{
	if (a->handle())
		executor.silent_async([&executor, a] { turn_on(executor, a); });
}
#endif

#ifdef HAVE_CAF
caf::behavior caf_actor(caf::event_based_actor *self, one *a)
{
	return { [self, a](int go) {
		if (a->handle())
			self->send(self, go);
		else
			self->quit();
	} };
}
#endif

} // namespace

double peers_task_group(const peers_work *w)
{
#ifdef HAVE_TBB
	const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, w->threads);
	tbb::task_arena arena(static_cast<int>(w->threads));
	auto actors = all(w);
	double began = 0;

	arena.execute([&] {
		tbb::task_group group;

		began = now();
		for (auto &a : actors)
			group.run([&group, &a] { turn_in(group, &a); });
		group.wait();
	});
	return now() - began;
#else
	(void)w;
	return NAN;
#endif
}

double peers_enqueue(const peers_work *w)
{
#ifdef HAVE_TBB
	const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
					w->threads + 1);
	queue q(static_cast<int>(w->threads), w->actors);
	auto actors = all(w);
	const double began = now();

	for (auto &a : actors)
		q.arena.enqueue([&q, &a] { q.turn(&a); });
	q.done.get_future().wait();
	return now() - began;
#else
	(void)w;
	return NAN;
#endif
}

double peers_taskflow(const peers_work *w)
{
#ifdef HAVE_TASKFLOW
	tf::Executor executor(w->threads);
	auto actors = all(w);
	const double began = now();

	for (auto &a : actors)
		executor.silent_async([&executor, &a] { turn_on(executor, &a); });
	executor.wait_for_all();
	return now() - began;
#else
	(void)w;
	return NAN;
#endif
}

double peers_caf(const peers_work *w)
{
#ifdef HAVE_CAF
	caf::actor_system_config config;
	auto actors = all(w);
	double began;

#if CAF_VERSION < 1800
	config.set("scheduler.max-threads", w->threads);
#else
	config.set("caf.scheduler.max-threads", w->threads);
#endif
	{
		caf::actor_system system{ config };
		std::vector<caf::actor> handles;

		for (auto &a : actors)
			handles.push_back(system.spawn(caf_actor, &a));
		began = now();
		for (const auto &handle : handles)
			caf::anon_send(handle, 1);
		handles.clear();
		system.await_all_actors_done();
		return now() - began;
	}
#else
	(void)w;
	return NAN;
#endif
}
