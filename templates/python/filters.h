/*
 * filters.h - the tables of filters, one a file.
 */
#ifndef CF_TEMPLATES_PYTHON_FILTERS_H
#define CF_TEMPLATES_PYTHON_FILTERS_H

#include "templates/language/call.h"
#include "templates/language/gen.h"
#include "templates/language/state.h"

/* Each ends with a NULL name. */
extern const cf_tfn_entry cf_t__str_filters[];
extern const cf_tfn_entry cf_t__seq_filters[];

/* Filters with a file of their own. */
cf_tv cf_t__filter_pprint(cf_tr *r, const cf_targs *args);
cf_tv cf_t__filter_urlize(cf_tr *r, const cf_targs *args);
cf_tv cf_t__filter_wordwrap(cf_tr *r, const cf_targs *args);

#endif
