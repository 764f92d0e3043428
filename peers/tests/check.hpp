// The smallest of test frameworks: a failed check ends the program with the place and the text.
#pragma once

#include <cstdlib>
#include <iostream>

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::cerr << __FILE__ << ":" << __LINE__ << ": failed: " #condition << '\n'; \
            std::exit(1);                                                                \
        }                                                                                \
    } while (false)

#define CHECK_EQUAL(left, right)                                                      \
    do {                                                                              \
        const auto left_value = (left);                                               \
        const auto right_value = (right);                                             \
        if (!(left_value == right_value)) {                                           \
            std::cerr << __FILE__ << ":" << __LINE__ << ": " #left " == " #right ": " \
                      << left_value << " against " << right_value << '\n';            \
            std::exit(1);                                                             \
        }                                                                             \
    } while (false)

/// `expression` throws `Exception`, and its text contains `part`.
#define CHECK_THROWS(expression, Exception, part)                                 \
    do {                                                                          \
        bool thrown = false;                                                      \
        try {                                                                     \
            static_cast<void>(expression);                                        \
        } catch (const Exception& error) {                                        \
            thrown = true;                                                        \
            if (std::string(error.what()).find(part) == std::string::npos) {      \
                std::cerr << __FILE__ << ":" << __LINE__ << ": '" << error.what() \
                          << "' does not contain '" << (part) << "'\n";           \
                std::exit(1);                                                     \
            }                                                                     \
        }                                                                         \
        if (!thrown) {                                                            \
            std::cerr << __FILE__ << ":" << __LINE__                              \
                      << ": " #expression " throws no " #Exception "\n";          \
            std::exit(1);                                                         \
        }                                                                         \
    } while (false)
