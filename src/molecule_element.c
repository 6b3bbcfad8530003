#include "molecule_parts.h"
#include <ctype.h>
#include <string.h>
#include <xraylib.h>

int element_of_symbol(const char *symbol, size_t length)
{
    char text[3] = {0};
    if (length < 1 || length > 2) return 0;
    for (size_t i = 0; i < length; i++) {
        if (!isalpha((unsigned char)symbol[i])) return 0;
        text[i] = symbol[i];
    }
    text[0] = (char)toupper((unsigned char)text[0]);
    text[1] = (char)tolower((unsigned char)text[1]);
    if (strcmp(text, "D") == 0) return 1;
    return SymbolToAtomicNumber(text, NULL);
}

/* Two-letter elements that occur in structures as more than oddities. Left out for what their
   letters usually mean in a name: AC, HE, HF, HG, HO, NB, NP, PA, PM, CD, CE, CF, ... */
static bool is_common_pair(const char *letters)
{
    static const char pairs[] = "LI BE NA MG AL SI CL CA MN FE CO NI CU ZN GA AS SE BR RB SR MO RU "
                                "RH PD AG SB TE XE CS BA PT AU PB GD YB TB ";
    for (const char *pair = pairs; *pair; pair += 3)
        if (strncmp(pair, letters, 2) == 0) return true;
    return false;
}

/* By the format's rule a symbol is right-justified in the first two columns. Programs that left-
   justify names write "CA  " for an alpha carbon: in ATOM records only selenium has two letters. */
static bool has_two_letters(const char name[4], const char *residue_name, bool hetero)
{
    if (!isupper((unsigned char)name[0]) || !isupper((unsigned char)name[1])) return false;
    if (strncmp(name, "SE", 2) == 0) return true;
    size_t n = strlen(residue_name);
    bool is_ion = n <= 2 && strncmp(name, residue_name, n) == 0 && (n == 2 && name[2] == ' ');
    if (is_ion && element_of_symbol(name, 2)) return true;
    return hetero && is_common_pair(name);
}

int element_of_name(const char name[4], const char *residue_name, bool hetero)
{
    if (has_two_letters(name, residue_name, hetero)) return element_of_symbol(name, 2);
    /* The first letter that is an element: digits and qualifiers such as the A of AC5 are skipped. */
    for (int i = 0; i < 4; i++) {
        int element = element_of_symbol(name + i, 1);
        if (element) return element;
    }
    return 0;
}
