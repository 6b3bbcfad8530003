/* assert_ok.h: a status that must be STATUS_OK; after cmocka.h. */
#ifndef ASSERT_OK_H
#define ASSERT_OK_H

#include "core/status.h"

#define assert_ok(call)                                       \
    do {                                                      \
        status ok_status = (call);                            \
        if (ok_status != STATUS_OK) {                         \
            print_error("%s: %s\n", #call, status_message()); \
            fail();                                           \
        }                                                     \
    } while (0)

#endif
