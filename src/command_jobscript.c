/* `mtip jobscript`: a batch script from the settings and what they need. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "estimate.h"
#include "interrupt.h"
#include "jobscript.h"
#include "text.h"

/* Memory and time are asked for with this factor on their estimates, time in steps of this. */
static const double reserve = 1.25, time_step = 300;

/* -- texts -- */

/* Of letters, digits and signs that neither the shell nor a batch system takes for more. */
static bool is_plain(const char *text)
{
    static const char signs[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/=+@%-";
    return *text && strspn(text, signs) == strlen(text);
}

/* One word of the shell. */
static void write_quoted(const char *text, FILE *out)
{
    if (is_plain(text)) {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) return true;
    return false;
}

/* Everything written stands in a line of the script. */
static status check_arguments(const cli *c)
{
    for (int i = 0; i < c->n_arguments; i++)
        if (has_control(c->arguments[i]))
            FAIL(STATUS_USAGE, "argument %d holds a control character", i + 1);
    return STATUS_OK;
}

/* What an option says, the machine's `usual` where it is not given. */
static status read_word(const cli *c, const char *name, const char *usual, const char **word)
{
    static const char more[] = "[]()&|*!";
    *word = cli_option_text(c, name);
    if (!*word) *word = usual;
    for (const char *p = *word; p && *p; p++)
        if (!is_plain((const char[]){*p, 0}) && !strchr(more, *p))
            FAIL(STATUS_USAGE, "%s is '%s'; it is a name, without blanks and quotes", name, *word);
    return STATUS_OK;
}

/* A number without a sign at *text, which goes on behind it. */
static bool take_number(const char **text, long *value)
{
    char *end;
    if (!isdigit((unsigned char)**text)) return false;
    *value = strtol(*text, &end, 10);
    *text = end;
    return *value <= 1000000;
}

/* Numbers and ranges FIRST-LAST, with commas between them. */
static bool is_list(const char *text)
{
    for (;; text++) {
        long first, last;
        if (!take_number(&text, &first)) return false;
        if (*text == '-') {
            text++;
            if (!take_number(&text, &last) || last < first) return false;
        }
        if (*text != ',') return *text == 0;
    }
}

static status read_array(const cli *c, const char **array)
{
    *array = cli_option_text(c, "--array");
    if (*array && !is_list(*array))
        FAIL(STATUS_USAGE, "--array is '%s'; it is a list of numbers up to 1000000, such as 1-4,7",
             *array);
    return STATUS_OK;
}

static status read_count(const cli *c, const char *name, int least, int most, int *count)
{
    const char *text = cli_option_text(c, name);
    int64_t value = 0;
    if (!text) return STATUS_OK;
    if (text_int64(text, &value) != TEXT_NUMBER_OK || value < least || value > most)
        FAIL(STATUS_USAGE, "%s is '%s'; it must be an integer %d .. %d", name, text, least, most);
    *count = (int)value;
    return STATUS_OK;
}

/* -- the job -- */

static status find_machine(const cli *c, const machine **found)
{
    const char *name = cli_option_text(c, "--system");
    char all[256] = "";
    for (const machine *m = machines; m->name; m++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all ? ", " : "", m->name);
    if (!name) FAIL(STATUS_USAGE, "--system is missing; it is one of %s", all);
    *found = machine_find(name);
    if (!*found) FAIL(STATUS_USAGE, "--system is '%s'; it is one of %s", name, all);
    return STATUS_OK;
}

/* A rank for each GPU, two with MPS; on CPUs, one for eight cores. */
static int usual_ranks(const job *j)
{
    if (j->gpus > 0) return j->gpus * (j->mps ? 2 : 1);
    return j->cores >= 16 ? j->cores / 8 : 1;
}

static status read_node(const cli *c, const config *cfg, job *j)
{
    const machine *m = j->machine;
    const bool no_gpu = cfg->parallel.backend == CONFIG_BACKEND_CPU || cfg->run.deterministic;
    j->cores = m->cores;
    j->gpus = no_gpu ? 0 : m->gpus;
    j->memory = m->memory;
    TRY(read_count(c, "--cores", 1, m->cores ? m->cores : 4096, &j->cores));
    TRY(read_count(c, "--gpus", 0, m->cores ? m->gpus : 64, &j->gpus));
    TRY(read_count(c, "--memory", 1, m->memory ? m->memory : 1000000, &j->memory));
    if (j->cores == 0)
        FAIL(STATUS_USAGE, "--cores is missing: how many cores has a node of this cluster?");
    j->mps = cli_option_given(c, "--mps");
    if (j->mps && j->gpus == 0)
        FAIL(STATUS_USAGE, "--mps shares GPUs, but there are none; see --gpus");
    j->ranks = usual_ranks(j);
    TRY(read_count(c, "--ranks", 1, j->cores, &j->ranks));
    if (j->ranks > j->cores)
        FAIL(STATUS_USAGE, "%d ranks on the %d cores of a node; see --ranks", j->ranks, j->cores);
    return STATUS_OK;
}

/* The limit, 0 where it is to be measured. */
static status read_time(const cli *c, job *j)
{
    double seconds = 0;
    const char *text = cli_option_text(c, "--time");
    if (text && strcmp(text, "auto") == 0) return STATUS_OK;
    TRY(time_limit_parse("--time", text ? text : "1:00:00", &seconds));
    if (seconds < 60 || seconds > 1e8)
        FAIL(STATUS_USAGE, "--time is '%s'; it must be a minute to three years", text);
    j->seconds = (int64_t)ceil(seconds);
    return STATUS_OK;
}

static status read_job(const cli *c, const config *cfg, job *j)
{
    TRY(check_arguments(c));
    TRY(find_machine(c, &j->machine));
    j->nodes = 1;
    TRY(read_count(c, "-N", 1, 1000000, &j->nodes));
    TRY(read_node(c, cfg, j));
    TRY(read_time(c, j));
    TRY(read_word(c, "--account", NULL, &j->account));
    TRY(read_word(c, "--queue", j->machine->queue, &j->queue));
    TRY(read_word(c, "--constraint", j->machine->constraint, &j->constraint));
    TRY(read_word(c, "--mpi", j->machine->mpi, &j->mpi));
    TRY(read_array(c, &j->array));
    if (j->machine->needs_account && !j->account)
        FAIL(STATUS_USAGE, "--account is missing: the project that pays on %s", j->machine->name);
    return STATUS_OK;
}

/* -- what is run -- */

static bool is_reconstruction(const cli *c)
{
    return c->n_arguments == 1;
}

static status load_settings(const cli *c, config *cfg)
{
    if (is_reconstruction(c)) {
        TRY(config_load(c->arguments[0], c->n_sets, c->sets, cfg));
        return config_check(cfg, CONFIG_FOR_RECONSTRUCT);
    }
    if (c->n_sets > 0) FAIL(STATUS_USAGE, "--set goes with a CONFIG, not with a command");
    if (cli_option_given(c, "--array"))
        FAIL(STATUS_USAGE, "--array goes with a CONFIG, not with a command");
    if (cli_option_given(c, "--time") && strcmp(cli_option_text(c, "--time"), "auto") == 0)
        FAIL(STATUS_USAGE, "--time auto goes with a CONFIG, not with a command");
    for (int i = 0; i < n_commands; i++)
        if (strcmp(commands[i].name, c->arguments[0]) == 0) return STATUS_OK;
    FAIL(STATUS_USAGE, "'%s' is no command; write mtip jobscript .. CONFIG, or .. -- bench mtip ..",
         c->arguments[0]);
}

/* The command that the job runs. */
static void write_command(const cli *c, const config *cfg, FILE *out)
{
    (void)cfg;
    if (is_reconstruction(c)) fputs("reconstruct ", out);
    for (int i = 0; i < c->n_arguments; i++) {
        if (i > 0) fputc(' ', out);
        write_quoted(c->arguments[i], out);
    }
    for (int i = 0; i < c->n_sets; i++) {
        fputs(" --set ", out);
        write_quoted(c->sets[i], out);
    }
}

/* The command line of this program that gives the same script. */
static void write_origin(const cli *c, const config *cfg, FILE *out)
{
    (void)cfg;
    fputs("mtip jobscript", out);
    for (int i = 0; c->command->options[i].name; i++) {
        const char *name = c->command->options[i].name;
        if (!c->values[i] || strcmp(name, "--output") == 0) continue;
        fprintf(out, " %s", name);
        if (!c->command->options[i].value) continue;
        fputc(' ', out);
        write_quoted(c->values[i], out);
    }
    for (int i = 0; i < c->n_sets; i++) {
        fputs(" --set ", out);
        write_quoted(c->sets[i], out);
    }
    if (!is_reconstruction(c)) fputs(" --", out);
    for (int i = 0; i < c->n_arguments; i++) {
        fputc(' ', out);
        write_quoted(c->arguments[i], out);
    }
}

static void write_directory(const cli *c, const config *cfg, FILE *out)
{
    (void)c;
    write_quoted(cfg->run.directory, out);
}

typedef void (*writer)(const cli *c, const config *cfg, FILE *out);

/* What it writes, as a string for the caller to free. */
static status text_of(writer write, const cli *c, const config *cfg, char **text)
{
    size_t size = 0;
    FILE *out = open_memstream(text, &size);
    if (!out) FAIL(STATUS_RESOURCE, "out of host memory");
    write(c, cfg, out);
    if (fclose(out) != 0) FAIL(STATUS_RESOURCE, "out of host memory");
    return STATUS_OK;
}

/* -- memory and time -- */

static int64_t bytes_of(int gib)
{
    return gib > 0 ? (int64_t)gib << 30 : -1;
}

/* The time as well where that is to be measured. */
static status make_estimate(const config *cfg, const job *j, estimate *e)
{
    const int ranks = j->nodes * j->ranks, gpus = j->nodes * j->gpus;
    const estimate_place place = {.ranks = ranks,
                                  .nodes = j->nodes,
                                  .gpus = gpus < ranks ? gpus : ranks,
                                  .host_bytes = bytes_of(j->memory),
                                  .gpu_bytes = bytes_of(j->machine->gpu_memory)};
    comm *alone = NULL;
    if (j->seconds == 0) TRY(comm_start(NULL, NULL, &alone));
    const status result = estimate_make(cfg, alone, &place, e);
    comm_finish(alone);
    return result;
}

/* Refuses what will not fit, and asks for what a node needs where the user does not; settings whose
   data are elsewhere are taken as they are. */
static status plan(const config *cfg, job *j)
{
    estimate e = {.seconds = NAN};
    char text[FORECAST_TEXT];
    const status result = make_estimate(cfg, j, &e);
    if (result == STATUS_INPUT && j->seconds > 0) {
        log_warning("the script is written without an estimate of its memory: %s",
                    status_message());
        return STATUS_OK;
    }
    TRY(result);
    log_info("a rank needs %s", forecast_text(&e.memory, text));
    if (j->memory == 0) j->memory = (int)ceil(reserve * j->ranks * (double)e.memory.host / 0x1p30);
    TRY(estimate_check(&e, INFINITY));
    if (j->seconds > 0) return STATUS_OK;
    if (isnan(e.seconds)) FAIL(STATUS_RESOURCE, "--time auto cannot be measured here; give a time");
    log_info("on processors like those here the run takes about %.0f s", e.seconds);
    j->seconds = (int64_t)(time_step * ceil(reserve * e.seconds / time_step));
    return STATUS_OK;
}

/* -- the script -- */

static void write_script(const job *j, FILE *out)
{
    (j->machine->scheduler == SCHEDULER_SLURM ? jobscript_slurm : jobscript_lsf)(j, out);
}

/* To a new file, or to stdout, which main checks. */
static status write_out(const job *j, const char *path)
{
    if (!path || strcmp(path, "-") == 0) {
        write_script(j, stdout);
        return STATUS_OK;
    }
    FILE *file = fopen(path, "wx");
    if (!file)
        FAIL(STATUS_OUTPUT, "cannot write %s: %s", path,
             errno == EEXIST ? "it exists, and is not written over" : strerror(errno));
    write_script(j, file);
    const int lost = ferror(file);
    if (fclose(file) != 0 || lost) FAIL(STATUS_OUTPUT, "cannot write %s: is the disk full?", path);
    return STATUS_OK;
}

status command_jobscript(const cli *c, comm *world)
{
    static config cfg;
    job j = {.nodes = 1};
    char *words = NULL, *origin = NULL, *directory = NULL;
    status result = STATUS_OK;
    (void)world;
    config_default(&cfg);
    TRY(load_settings(c, &cfg));
    TRY(read_job(c, &cfg, &j));
    if (is_reconstruction(c)) TRY(plan(&cfg, &j));
    TRY_OR(done, text_of(write_command, c, &cfg, &words));
    TRY_OR(done, text_of(write_origin, c, &cfg, &origin));
    if (is_reconstruction(c)) TRY_OR(done, text_of(write_directory, c, &cfg, &directory));
    j.command = words;
    j.written_by = origin;
    j.directory = directory;
    result = write_out(&j, cli_option_text(c, "--output"));
done:
    free(words);
    free(origin);
    free(directory);
    return result;
}
