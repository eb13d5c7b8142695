/*
 * main.c - the composition root: the only place that may know every room.
 */
#include "core/base/alloc.h"
#include "tui/cli/cli.h"

int main(int argc, char **argv)
{
    cf_alloc_use(NULL);
    return cf_cli_main(argc, argv);
}
