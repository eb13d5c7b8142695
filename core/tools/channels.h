/*
 * channels.h - the delimiters of thinking that families share.
 */
#ifndef CF_CORE_TOOLS_CHANNELS_H
#define CF_CORE_TOOLS_CHANNELS_H

#include "core/api/channel.h"

extern const cf_channel cf_channel__think[1];
extern const cf_channel cf_channel__gemma4[1];
extern const cf_channel cf_channel__mistral[1];
extern const cf_channel cf_channel__seed[1];
extern const cf_channel cf_channel__harmony[1];
extern const cf_channel cf_channel__kimi_k3[1];
extern const cf_channel cf_channel__cohere[1];
extern const cf_channel cf_channel__hy3[2];
extern const cf_channel cf_channel__granite[2];
extern const cf_channel cf_channel__apriel[2];
extern const cf_channel cf_channel__solar[1];
extern const cf_channel cf_channel__inkling[1];
extern const cf_channel cf_channel__k2_horizon[3];
extern const cf_channel cf_channel__minimax_m3[1];
extern const cf_channel cf_channel__solar2[1];
extern const cf_channel cf_channel__longcat[1];
extern const cf_channel cf_channel__kimi_k15[1];
extern const cf_channel cf_channel__muse[2];
extern const cf_channel cf_channel__apertus[1];

#endif
