/*
 * views.c - the view of each number.
 */
#include "tui/app/app.h"

extern const cf_view_ops cf_view_replies, cf_view_influence;
extern const cf_view_ops cf_view_chat, cf_view_prompt, cf_view_tokens, cf_view_tools, cf_view_diff,
    cf_view_library, cf_view_templates, cf_view_help, cf_view_log, cf_view_output, cf_view_servers,
    cf_view_traffic, cf_view_sweep, cf_view_media;

const cf_view_ops *const cf_views[CF_VIEW_COUNT] = {
    [CF_VIEW_CHAT] = &cf_view_chat,
    [CF_VIEW_PROMPT] = &cf_view_prompt,
    [CF_VIEW_TOKENS] = &cf_view_tokens,
    [CF_VIEW_TOOLS] = &cf_view_tools,
    [CF_VIEW_DIFF] = &cf_view_diff,
    [CF_VIEW_LIBRARY] = &cf_view_library,
    [CF_VIEW_TEMPLATES] = &cf_view_templates,
    [CF_VIEW_HELP] = &cf_view_help,
    [CF_VIEW_LOG] = &cf_view_log,
    [CF_VIEW_REPLIES] = &cf_view_replies,
    [CF_VIEW_OUTPUT] = &cf_view_output,
    [CF_VIEW_SERVERS] = &cf_view_servers,
    [CF_VIEW_TRAFFIC] = &cf_view_traffic,
    [CF_VIEW_INFLUENCE] = &cf_view_influence,
    [CF_VIEW_SWEEP] = &cf_view_sweep,
    [CF_VIEW_MEDIA] = &cf_view_media,
};
