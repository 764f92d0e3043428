/*
 * The log, in C because stable Rust cannot read variable arguments, and because nothing here may
 * need a symbol of Rust's: those would leave the shared library.
 *
 * A line is written at or below the level of the process, to standard error, in one write.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Longer lines are cut. */
enum { LONGEST_LINE = 4096 };

enum { QUIETEST = -1, ERROR_LEVEL = 2, MOST_TALKATIVE = 5 };

static atomic_int level = ERROR_LEVEL;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Reads the level from the environment; gives the level in force. */
HIDDEN int corewire_rmr_log_init(void) {
    const char *text = getenv("RMR_LOG_VLEVEL");
    if (text != NULL) {
        long wanted = strtol(text, NULL, 10);
        wanted = wanted < QUIETEST ? QUIETEST : wanted > MOST_TALKATIVE ? MOST_TALKATIVE : wanted;
        atomic_store(&level, (int)wanted);
    }
    return atomic_load(&level);
}

static void init_once(void) { corewire_rmr_log_init(); }

HIDDEN int corewire_rmr_log_level(void) {
    pthread_once(&once, init_once);
    return atomic_load(&level);
}

/* Negative levels are ignored, as they always were. */
HIDDEN void corewire_rmr_log_set_level(int wanted) {
    pthread_once(&once, init_once);
    if (wanted >= 0) {
        atomic_store(&level, wanted);
    }
}

/* Writes a line; adds the end that it may lack. */
HIDDEN void corewire_rmr_log_put(int line_level, const char *text, size_t length) {
    static const char *const situations[] = {"OFF", "CRIT", "ERR", "WARN", "INFO", "DBUG"};
    const char *situation =
        situations[line_level < 0 || line_level > MOST_TALKATIVE ? MOST_TALKATIVE : line_level];
    struct timespec now = {0, 0};
    char line[LONGEST_LINE + 64];
    clock_gettime(CLOCK_REALTIME, &now);
    int head =
        snprintf(line, sizeof(line), "%lld %d/RMR [%s] ",
                 (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, (int)getpid(), situation);
    if (head < 0) {
        return;
    }
    size_t room = sizeof(line) - (size_t)head - 1;
    length = length < room ? length : room;
    memcpy(line + head, text, length);
    size_t end = (size_t)head + length;
    if (line[end - 1] != '\n') {
        line[end++] = '\n';
    }
    if (write(STDERR_FILENO, line, end) < 0) {
        return; /* nobody can be told */
    }
}

static void format_line(int line_level, const char *format, va_list arguments) {
    char text[LONGEST_LINE];
    int length = format == NULL ? -1 : vsnprintf(text, sizeof(text), format, arguments);
    if (length >= 0) {
        size_t kept = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
        corewire_rmr_log_put(line_level, text, kept);
    }
}

/* rmr_vlog */
HIDDEN void corewire_rmr_vlog(int line_level, const char *format, ...) {
    if (line_level > corewire_rmr_log_level()) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    format_line(line_level, format, arguments);
    va_end(arguments);
}

/* rmr_vlog_force */
HIDDEN void corewire_rmr_vlog_force(int line_level, const char *format, ...) {
    if (corewire_rmr_log_level() <= 0) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    format_line(line_level, format, arguments);
    va_end(arguments);
}
