/* page_tool.c: for test scripts: whether an HTML page or SVG picture is well-formed XML that needs nothing
   from elsewhere.

     page_tool FILE ID...    elements with these ids are there

   Names the first line that is wrong: a tag that is not closed, an attribute without quotes, a '&' that
   begins no entity, an id twice; a reference to anything but data and places in the page; a script; a number that
   is none (nan, inf) outside of <pre>. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, NAME = 32, IDS = 256 };

typedef struct page {
    char *text, *at;
    char open[DEPTH][NAME];
    int depth;
    char ids[IDS][NAME];
    int n_ids;
} page;

static void fail(const page *p, const char *format, ...)
{
    int line = 1;
    va_list arguments;
    for (const char *c = p->text; c < p->at; c++)
        line += *c == '\n';
    printf("line %d: ", line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(": %.60s\n", p->at);
    exit(1);
}

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void take_name(page *p, char name[NAME])
{
    size_t n = 0;
    while (isalnum((unsigned char)*p->at) || (*p->at && strchr("-:_", *p->at))) {
        if (n + 1 == NAME) fail(p, "a long name");
        name[n++] = *p->at++;
    }
    name[n] = 0;
    if (n == 0) fail(p, "expected a name");
}

static void check_entity(page *p)
{
    static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;"};
    for (int i = 0; i < 4; i++)
        if (begins(p->at, known[i])) return;
    fail(p, "a '&' that begins no entity");
}

/* printf writes numbers that are none so. */
static void check_number(const page *p)
{
    static const char *const bad[] = {"nan", "inf"};
    for (int i = 0; i < 2; i++)
        if (begins(p->at, bad[i]) && (p->at == p->text || !isalpha((unsigned char)p->at[-1])) &&
            !isalpha((unsigned char)p->at[3]))
            fail(p, "a number that is none");
}

static void check_reference(const page *p, const char *name, const char *value)
{
    static const char *const names[] = {"src", "href", "xlink:href", "action", "data", "srcset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0 && *value != '#' && !begins(value, "data:"))
            fail(p, "a reference out of the page");
}

static void take_id(page *p, const char *value)
{
    if (p->n_ids == IDS) fail(p, "many ids");
    snprintf(p->ids[p->n_ids], NAME, "%.*s", (int)strcspn(value, "\""), value);
    for (int i = 0; i < p->n_ids; i++)
        if (strcmp(p->ids[i], p->ids[p->n_ids]) == 0) fail(p, "an id twice");
    p->n_ids++;
}

static void take_attribute(page *p)
{
    char name[NAME];
    take_name(p, name);
    if (!begins(p->at, "=\"")) fail(p, "an attribute without quotes");
    p->at += 2;
    check_reference(p, name, p->at);
    if (strcmp(name, "id") == 0) take_id(p, p->at);
    const int is_data = begins(p->at, "data:");
    for (; *p->at != '"'; p->at++) {
        if (!*p->at || *p->at == '<') fail(p, "an attribute that does not end");
        if (*p->at == '&') check_entity(p);
        if (begins(p->at, "url(")) fail(p, "a reference out of the page");
        if (!is_data) check_number(p);
    }
    p->at++;
}

static void close_tag(page *p)
{
    char name[NAME];
    p->at += 2;
    take_name(p, name);
    if (p->depth == 0 || strcmp(name, p->open[p->depth - 1]) != 0) fail(p, "%s is not open", name);
    if (*p->at != '>') fail(p, "a tag that does not end");
    p->depth--;
    p->at++;
}

static void open_tag(page *p)
{
    static const char *const unwanted[] = {"script", "link", "iframe", "object", "embed"};
    if (p->depth == DEPTH) fail(p, "too deep");
    p->at++;
    take_name(p, p->open[p->depth]);
    for (int i = 0; i < 5; i++)
        if (strcmp(p->open[p->depth], unwanted[i]) == 0) fail(p, "is not wanted");
    while (isspace((unsigned char)*p->at)) {
        p->at += strspn(p->at, " \n");
        if (*p->at != '/' && *p->at != '>') take_attribute(p);
    }
    const int closed = begins(p->at, "/>");
    if (!closed && *p->at != '>') fail(p, "a tag that does not end");
    p->depth += !closed;
    p->at += 1 + closed;
}

static void take_text(page *p)
{
    if (*p->at == '&') check_entity(p);
    if (begins(p->at, "@import") || begins(p->at, "url(")) fail(p, "a reference out of the page");
    if (p->depth == 0 && !isspace((unsigned char)*p->at)) fail(p, "text outside of all tags");
    if (p->depth > 0 && strcmp(p->open[p->depth - 1], "pre") != 0) check_number(p);
    p->at++;
}

static void check(page *p)
{
    if (begins(p->at, "<!DOCTYPE html>")) p->at += strlen("<!DOCTYPE html>");
    while (*p->at)
        if (begins(p->at, "</"))
            close_tag(p);
        else if (*p->at == '<')
            open_tag(p);
        else
            take_text(p);
    if (p->depth > 0) fail(p, "%s is not closed", p->open[p->depth - 1]);
}

int main(int argc, char **argv)
{
    static page p;
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0) return 1;
    const long size = ftell(file);
    rewind(file);
    p.text = calloc((size_t)size + 1, 1);
    if (size <= 0 || !p.text || fread(p.text, 1, (size_t)size, file) != (size_t)size) return 1;
    fclose(file);
    if (strlen(p.text) != (size_t)size) return 1;
    p.at = p.text;
    check(&p);
    for (int i = 2; i < argc; i++) {
        int found = 0;
        for (int id = 0; id < p.n_ids; id++)
            found |= strcmp(argv[i], p.ids[id]) == 0;
        if (!found) printf("there is no '%s'\n", argv[i]);
        if (!found) return 1;
    }
    free(p.text);
    return 0;
}
