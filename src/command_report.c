/* `mtip report`: a run as one HTML page. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "io_atomic.h"
#include "report_page.h"

enum { PATH_SIZE = CONFIG_TEXT_SIZE + 64 };

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

static status write_page(const device *dev, const report_data *r, const report_samples *samples,
                         const char *path)
{
    atomic_file *file = NULL;
    if (is_stdout(path)) return report_print(dev, r, samples, stdout);
    TRY(atomic_begin_stream(path, &file));
    const status result = report_print(dev, r, samples, atomic_stream(file));
    if (result == STATUS_OK) return atomic_commit(file);
    atomic_abandon(file);
    return result;
}

/* *running: the page is worth writing again. */
static status report(const char *directory, const char *output, const device *dev, bool follow,
                     bool *running)
{
    report_data *r = NULL;
    report_samples samples;
    TRY(report_read(dev, directory, &r));
    *running = r->state == REPORT_RUNNING;
    status result = report_samples_read(dev, r, &samples);
    if (result == STATUS_OK) result = write_page(dev, r, &samples, output);
    if (result == STATUS_OK && !is_stdout(output) && (!*running || !follow)) printf("%s\n", output);
    report_samples_free(&samples);
    report_data_destroy(r);
    return result;
}

status command_report(const cli *c, comm *world)
{
    (void)world;
    const bool follow = cli_option_given(c, "--follow");
    const char *output = cli_option_text(c, "--output");
    char path[PATH_SIZE];
    device *dev = NULL;
    bool running = false;
    snprintf(path, sizeof path, "%s/report.html", c->arguments[0]);
    if (!output) output = path;
    if (follow && is_stdout(output))
        FAIL(STATUS_USAGE, "--follow writes the page again and again; give --output a file");
    TRY(device_create_cpu(0, &dev));
    status result;
    while ((result = report(c->arguments[0], output, dev, follow, &running)) == STATUS_OK &&
           follow && running)
        sleep(REPORT_REFRESH);
    device_destroy(dev);
    return result;
}
