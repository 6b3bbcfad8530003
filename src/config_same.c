#include "config_same.h"

#include <stdlib.h>
#include <string.h>

#include "core/checksum.h"

/* Takes from `other` what does not change the results. */
static void take_harmless(config *c, const config *other)
{
    c->molecule = other->molecule;
    c->beam = other->beam;
    c->detector = other->detector;
    c->simulate = other->simulate;
    c->parallel = other->parallel;
    memcpy(c->run.directory, other->run.directory, sizeof c->run.directory);
    c->run.checkpoint_minutes = other->run.checkpoint_minutes;
    c->run.checkpoint_generations = other->run.checkpoint_generations;
    c->run.hang_timeout = other->run.hang_timeout;
    c->run.check_invariants = other->run.check_invariants;
    c->match.memory = other->match.memory;
}

status config_same(const config *before, const config *now, bool same_data, const char *what)
{
    char list[1024];
    config *comparable = malloc(sizeof *comparable);
    if (!comparable) FAIL(STATUS_RESOURCE, "out of host memory");
    *comparable = *before;
    take_harmless(comparable, now);
    if (same_data) memcpy(comparable->data.file, now->data.file, sizeof now->data.file);
    const int n = config_differences(comparable, now, list, sizeof list);
    free(comparable);
    if (n > 0)
        FAIL(STATUS_CONFIG,
             "%s was made with other settings: %s changed; change %s back, choose another "
             "run.directory, or begin anew with --fresh, which moves the old run away",
             what, list, n > 1 ? "them" : "it");
    return STATUS_OK;
}

status config_checksum(const config *c, uint64_t *sum)
{
    char *text = NULL;
    status result = STATUS_OK;
    config *comparable = malloc(2 * sizeof *comparable);
    if (!comparable) FAIL(STATUS_RESOURCE, "out of host memory");
    config_default(comparable + 1);
    *comparable = *c;
    take_harmless(comparable, comparable + 1);
    TRY_OR(done, config_text(comparable, &text));
    *sum = checksum(text, strlen(text));
done:
    free(text);
    free(comparable);
    return result;
}
