// Time, as all programs of one machine see it: CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

static inline int64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static inline int64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

// User and system time of this process, all threads.
static inline int64_t process_cpu_ns(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

static inline void sleep_until(int64_t when) {
    const struct timespec time = {.tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S};
    // A signal ends the sleep early; the caller looks at the time anyway.
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

// In a loop that waits for the clock: lets the other hardware thread of the core run.
static inline void spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}
