/*
 * views.c - the view of each number.
 */
#include "tui/app/app.h"

#define CF_DECLARE(id, name) extern const cf_view_ops cf_view_##name;
CF_VIEWS(CF_DECLARE)

#define CF_ENTRY(id, name) [CF_VIEW_##id] = &cf_view_##name,
const cf_view_ops *const cf_views[CF_VIEW_COUNT] = {CF_VIEWS(CF_ENTRY)};
