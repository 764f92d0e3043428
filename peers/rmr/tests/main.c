// rmr-conformance: holds an RMR library to what applications rely on.
#include "main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

// A library that hangs fails.
#define TEST_SECONDS 90
// What CTest takes for "skipped".
#define SKIPPED 77

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#define TEST_ENTRY(name) {#name, test_##name},
    TESTS(TEST_ENTRY)
#undef TEST_ENTRY
};

// What a library is known not to do. Such a test is not run: take away --as to see it.
static const struct {
    const char *library;
    const char *test;
    const char *why;
    int fails;
} known[] = {
#include "known.inc"
};

static const char usage[] =
    "rmr-conformance --library FILE [--peer FILE] [--as NAME] [--list] [TEST ...]\n"
    "\n"
    "Runs the tests (all without a name) against an RMR library.\n"
    "  --library FILE  the shared library\n"
    "  --peer FILE     another one for those without routes, who receive, answer or manage: do\n"
    "                  the two work together?\n"
    "  --as NAME       whose known deviations hold: si95, native, nng (Corewire's transports), "
    "grpc,\n"
    "                  upstream, upstream-nng; without it every deviation is a failure\n"
    "  --list          print the names of the tests\n"
    "Status: 0 all passed, 1 a test failed, 77 skipped (a single test that does not apply).\n";

// A name without '/' is a file here, and not one to be looked for where libraries are.
static const char *whole_path(const char *name) {
    const char *path = realpath(name, NULL);
    return path != NULL ? path : name;
}

// 0 passed, 1 failed, SKIPPED.
static int run_one(const char *library, const char *peer, const char *as, unsigned index) {
    const char *name = tests[index].name;
    for (unsigned i = 0; i < LENGTH(known); ++i) {
        if (as == NULL || strcmp(known[i].library, as) != 0 || strcmp(known[i].test, name) != 0) {
            continue;
        }
        printf("%-22s %s: %s\n", name, known[i].fails ? "known to fail" : "not for this library",
               known[i].why);
        return SKIPPED;
    }
    fflush(stdout);
    harness_open(library, peer);
    const double begin = milliseconds();
    const pid_t process = fork();
    if (process == 0) {
        alarm(TEST_SECONDS);
        setpgid(0, 0);
        tests[index].run();
        board->stop = 1;
        harness_end_actors();
        exit(0);
    }
    int status = 0;
    waitpid(process, &status, 0);
    printf("%-22s %s  %.1f s\n", name, status == 0 ? "passed" : "FAILED",
           (milliseconds() - begin) / 1000);
    return status == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
    const char *library = NULL;
    const char *peer = NULL;
    const char *as = NULL;
    int at = 1;
    for (; at < count && strncmp(arguments[at], "--", 2) == 0; ++at) {
        if (strcmp(arguments[at], "--list") == 0) {
            for (unsigned i = 0; i < LENGTH(tests); ++i) puts(tests[i].name);
            return 0;
        }
        const char **value = strcmp(arguments[at], "--library") == 0 ? &library
                             : strcmp(arguments[at], "--peer") == 0  ? &peer
                             : strcmp(arguments[at], "--as") == 0    ? &as
                                                                     : NULL;
        if (value != NULL && at + 1 < count) {
            *value = arguments[++at];
        } else {
            fputs(usage, strcmp(arguments[at], "--help") == 0 ? stdout : stderr);
            return strcmp(arguments[at], "--help") == 0 ? 0 : 2;
        }
    }
    if (library == NULL) {
        fputs(usage, stderr);
        return 2;
    }
    library = whole_path(library);
    if (peer != NULL) peer = whole_path(peer);
    int failed = 0;
    int skipped = 0;
    int ran = 0;
    for (unsigned i = 0; i < LENGTH(tests); ++i) {
        int wanted = at == count;
        for (int name = at; name < count; ++name)
            wanted |= strcmp(arguments[name], tests[i].name) == 0;
        if (!wanted) continue;
        const int result = run_one(library, peer, as, i);
        ++ran;
        failed += result == 1;
        skipped += result == SKIPPED;
    }
    if (ran == 0) {
        fprintf(stderr, "rmr-conformance: no such test; --list names them\n");
        return 2;
    }
    if (ran > 1) printf("%d tests, %d failed, %d skipped\n", ran, failed, skipped);
    return failed > 0 ? 1 : skipped == ran ? SKIPPED : 0;
}
