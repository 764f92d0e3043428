// Between the program and the harness.
#pragma once

void harness_open(const char *library, const char *peer);
void harness_end_actors(void);
