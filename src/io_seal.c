#include "io_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/checksum.h"

enum { PIECE = 1 << 20 };

static const char last_line[] = "checksum: ";

/* Fills a buffer as far as the file goes; -1 on failure. */
static ssize_t read_piece(int fd, char *buffer, size_t size)
{
    size_t n = 0;
    while (n < size) {
        const ssize_t got = read(fd, buffer + n, size - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

/* Of the block and all that follows it. */
static bool sum_file(int fd, const char block[SEAL_SIZE], uint64_t *sum)
{
    char *buffer = malloc(PIECE);
    ssize_t n = buffer && lseek(fd, SEAL_SIZE, SEEK_SET) == SEAL_SIZE ? 0 : -1;
    *sum = checksum(block, SEAL_SIZE);
    while (n >= 0) {
        n = read_piece(fd, buffer, PIECE);
        if (n <= 0) break;
        *sum = checksum_add(*sum, buffer, (size_t)n);
    }
    free(buffer);
    return n == 0;
}

static status write_block(int fd, const char *path, const char *about)
{
    char block[SEAL_SIZE] = "";
    uint64_t sum = 0;
    snprintf(block, sizeof block - 64, "%s", about);
    if (!sum_file(fd, block, &sum))
        FAIL(STATUS_OUTPUT, "%s: cannot read it again: %s", path, strerror(errno));
    const size_t used = strlen(block);
    snprintf(block + used, sizeof block - used, "%s%016" PRIx64 "\n", last_line, sum);
    if (pwrite(fd, block, sizeof block, 0) != (ssize_t)sizeof block)
        FAIL(STATUS_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
    return STATUS_OK;
}

status seal_write(const char *path, const char *about)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) FAIL(STATUS_OUTPUT, "%s: cannot open it again: %s", path, strerror(errno));
    status result = write_block(fd, path, about);
    if (close(fd) != 0 && result == STATUS_OK)
        result = FAILED(STATUS_OUTPUT, "%s: cannot close: %s", path, strerror(errno));
    return result;
}

static status check_block(int fd, const char *path, char about[SEAL_SIZE])
{
    char block[SEAL_SIZE + 1] = "", wanted[SEAL_SIZE], found[sizeof last_line + 17] = "";
    uint64_t sum = 0;
    if (read_piece(fd, block, SEAL_SIZE) != SEAL_SIZE) FAIL(STATUS_INPUT, "%s: is cut short", path);
    char *line = strstr(block, last_line);
    if (!line || line - block > SEAL_SIZE - 64)
        FAIL(STATUS_INPUT, "%s: does not begin with a text and a checksum", path);
    memcpy(found, line, sizeof found - 1);
    memset(line, 0, sizeof found - 1);
    if (!sum_file(fd, block, &sum))
        FAIL(STATUS_INPUT, "%s: cannot read: %s", path, strerror(errno));
    snprintf(wanted, sizeof wanted, "%s%016" PRIx64 "\n", last_line, sum);
    if (strcmp(found, wanted) != 0)
        FAIL(STATUS_INPUT, "%s: the checksum is wrong: bytes were changed, or are missing", path);
    memcpy(about, block, SEAL_SIZE);
    return STATUS_OK;
}

status seal_check(const char *path, char about[SEAL_SIZE])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) FAIL(STATUS_INPUT, "%s: cannot open: %s", path, strerror(errno));
    const status result = check_block(fd, path, about);
    close(fd);
    return result;
}
