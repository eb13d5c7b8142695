/*
 * hash.c - SHA-256 as text.
 */
#include "core/base/hash.h"

#include <nettle/sha2.h>
#include <stdint.h>

void cf_hash_hex(char out[CF_HASH_TEXT + 1], const void *p, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    struct sha256_ctx ctx;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&ctx);
    sha256_update(&ctx, n, p);
    sha256_digest(&ctx, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        out[2 * i] = hex[digest[i] >> 4];
        out[2 * i + 1] = hex[digest[i] & 15];
    }
    out[CF_HASH_TEXT] = '\0';
}
