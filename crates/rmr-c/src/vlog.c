/* The C half of rmr_vlog: stable Rust cannot read variable arguments. */
#include <stdarg.h>
#include <stdio.h>

/* log.rs */
extern int corewire_rmr_log_wanted(int level, int force);
extern void corewire_rmr_log_text(int level, const char *text);

/* Longer lines are cut. */
enum { LONGEST_LINE = 4096 };

static void write_line(int level, int force, const char *format, va_list arguments) {
    char text[LONGEST_LINE];
    if (format == NULL || !corewire_rmr_log_wanted(level, force)) {
        return;
    }
    if (vsnprintf(text, sizeof(text), format, arguments) >= 0) {
        corewire_rmr_log_text(level, text);
    }
}

__attribute__((visibility("hidden"))) void corewire_rmr_vlog(int level, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(level, 0, format, arguments);
    va_end(arguments);
}

__attribute__((visibility("hidden"))) void corewire_rmr_vlog_force(int level, const char *format,
                                                                   ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(level, 1, format, arguments);
    va_end(arguments);
}
