// Command lines: a table of options, read and explained.
#pragma once

enum option_kind {
    OPTION_FLAG,    // int, set to 1
    OPTION_INT,     // long long, with bounds
    OPTION_NUMBER,  // double, not negative
    OPTION_TEXT,    // const char *
};

struct option_line {
    const char *name;  // --name
    enum option_kind kind;
    void *value;
    long long least, most;  // of OPTION_INT
    const char *help;
};

// Reads them, or ends the program: with status 0 after --help, with 2 and a line on standard error
// when they make no sense.
void options_read(int argc, char **argv, const char *purpose, const struct option_line *lines,
                  int count);

// Ends the program with status 2 and this line.
_Noreturn void options_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
