#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[STATUS_MESSAGE_SIZE];
static _Thread_local char place[256];

status status_fail(status code, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char *base = strrchr(file, '/');
    snprintf(place, sizeof place, "%s:%d", base ? base + 1 : file, line);
    return code;
}

status status_prefix(status code, const char *format, ...)
{
    if (code == STATUS_OK) return code;
    char old[STATUS_MESSAGE_SIZE];
    memcpy(old, message, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (n >= 0 && n < STATUS_MESSAGE_SIZE)
        snprintf(message + n, sizeof message - (size_t)n, ": %s", old);
    return code;
}

status status_adopt(status code, const char *other_place, const char *other_message)
{
    snprintf(message, sizeof message, "%s", other_message);
    snprintf(place, sizeof place, "%s", other_place);
    return code;
}

const char *status_message(void)
{
    return message;
}

const char *status_place(void)
{
    return place;
}

int status_exit_code(status code)
{
#define STATUS_EXIT(name, exit_code, text) exit_code,
    static const int codes[] = {STATUS_LIST(STATUS_EXIT)};
    return code >= 0 && code < STATUS_COUNT ? codes[code] : 1;
}

const char *status_text(status code)
{
#define STATUS_NAME(name, exit_code, text) text,
    static const char *const texts[] = {STATUS_LIST(STATUS_NAME)};
    return code >= 0 && code < STATUS_COUNT ? texts[code] : "unknown status";
}
