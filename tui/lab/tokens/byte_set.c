/*
 * byte_set.c - ranges of bytes.
 */
#include "tui/lab/tokens/byte_set.h"

static bool has(const uint32_t set[8], int i)
{
    return (set[i / 32] >> i % 32 & 1) != 0;
}

void cf_byte_set_write(cf_buf *out, const uint32_t set[8])
{
    bool is_first = true;
    for (int i = 0; i < 256; i++) {
        int z = i;
        if (!has(set, i)) {
            continue;
        }
        while (z < 255 && has(set, z + 1)) {
            z++;
        }
        const int ends[2] = {i, z};
        cf_buf_adds(out, is_first ? "" : " ");
        for (int e = 0; e < (z > i ? 2 : 1); e++) {
            cf_buf_adds(out, e == 1 ? "-" : "");
            if (ends[e] > 0x20 && ends[e] < 0x7F) {
                cf_buf_addc(out, (char)ends[e]);
            } else {
                cf_buf_addf(out, "\\x%02x", (unsigned)ends[e]);
            }
        }
        is_first = false;
        i = z;
    }
}
