#include "report_page.h"

#include "build_info.h"
#include "markup.h"
#include "mtip/fsc.h"
#include "report_pictures.h"
#include "report_plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:1120px;padding:16px;background:#fff;color:#1b2733;"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,sans-serif}"
    "h1{font-size:1.55rem;margin:0 0 .2em;overflow-wrap:anywhere}"
    "h2{font-size:1.25rem;margin:2em 0 .4em;padding-top:.6em;border-top:2px solid #1b2733}"
    "h3{font-size:.95rem;margin:.1em 0 .5em}"
    "p{margin:.4em 0;max-width:75ch}"
    ".verdict{font-size:1.1rem;border-left:6px solid #777;padding:.5em .8em;margin:.8em 0;"
    "background:#f4f6f8;max-width:none;overflow-wrap:anywhere}"
    ".good{border-color:#007a5a}.wait{border-color:#0072b2}.bad{border-color:#c0392b}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(120px,1fr));gap:8px}"
    ".cards div{border:1px solid #d5dce2;border-radius:8px;padding:.5em .7em}"
    ".cards b{display:block;font-size:1.3rem;line-height:1.3}"
    ".cards span{font-size:.85rem;color:#42515e}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:14px}"
    ".wide{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:14px}"
    "figure{margin:0;border:1px solid #d5dce2;border-radius:8px;padding:10px;break-inside:avoid}"
    "figure>svg{display:block;width:100%;height:auto}"
    "figcaption{font-size:.86rem;color:#33424f;line-height:1.4;margin-top:.4em}"
    ".three{display:grid;grid-template-columns:repeat(3,1fr);gap:6px}"
    ".two{display:grid;grid-template-columns:repeat(2,1fr);gap:6px}"
    "img{display:block;width:100%;height:auto;image-rendering:pixelated;border:1px solid #d5dce2}"
    ".three span,.two span{display:block;text-align:center;font-size:.8rem;color:#42515e}"
    ".scale{display:flex;align-items:center;gap:8px;font-size:.8rem;color:#42515e;max-width:none}"
    ".scale i{flex:1;height:9px;border:1px solid #d5dce2}"
    "table{border-collapse:collapse;font-size:.9rem;width:100%}"
    "th,td{text-align:left;padding:.25em .6em .25em 0;border-bottom:1px solid #e3e8ec;"
    "vertical-align:top;overflow-wrap:anywhere}"
    "td.n,th.n{text-align:right;white-space:nowrap;overflow-wrap:normal}"
    ".bar{display:block;height:10px;background:#0072b2;min-width:1px}"
    "pre{font-size:.78rem;line-height:1.35;white-space:pre-wrap;overflow-wrap:anywhere;"
    "background:#f4f6f8;padding:.8em;border-radius:8px;margin:.4em 0}"
    "summary{cursor:pointer;font-weight:bold}"
    "nav{font-size:.9rem;margin:.8em 0}nav a{color:#0b5c8f;margin-right:1em;display:inline-block}"
    "@media print{body{max-width:none;padding:0;font-size:11pt}nav{display:none}"
    ".grid,.wide{grid-template-columns:1fr 1fr}"
    "h2{break-after:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

static const char no_history[] = "No generation is done yet, or the run kept no history.";

static const struct {
    const char *id, *title;
} sections[] = {{"convergence", "Convergence"},   {"resolution", "Resolution"},
                {"density", "Density"},           {"intensity", "Intensity"},
                {"orientations", "Orientations"}, {"samples", "Sample images"},
                {"frames", "Images left out"},    {"time", "Time"},
                {"provenance", "Provenance"},     {"citations", "Citations"}};
enum { N_SECTIONS = sizeof sections / sizeof *sections };

static void begin_section(int number, FILE *file)
{
    fprintf(file, "<section id=\"%s\">\n<h2>%s</h2>\n", sections[number].id,
            sections[number].title);
}

static void end_section(FILE *file)
{
    fputs("</section>\n", file);
}

static void print_paragraph(const char *text, FILE *file)
{
    fputs("<p>", file);
    markup_text(text, file);
    fputs("</p>\n", file);
}

/* -- head and verdict -- */

static void print_head(const report_data *r, FILE *file)
{
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
        "charset=\"utf-8\" />\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\" />\n",
        file);
    if (r->state == REPORT_RUNNING)
        fprintf(file, "<meta http-equiv=\"refresh\" content=\"%d\" />\n", REPORT_REFRESH);
    fputs("<title>mtip: ", file);
    markup_text(r->directory, file);
    fprintf(file, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>Reconstruction ", style);
    markup_text(r->directory, file);
    fputs("</h1>\n<nav>", file);
    for (int i = 0; i < N_SECTIONS; i++)
        fprintf(file, "<a href=\"#%s\">%s</a> ", sections[i].id, sections[i].title);
    fputs("</nav>\n", file);
}

static bool has_converged(const report_data *r)
{
    return strstr(r->sentence, "NOT converged") == NULL;
}

static const char *words_of(const report_data *r)
{
    switch (r->state) {
    case REPORT_DONE:
        return has_converged(r)
                   ? "Converged. Two halves of the images, reconstructed independently, give the same "
                     "particle. "
                   : "NOT converged. Two halves of the images, reconstructed independently, do not give "
                     "the same particle: do not interpret this map. Try more images, more generations, "
                     "or another match.method. ";
    case REPORT_RUNNING:
        return "Running. ";
    case REPORT_STOPPED:
        return "Stopped early; the same command goes on. ";
    case REPORT_FAILED:
        return "Failed. ";
    default:
        return "Ended without a word: it was killed, or its node failed. The same command goes on from "
               "the last checkpoint. ";
    }
}

static void print_verdict(const report_data *r, FILE *file)
{
    const bool good = r->state == REPORT_DONE && has_converged(r);
    fprintf(file, "<p class=\"verdict %s\"><strong>%s</strong>",
            good                                                       ? "good"
            : r->state == REPORT_RUNNING || r->state == REPORT_STOPPED ? "wait"
                                                                       : "bad",
            words_of(r));
    if (r->state != REPORT_DONE) markup_text(r->sentence, file);
    fputs("</p>\n", file);
    if (*r->source && r->state != REPORT_DONE) {
        fputs("<p>Maps and orientations on this page are those of ", file);
        markup_text(r->source, file);
        fputs(".</p>\n", file);
    }
    if (*r->notes) print_paragraph(r->notes, file);
}

/* A number that is not finite is not shown. */
static void print_card(double value, const char *format, const char *meaning, FILE *file)
{
    if (!isfinite(value)) return;
    fputs("<div><b>", file);
    fprintf(file, format, value);
    fprintf(file, "</b><span>%s</span></div>\n", meaning);
}

static void print_resolution(const report_curve *c, double level, const char *meaning, FILE *file)
{
    if (c->n < 2) return;
    const fsc curve = {.s_max = c->s[c->n - 1], .n_shells = c->n, .s = c->s, .value = c->value};
    const fsc_resolution reached = fsc_resolution_at(&curve, level);
    if (reached.outcome == FSC_NONE)
        fprintf(file, "<div><b>none</b><span>%s</span></div>\n", meaning);
    else
        print_card(reached.angstrom,
                   reached.outcome == FSC_CROSSES ? "%.2f \u00c5" : "\u2264 %.2f \u00c5", meaning,
                   file);
}

static double seconds_of(const report_data *r, int which, int at)
{
    double sum = 0;
    for (int i = 0; i < r->n_records; i++)
        for (int s = 0; s < N_STAGES; s++)
            if ((which < 0 || r->records[i].run == which) && (at < 0 || s == at))
                sum += r->records[i].costs[s].seconds;
    return sum;
}

static void print_cards(const report_data *r, FILE *file)
{
    const run_record *last = r->n_records > 0 ? r->records + r->n_records - 1 : NULL;
    fputs("<div class=\"cards\">\n", file);
    print_resolution(&r->halves, 0.5, "resolution: halves agree, FSC 0.5", file);
    print_resolution(&r->halves, 0.143, "halves, FSC 0.143", file);
    print_resolution(&r->truth, 0.5, "against the truth, FSC 0.5", file);
    print_card(r->s_max > 0 ? 1 / r->s_max : NAN, "%.2f \u00c5", "edge of the data", file);
    print_card(report_about_number(r, "used"), "%.0f", "images used", file);
    if (r->starts > 0) print_card(r->r_factor, "%.3f", "R factor, final phasing", file);
    if (r->starts > 0)
        print_card(r->agreement, "%.3f", "correlation of phasings with their mean", file);
    if (last) print_card(last->moved, "%.1f\u00b0", "orientations moved, last generation", file);
    fputs("</div>\n", file);
}

/* -- tables -- */

static void print_frames(const report_data *r, FILE *file)
{
    static const char *const names[] = {"used", "dark", "bad", "bright", "blacklisted"};
    static const char *const meanings[] = {
        "taken part in the reconstruction", "no photon at all",
        "a pixel that is NaN, infinite or negative",
        "a thousand times the photons of the median image, or more", "on data.blacklist"};
    const char *end = r->left_out;
    begin_section(6, file);
    if (!*r->about) {
        print_paragraph("The run has not said which images it uses.", file);
        end_section(file);
        return;
    }
    fputs("<table>\n", file);
    for (int i = 0; i < 5; i++)
        fprintf(file, "<tr><th>%s</th><td class=\"n\">%.0f</td><td>%s</td></tr>\n", names[i],
                fmax(report_about_number(r, names[i]), 0), meanings[i]);
    fputs("</table>\n", file);
    print_paragraph("Good: few images are left out, and for a reason that the experiment explains. "
                    "left_out.txt in the run's directory lists all of them; the first are:",
                    file);
    for (int i = 0; i < 21 && end; i++)
        end = strchr(end + (i > 0), '\n');
    fprintf(file, "<pre>");
    char *shown = strndup(r->left_out, end ? (size_t)(end - r->left_out) : strlen(r->left_out));
    const char *lines = shown ? strchr(shown, '\n') : NULL;
    markup_text(lines && lines[1] ? lines + 1 : "none", file);
    free(shown);
    fputs("</pre>\n", file);
    end_section(file);
}

static void print_time(const report_data *r, FILE *file)
{
    static const char *const meanings[N_STAGES] = {"reference slices of the model (NUFFT)",
                                                   "images against slices",
                                                   "images into the intensity (NUFFT)",
                                                   "conjugate gradients for the autocorrelation",
                                                   "density from intensity",
                                                   "between ranks, and waiting for them"};
    double most = 0;
    begin_section(7, file);
    if (r->n_records == 0) {
        print_paragraph(no_history, file);
        end_section(file);
        return;
    }
    print_paragraph(
        "Seconds of the first rank that worked on each run, over all generations. Good: most of "
        "it in match, slice, merge and phase; much exchange means too many ranks for the "
        "images. Files, and the final phasing, are not in it.",
        file);
    for (int s = 0; s < N_STAGES; s++)
        most = fmax(most, seconds_of(r, -1, s));
    fputs(
        "<table>\n<tr><th>stage</th><th class=\"n\">halves</th><th class=\"n\">all</th><th>share</th></tr>\n",
        file);
    for (int s = 0; s < N_STAGES; s++)
        fprintf(file,
                "<tr><td>%s<br /><small>%s</small></td><td class=\"n\">%.1f</td><td "
                "class=\"n\">%.1f</td><td style=\"width:40%%\"><span class=\"bar\" "
                "style=\"width:%.0f%%\"></span></td></tr>\n",
                stage_name((stage)s), meanings[s], seconds_of(r, 0, s) + seconds_of(r, 1, s),
                seconds_of(r, 2, s), most > 0 ? 100 * seconds_of(r, -1, s) / most : 0);
    fputs("</table>\n", file);
    end_section(file);
}

/* -- provenance -- */

static void print_about(const report_data *r, FILE *file)
{
    fputs("<table>\n<tr><th>run</th><td>", file);
    markup_text(r->directory, file);
    fputs("</td></tr>\n", file);
    for (const char *line = r->about; *line;) {
        const size_t length = strcspn(line, "\n"), name = strcspn(line, ":\n");
        char *text = strndup(line, length);
        if (text && name < length) {
            text[name] = 0;
            fputs("<tr><th>", file);
            markup_text(text, file);
            fputs("</th><td>", file);
            markup_text(text + name + 1 + strspn(text + name + 1, " "), file);
            fputs("</td></tr>\n", file);
        }
        free(text);
        line += length + (line[length] == '\n');
    }
    fprintf(file, "<tr><th>this page</th><td>mtip %s, commit %s</td></tr>\n</table>\n",
            BUILD_VERSION, BUILD_COMMIT);
}

/* Lines of the log that warn, the newest ones. */
static void print_warnings(const report_data *r, FILE *file)
{
    enum { MOST = 20 };
    const char *found[MOST];
    int n = 0;
    for (const char *line = r->log; *line; line += strcspn(line, "\n") + 1) {
        const char *warning = strstr(line, "warning: ");
        if (warning && warning < line + strcspn(line, "\n")) found[n++ % MOST] = line;
        if (!line[strcspn(line, "\n")]) break;
    }
    fputs("<h3>Warnings in the log</h3>\n<pre>", file);
    for (int i = n > MOST ? n - MOST : 0; i < n; i++) {
        char *text = strndup(found[i % MOST], strcspn(found[i % MOST], "\n"));
        if (text) markup_text(text, file);
        fputs("\n", file);
        free(text);
    }
    fputs(n == 0 ? "none</pre>\n" : "</pre>\n", file);
}

static void print_provenance(const report_data *r, FILE *file)
{
    begin_section(8, file);
    print_about(r, file);
    print_warnings(r, file);
    fputs("<details><summary>All settings</summary>\n<pre>", file);
    markup_text(*r->settings_text ? r->settings_text : "not there", file);
    fputs("</pre></details>\n", file);
    end_section(file);
}

static void print_citations(FILE *file)
{
    static const char *const texts[] = {
        "M-TIP: J. J. Donatelli, J. A. Sethian, P. H. Zwart, PNAS 114, 7222 (2017), "
        "doi 10.1073/pnas.1708217114",
        "Orientations by expectation maximisation: N. D. Loh, V. Elser, Phys. Rev. E 80, 026705 (2009), "
        "doi 10.1103/PhysRevE.80.026705",
        "Nonuniform FFTs on GPUs: Y. Shih, G. Wright, J. And\u00e9n, J. Blaschke, A. H. Barnett, arXiv "
        "2102.08463 (2021)",
        "Fourier shell correlation: M. van Heel, Ultramicroscopy 21, 95 (1987)",
        "Phase retrieval transfer function: H. N. Chapman and others, J. Opt. Soc. Am. A 23, 1179 (2006)"};
    begin_section(9, file);
    print_paragraph("Please cite what a result rests on:", file);
    fputs("<ul>\n", file);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fputs("<li>", file);
        markup_text(texts[i], file);
        fputs("</li>\n", file);
    }
    fputs("</ul>\n", file);
    end_section(file);
}

/* -- figures -- */

static void begin_figures(int section, const char *width, bool known, const char *unknown,
                          FILE *file)
{
    begin_section(section, file);
    if (!known) print_paragraph(unknown, file);
    fprintf(file, "<div class=\"%s\">\n", width);
}

static void end_figures(FILE *file)
{
    fputs("</div>\n", file);
    end_section(file);
}

static status print_figures(const device *dev, const report_data *r, const report_samples *samples,
                            FILE *file)
{
    begin_figures(0, "grid", r->n_records > 0, no_history, file);
    report_print_convergence(r, file);
    end_figures(file);
    begin_figures(
        1, "wide", r->halves.n + r->truth.n + r->prtf.n > 0,
        "Known when both halves have been reconstructed once; the transfer function at the end.",
        file);
    report_print_resolution(r, file);
    end_figures(file);
    begin_figures(2, "wide", r->density != NULL, "There is none yet.", file);
    if (r->density) TRY(report_print_density(r, file));
    end_figures(file);
    begin_figures(3, "wide", r->autocorrelation != NULL, "There is none yet.", file);
    if (r->autocorrelation) TRY(report_print_intensity(dev, r, file));
    end_figures(file);
    begin_figures(4, "wide", r->n_images > 1, "There are none yet.", file);
    if (r->n_images > 1) report_print_orientations(r, file);
    end_figures(file);
    begin_figures(5, "grid", samples->n > 0, "There are none to show.", file);
    TRY(report_print_samples(samples, file));
    fputs("</div>\n", file);
    if (samples->n > 0)
        print_paragraph(
            "Images evenly through those used, each beside the slice of the merged "
            "intensity that was assigned to it, in the same colours (logarithmic); grey pixels "
            "are masked. Good: bright and dark areas are at the same places.",
            file);
    end_section(file);
    return STATUS_OK;
}

status report_print(const device *dev, const report_data *r, const report_samples *samples,
                    FILE *file)
{
    print_head(r, file);
    print_verdict(r, file);
    print_cards(r, file);
    TRY(print_figures(dev, r, samples, file));
    print_frames(r, file);
    print_time(r, file);
    print_provenance(r, file);
    print_citations(file);
    fputs("</body>\n</html>\n", file);
    return STATUS_OK;
}
