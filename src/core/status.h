/* status.h: what every function that can fail returns, and the message that goes with it.

   The first function to notice a failure writes one sentence with FAIL; callers pass the code on
   with TRY.  Libraries never print or exit: main.c prints the message once and exits with
   status_exit_code().  The message belongs to the calling thread: inside an OpenMP region set a
   flag and FAIL after it. */
#ifndef MTIP_STATUS_H
#define MTIP_STATUS_H

/*  name        exit  meaning */
#define STATUS_LIST(X)                               \
    X(OK, 0, "done")                                 \
    X(INTERNAL, 1, "internal error")                 \
    X(USAGE, 2, "usage error")                       \
    X(CONFIG, 3, "config error")                     \
    X(INPUT, 4, "input data error")                  \
    X(RESOURCE, 5, "resources")                      \
    X(OUTPUT, 6, "output error")                     \
    X(NUMERIC, 7, "numerical error")                 \
    X(PARALLEL, 8, "MPI or peer error")              \
    X(INVALID, 1, "invalid argument")                \
    X(UNSUPPORTED, 5, "not supported by this build") \
    X(FAULT, 5, "fault of a GPU")                    \
    X(STOPPED, 85, "stopped early with a good checkpoint")

#define STATUS_ENUM(name, exit_code, text) STATUS_##name,
typedef enum
#ifdef __clang__
    __attribute__((warn_unused_result))
#endif
    status {
        STATUS_LIST(STATUS_ENUM) STATUS_COUNT
    } status;
#undef STATUS_ENUM

/* Bytes of the longest message, the closing 0 included. */
enum { STATUS_MESSAGE_SIZE = 8192 };

/* Stores the sentence and gives the code, for a function that has to go on: ranks wait for it in
   comm_agree, or it owns something. */
#define FAILED(code, ...) \
    ((void)status_fail((code), __FILE__, __LINE__, __VA_ARGS__), (status)(code))

#define FAIL(code, ...) return FAILED(code, __VA_ARGS__)

#define TRY(call)                                       \
    do {                                                \
        status try_status = (call);                     \
        if (try_status != STATUS_OK) return try_status; \
    } while (0)

/* For functions that own something: they declare `status result = STATUS_OK;`, end in a label
   that frees, and return result. */
#define TRY_OR(label, call)                  \
    do {                                     \
        result = (call);                     \
        if (result != STATUS_OK) goto label; \
    } while (0)

/* Stores the place and the sentence in the thread's message and returns code. */
status status_fail(status code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The last sentence stored by this thread ("" if none), and "file:line" where it was noticed. */
const char *status_message(void);
const char *status_place(void);

/* Puts "prefix: " before the stored message; returns code, so that it can stand in a TRY. */
status status_prefix(status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes another rank's or thread's message this thread's own; returns code. */
status status_adopt(status code, const char *other_place, const char *other_message);

int status_exit_code(status code);
const char *status_text(status code);

#endif
