/*
 * http_once.c - libcurl's process-wide part.
 */
#include "core/api/http_once.h"

#include <curl/curl.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

void cf_http_once(void)
{
    pthread_once(&once, init_curl);
}
