#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void options_refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("; --help explains the options\n", stderr);
    exit(2);
}

static void explain(const char *program, const char *purpose, const struct option_line *lines,
                    int count) {
    static const char *const values[] = {"", " N", " X", " TEXT"};
    printf("%s: %s\n\n", program, purpose);
    for (int at = 0; at < count; ++at) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s", lines[at].name, values[lines[at].kind]);
        printf("  %-22s %s\n", left, lines[at].help);
    }
    exit(0);
}

static void set(const struct option_line *line, const char *text) {
    char *end = NULL;
    errno = 0;
    switch (line->kind) {
        case OPTION_TEXT:
            *(const char **)line->value = text;
            return;
        case OPTION_INT: {
            const long long value = strtoll(text, &end, 10);
            if (errno != 0 || end == text || *end != '\0' || value < line->least ||
                value > line->most) {
                options_refuse("--%s %s: a number from %lld to %lld", line->name, text, line->least,
                               line->most);
            }
            *(long long *)line->value = value;
            return;
        }
        case OPTION_NUMBER: {
            const double value = strtod(text, &end);
            if (errno != 0 || end == text || *end != '\0' || !(value >= 0 && value < 1e9)) {
                options_refuse("--%s %s: a number that is not negative", line->name, text);
            }
            *(double *)line->value = value;
            return;
        }
        case OPTION_FLAG:
            return;
    }
}

void options_read(int argc, char **argv, const char *purpose, const struct option_line *lines,
                  int count) {
    for (int at = 1; at < argc; ++at) {
        if (strcmp(argv[at], "--help") == 0) explain(argv[0], purpose, lines, count);
        const struct option_line *found = NULL;
        for (int line = 0; line < count; ++line) {
            if (strncmp(argv[at], "--", 2) == 0 && strcmp(argv[at] + 2, lines[line].name) == 0) {
                found = &lines[line];
            }
        }
        if (found == NULL) options_refuse("unknown option %s", argv[at]);
        if (found->kind == OPTION_FLAG) {
            *(int *)found->value = 1;
            continue;
        }
        if (++at == argc) options_refuse("--%s needs a value", found->name);
        set(found, argv[at]);
    }
}
