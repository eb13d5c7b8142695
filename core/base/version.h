/*
 * version.h - the version of the headers a program is compiled with.
 *
 * Place in the flow:  [version] --> Makefile, packages, `confab version`.
 * Knows: three numbers.  Does not know: what changed; docs/changelog.md does.
 *
 * cf_version() in confab.h is the version of the library that runs.
 *
 * Threads:  constants.
 * Memory:   none.
 */
#ifndef CF_CORE_BASE_VERSION_H
#define CF_CORE_BASE_VERSION_H

#define CF_VERSION        "0.1.0"
#define CF_VERSION_NUMBER 100 /* major * 10000 + minor * 100 + patch */

#endif
