# confab - a debugger for prompts, in the terminal.
#
#   make            the program, at build/confab (never installs anything)
#   make run        missing packages, program, workbench
#   make test       missing packages, program, every test
#   make check      every test, packages assumed present
#   make check-all  every test, again under ASan+UBSan with tight buffers, and
#                   under TSan; headers; ARM64
#   make engine-llama LLAMA=PREFIX  the llama.cpp that lies there as a second engine
#   make fuzz T=x SECONDS=60     one fuzz target, with libFuzzer (clang)
#   make lint       the linters on what changed; make lint-all on everything
#   make format deps install uninstall cov clean
#
# Variants live side by side in build/VARIANT: release debug asan tsan tight.

VARIANT ?= release
B       := build/$(VARIANT)
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
DESTDIR    ?=
VERSION := $(shell sed -n 's/.define CF_VERSION  *"\(.*\)"/\1/p' core/base/version.h)

CC      ?= cc
AR      ?= ar
ARCH    := $(shell uname -m)
OS      := $(shell uname -s)
PKG     ?= pkg-config

# ---- libraries, one line a room --------------------------------------------
CORE_PKGS    := jansson nettle libpcre2-8 libutf8proc libcurl libmicrohttpd libpng libjpeg libwebp sndfile soxr
STORAGE_PKGS := sqlite3 zlib
TUI_PKGS     := ncursesw libpng yaml-0.1
TEST_PKGS    := cmocka vterm
# Loaded while it runs where it is installed, not linked: docs/notes/0011.
LOADED_PKGS  := openblas
ALL_PKGS     := $(CORE_PKGS) $(STORAGE_PKGS) $(TUI_PKGS)

# pkg-config is asked once, and only when something is to be built.
NO_BUILD := deps deps-test clean format help uninstall engine-llama
ifneq ($(filter-out $(NO_BUILD),$(or $(MAKECMDGOALS),all)),)
MISSING := $(shell for p in $(ALL_PKGS); do $(PKG) --exists $$p 2>/dev/null || echo $$p; done)
PKG_CFLAGS := $(if $(MISSING),,$(shell $(PKG) --cflags $(ALL_PKGS) 2>/dev/null))
CORE_LIBS  := $(if $(MISSING),,$(shell $(PKG) --libs $(CORE_PKGS) 2>/dev/null) -lm -lpthread)
STORE_LIBS := $(if $(MISSING),,$(shell $(PKG) --libs $(STORAGE_PKGS) 2>/dev/null))
TUI_LIBS   := $(if $(MISSING),,$(shell $(PKG) --libs $(TUI_PKGS) 2>/dev/null))
VTERM_LIBS  := $(shell $(PKG) --libs vterm 2>/dev/null)
CMOCKA_LIBS := $(shell $(PKG) --libs cmocka 2>/dev/null)
endif

# ---- flags ------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wwrite-strings -Wundef -Wcast-qual \
        -Wformat=2 -Wpointer-arith -Wimplicit-fallthrough
# With sanitizers gcc warns of conversions and uses that it made itself.
ifdef CI
WARN += $(if $(filter release debug cov,$(VARIANT)),-Werror)
endif

comma    := ,
CPPFLAGS ?=
CFLAGS   ?=
BASE_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -I. -I$(B)/gen -fPIC -g \
               -fvisibility=hidden -ffp-contract=off -fno-math-errno \
               -ffile-prefix-map=$(CURDIR)=.
# Lines, but not where variables lie, which takes an eighth of the time of a
# compilation, half of that of a kernel set; `make VARIANT=debug` or CFLAGS=-g adds it.
VARIANT_release := -O2$(if $(filter -g%,$(CFLAGS)),, -g1) -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
VARIANT_debug   := -O0
VARIANT_asan    := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
VARIANT_tsan    := -O1 -fsanitize=thread
VARIANT_tight   := -O1 -DCF_TIGHT -fsanitize=address,undefined -fno-sanitize-recover=undefined
VARIANT_cov     := -O0 --coverage
VARIANT_fuzz    := -O1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined
ifeq ($(VARIANT),fuzz)
CC := clang
endif
ALL_CFLAGS = $(BASE_CFLAGS) $(VARIANT_$(VARIANT)) $(WARN) $(PKG_CFLAGS) $(CPPFLAGS) $(CFLAGS)
LINK_release := $(if $(filter Linux,$(OS)),-Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now)
LINK_FLAGS = $(VARIANT_$(VARIANT)) $(LINK_$(VARIANT)) $(LDFLAGS)

# ---- files ------------------------------------------------------------------
# A helper is a program of its own, made by engine-llama.
HELPER_SRC    := $(wildcard core/helper/*.c)
SET_SRC       := core/kernel/kernel_set.c
CORE_SRC      := $(filter-out $(HELPER_SRC) $(SET_SRC),$(sort $(wildcard core/*/*.c core/*/*/*.c)))
TEMPLATES_SRC := $(sort $(wildcard templates/*.c templates/*/*.c))
STORAGE_SRC   := $(sort $(wildcard storage/*.c storage/*/*.c))
TUI_SRC       := $(sort $(wildcard tui/*.c tui/*/*.c tui/*/*/*.c))
MAIN_SRC      := tui/main.c

# Text files that become constant byte arrays in the program.
EMBED_TEMPLATES := $(sort $(wildcard templates/builtin/*.jinja))
EMBED_CORE      := core/schema/metaschemas.json
EMBED_STORAGE   := $(sort $(wildcard storage/schema/*.sql))
EMBED_TUI       := $(sort $(wildcard tui/sys/*.txt tui/demo/*.json tui/demo/*.jsonl tui/demo/*.txt \
                   tui/page/*.css tui/*/*/*.css tui/*/*/*.jinja)) docs/licences.md
# The model in the program; a tree without the file builds one without it.
BUNDLED         := $(wildcard core/bundled/confab-tiny.gguf)

obj = $(patsubst %.c,$(B)/%.o,$(1))
gen = $(patsubst %,$(B)/gen/%.o,$(1))

CORE_A      := $(B)/libcf_core.a
TEMPLATES_A := $(B)/libcf_templates.a
STORAGE_A   := $(B)/libcf_storage.a
TUI_A       := $(B)/libcf_tui.a

all: $(B)/confab build/confab $(if $(filter release,$(VARIANT)),$(B)/libconfab.so.0)

.DELETE_ON_ERROR:
.SECONDARY:

ifneq ($(strip $(MISSING)),)
$(B)/confab: missing
.PHONY: missing
missing:
	@echo "missing libraries: $(MISSING)" >&2
	@echo "run 'make deps' to install them" >&2
	@exit 1
endif

# With FILES, "[3/200] file" in place of the command; recipes are expanded one
# after the other as they start, so that the counter also holds under -j.
step = $(if $(FILES),@$(eval STEPS += x)echo "[$(words $(STEPS))/$(FILES)] $(1)"; )
# How many files a target compiles and links: what $(step) counts.
count = $$($(MAKE) -n --no-print-directory FILES= $(1) | grep -c -e '^$(CC) .* -o ')

# Instruction-set files get their own flags; the rest runs on any machine.
ifneq ($(filter x86_64 amd64,$(ARCH)),)
ISA_avx2       := -mavx2 -mfma -mf16c
ISA_avx2-vnni  := $(ISA_avx2) -mavxvnni
ISA_avx512     := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl
ISA_avx512-vnni := $(ISA_avx512) -mavx512vnni
SETS := avx2 avx2-vnni avx512 avx512-vnni
WIDTHS := avx2 avx512
else
ISA_neon     := -march=armv8-a
ISA_neon-dot := -march=armv8.2-a+dotprod
ISA_neon-i8mm := -march=armv8.2-a+dotprod+i8mm
SETS := neon neon-dot neon-i8mm
WIDTHS := neon
endif
# Loops of recurrent.inc become vectors at this level.
$(B)/core/kernel/%.o: OPT = $(if $(filter release,$(VARIANT)),-O3)
# Each set is compiled from one file, once more for activations of 8 bits, and
# once for what the sets of a width share.
SET_OBJ := $(foreach s,$(SETS),$(B)/core/kernel/set_$s.o $(B)/core/kernel/set_$s_8.o) \
           $(WIDTHS:%=$(B)/core/kernel/set_%_w.o)
set_isa = $(ISA_$1) -DCF_SET=$(subst -,,$1) -DCF_SET_NAME='"$1"' \
          -DCF_WIDTH=$(firstword $(subst -, ,$1))
$(SET_OBJ): ISA = $(call set_isa,$(patsubst set_%.o,%,$(subst _w.o,.o,$(subst _8.o,.o,$(@F))))) \
                  $(if $(filter %_8.o,$@),-DCF_EIGHT) $(if $(filter %_w.o,$@),-DCF_WIDE)
ifeq ($(VARIANT),tsan)
# Loops over what their callers hand to each thread; the reference set is
# instrumented and shares the division among threads with them.
$(SET_OBJ): OPT = -O2 -fno-sanitize=thread
endif
ifneq ($(filter asan tight,$(VARIANT)),)
# UBSan's checks of every access take minutes to compile here; the reference set,
# whose loops are the same sums, has them.
$(SET_OBJ): OPT = -fno-sanitize=undefined
endif
ifeq ($(VARIANT),fuzz)
# clang takes minutes to optimise these under the sanitizers.
$(SET_OBJ): OPT = -O0
endif

# The flags and the model's name of the last build; a change of one rebuilds what
# depends on it.  Written while the makefile is read, so that `make -n` counts
# what is really to be built.
ifneq ($(filter-out $(NO_BUILD),$(or $(MAKECMDGOALS),all)),)
remember = $(shell mkdir -p $(B); echo '$(2)' | cmp -s - $(1) || echo '$(2)' > $(1))
$(call remember,$(B)/.flags,$(CC) $(ALL_CFLAGS))
$(call remember,$(B)/.bundled,$(BUNDLED))
endif

compile = $(call step,$<)$(CC) $(ALL_CFLAGS) $(OPT) $(ISA) -MMD -MP -c $< -o $@
$(SET_OBJ): $(SET_SRC) $(B)/.flags
	@mkdir -p $(@D)
	$(compile)
$(B)/%.o: %.c $(B)/.flags
	@mkdir -p $(@D)
	$(compile)

$(B)/gen/%.c: %
	@mkdir -p $(@D)
	@name=cf_embed_$$(echo '$*' | tr -c 'a-zA-Z0-9\n' '_'); \
	{ echo "/* made from $* */"; echo "#include <stddef.h>"; \
	  echo "extern const unsigned char $$name[];"; \
	  echo "extern const size_t $${name}_size;"; \
	  echo "const unsigned char $$name[] = {"; \
	  od -An -v -tx1 '$*' | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; \
	  echo "0};"; \
	  echo "const size_t $${name}_size = sizeof $$name - 1;"; } > $@

$(B)/gen/%.o: $(B)/gen/%.c $(B)/.flags
	$(call step,$<)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(B)/core/bundled/bundled.o: $(BUNDLED) $(B)/.bundled
$(B)/core/bundled/bundled.o: OPT = $(if $(BUNDLED),-DCF_BUNDLED_FILE='"$(BUNDLED)"')

# Archives are made anew so that a removed file leaves no member behind.
archive = @mkdir -p $(@D); rm -f $@; $(AR) rcs $@ $(filter %.o,$^)
$(CORE_A): $(call obj,$(CORE_SRC)) $(SET_OBJ) $(call gen,$(EMBED_CORE))
	$(archive)
$(TEMPLATES_A): $(call obj,$(TEMPLATES_SRC)) $(call gen,$(EMBED_TEMPLATES))
	$(archive)
$(STORAGE_A): $(call obj,$(STORAGE_SRC)) $(call gen,$(EMBED_STORAGE))
	$(archive)
$(TUI_A): $(call obj,$(filter-out $(MAIN_SRC),$(TUI_SRC))) $(call gen,$(EMBED_TUI))
	$(archive)

$(B)/confab: $(call obj,$(MAIN_SRC)) $(TUI_A) $(STORAGE_A) $(TEMPLATES_A) $(CORE_A)
	$(call step,$@)$(CC) $(LINK_FLAGS) $(filter %.o %.a,$^) $(TUI_LIBS) $(STORE_LIBS) $(CORE_LIBS) -o $@

build/confab: build/release/confab
	@ln -sf release/confab $@
ifneq ($(VARIANT),release)
build/release/confab:
	$(MAKE) VARIANT=release $@
endif

# ---- llama.cpp as a second engine -------------------------------------------
# A helper program of its own, compiled against the llama.h that the user has and
# linked with that library: PREFIX/include and PREFIX/lib.  Compiled twice, since
# the library says its version only when it is called.
HELPER_LLAMA := $(B)/plugins/confab-llama
helper_cc = $(CC) $(filter-out -MMD -MP,$(BASE_CFLAGS)) $(VARIANT_$(VARIANT)) -isystem '$(LLAMA)/include' \
  -DCF_LLAMA_LIB='"$(abspath $(LLAMA))/lib"' $(1) core/helper/helper_main.c core/helper/engine_llama.c \
  -L'$(LLAMA)/lib' -lllama -lggml -lggml-base -Wl,-rpath,'$(abspath $(LLAMA))/lib' -Wl,-z,now -lpthread -o $(2)
engine-llama:
	$(if $(LLAMA),,$(error missing: LLAMA=PREFIX, the folder that has include/llama.h and lib/libllama.so))
	$(foreach f,include/llama.h lib/libllama.so lib/libggml.so,$(if $(wildcard $(LLAMA)/$f),,$(error missing: $(LLAMA)/$f)))
	@mkdir -p $(dir $(HELPER_LLAMA))
	@has=$$(grep -c 'llama_version *(void)' '$(LLAMA)/include/llama.h'); \
	if [ "$$has" = 0 ]; then $(call helper_cc,,$(HELPER_LLAMA).new); else \
	  $(call helper_cc,-DCF_LLAMA_VERSION='""',$(HELPER_LLAMA).new) && \
	  is=$$($(HELPER_LLAMA).new --version) && \
	  $(call helper_cc,-DCF_LLAMA_VERSION="\"$$is\"",$(HELPER_LLAMA).new); fi && \
	mv $(HELPER_LLAMA).new $(HELPER_LLAMA) && echo "$(HELPER_LLAMA): $$($(HELPER_LLAMA) --version)"

# ---- the library ------------------------------------------------------------
LIB_A  := $(B)/libconfab.a
LIB_SO := $(B)/libconfab.so.0
LIB_OBJ = $(call obj,$(CORE_SRC) $(TEMPLATES_SRC) $(STORAGE_SRC)) $(SET_OBJ) \
          $(call gen,$(EMBED_CORE) $(EMBED_TEMPLATES) $(EMBED_STORAGE))
$(LIB_A): $(LIB_OBJ)
	$(archive)
$(LIB_SO): $(LIB_OBJ)
	$(call step,$@)$(CC) $(LINK_FLAGS) -shared -Wl,-soname,libconfab.so.0 $(filter %.o,$^) $(STORE_LIBS) $(CORE_LIBS) -o $@

# Public headers are installed side by side as <confab/NAME.h>; file names are
# unique in the tree.  The same folder is made in the build for examples.
PUBLIC_HEADERS := $(wildcard core/base/*.h core/json/*.h core/api/*.h templates/*.h storage/*.h)
INCLUDE := $(B)/include
$(INCLUDE)/.made: $(PUBLIC_HEADERS)
	@rm -rf $(INCLUDE)/confab && mkdir -p $(INCLUDE)/confab
	@for h in $(PUBLIC_HEADERS); do \
	  sed 's|#include "[a-z/]*/\([a-z_0-9]*\.h\)"|#include <confab/\1>|' \
	    $$h > $(INCLUDE)/confab/$${h##*/} || exit 1; done
	@touch $@
# The places that the shells look into.
BASH_DIR := $(DATADIR)/bash-completion/completions
ZSH_DIR  := $(DATADIR)/zsh/site-functions
FISH_DIR := $(DATADIR)/fish/vendor_completions.d
DOC_DIR  := $(DATADIR)/doc/confab
D         = $(DESTDIR)

COMPLETIONS := $(B)/completion.bash $(B)/completion.zsh $(B)/completion.fish
$(COMPLETIONS): $(B)/completion.%: $(B)/confab
	$(B)/confab completion $* > $@

install: $(B)/confab $(LIB_A) $(LIB_SO) $(COMPLETIONS) $(INCLUDE)/.made
	install -d $D$(BINDIR) $D$(LIBDIR)/pkgconfig $D$(MANDIR)/man1 \
	  $D$(BASH_DIR) $D$(ZSH_DIR) $D$(FISH_DIR) $D$(DOC_DIR)/examples
	install -m 755 $(B)/confab $D$(BINDIR)/confab
	[ ! -x $(HELPER_LLAMA) ] || { install -d $D$(LIBDIR)/confab && \
	  install -m 755 $(HELPER_LLAMA) $D$(LIBDIR)/confab/confab-llama; }
	install -m 644 docs/confab.1 $D$(MANDIR)/man1/confab.1
	install -m 644 $(B)/completion.bash $D$(BASH_DIR)/confab
	install -m 644 $(B)/completion.zsh $D$(ZSH_DIR)/_confab
	install -m 644 $(B)/completion.fish $D$(FISH_DIR)/confab.fish
	install -d $D$(DATADIR)/applications
	install -m 644 docs/packaging/confab.desktop $D$(DATADIR)/applications
	install -d $D$(DATADIR)/metainfo
	install -m 644 docs/packaging/confab.metainfo.xml $D$(DATADIR)/metainfo
	install -m 644 LICENSE README.md docs/changelog.md $D$(DOC_DIR)
	install -d $D$(DOC_DIR)/examples/python
	install -m 644 $(wildcard docs/examples/*.*) $D$(DOC_DIR)/examples
	install -m 644 $(wildcard docs/examples/python/*.py) \
	  $D$(DOC_DIR)/examples/python
	install -m 644 $(LIB_A) $D$(LIBDIR)/libconfab.a
	install -m 644 $(LIB_SO) $D$(LIBDIR)/libconfab.so.$(VERSION)
	ln -sf libconfab.so.$(VERSION) $D$(LIBDIR)/libconfab.so.0
	ln -sf libconfab.so.0 $D$(LIBDIR)/libconfab.so
	install -d $D$(INCLUDEDIR)/confab
	install -m 644 $(INCLUDE)/confab/*.h $D$(INCLUDEDIR)/confab
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' \
	  'includedir=$(INCLUDEDIR)' '' 'Name: confab' \
	  'Description: a debugger for prompts: engine, templates, store' \
	  'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lconfab' \
	  'Libs.private: $(strip $(STORE_LIBS) $(CORE_LIBS))' \
	  > $D$(LIBDIR)/pkgconfig/confab.pc

# The same without symbols: 25 MB in place of 150.
install-strip: install
	strip $D$(BINDIR)/confab
	strip --strip-unneeded $D$(LIBDIR)/libconfab.so.$(VERSION)
	strip --strip-debug $D$(LIBDIR)/libconfab.a

# Removes what install put there, and nothing else but emptied folders of its
# own.
uninstall:
	rm -f $D$(BINDIR)/confab $D$(MANDIR)/man1/confab.1 \
	  $D$(DATADIR)/applications/confab.desktop \
	  $D$(DATADIR)/metainfo/confab.metainfo.xml \
	  $D$(BASH_DIR)/confab $D$(ZSH_DIR)/_confab $D$(FISH_DIR)/confab.fish \
	  $D$(LIBDIR)/libconfab.a $D$(LIBDIR)/libconfab.so.0 \
	  $D$(LIBDIR)/libconfab.so.$(VERSION) \
	  $D$(LIBDIR)/libconfab.so $D$(LIBDIR)/pkgconfig/confab.pc
	rm -rf $D$(INCLUDEDIR)/confab $D$(LIBDIR)/confab $D$(DOC_DIR)

# A Debian package, build/confab_VERSION_ARCH.deb.
deb: $(B)/confab $(LIB_A) $(LIB_SO)
	@rm -rf build/deb
	@$(MAKE) --no-print-directory -s install DESTDIR=$(abspath build/deb) PREFIX=/usr
	@.ci/deb $(abspath build/deb) $(VERSION) $(abspath build)

# One static program for download, build/confab-VERSION-linux-ARCH.
DIST := build/confab-$(VERSION)-linux-$(ARCH)
dist: $(call obj,$(MAIN_SRC)) $(TUI_A) $(STORAGE_A) $(TEMPLATES_A) $(CORE_A)
	@.ci/dist $(DIST) $(abspath $(DIST)) '$(CC) $(VARIANT_$(VARIANT))' $^

# The shared library of the Python package, the package (a wheel), and the npm
# package around the static program; both packages are left in build/dist/.
build/dist/libconfab.so: $(LIB_OBJ)
	@.ci/dist $@ $(abspath $@) '$(CC) $(VARIANT_$(VARIANT))' $^
wheel: build/dist/libconfab.so
	@.ci/licences build/dist/licences
	@cd docs/packaging/python && python3 confab_backend.py $(abspath build/dist)
npm: dist
	@.ci/npm $(abspath $(DIST)) $(VERSION) $(ARCH) $(abspath build/dist)

# ---- tests ------------------------------------------------------------------
# tests/KIND/ROOM/.../test_x.c is one cmocka program, linked with its room and
# the rooms below it only, so that an upward call is a link error.
TEST_SRC := $(sort $(foreach k,unit prop fault screen,$(wildcard \
              tests/$k/*/test_*.c tests/$k/*/*/test_*.c tests/$k/*/*/*/test_*.c)))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/*/fuzz_*.c))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
SUPPORT_A   := $(B)/libcf_support.a
TESTS := $(patsubst %.c,$(B)/%,$(TEST_SRC))
FUZZ_REPLAY := $(patsubst %.c,$(B)/%,$(FUZZ_SRC))

$(SUPPORT_A): $(call obj,$(SUPPORT_SRC))
	$(archive)

# Test programs map the bundled model from its file, and are linked without what
# only a debugger needs: together they would take gigabytes.
TEST_BUNDLED := $(B)/tests/support/link/bundled_file.o
$(TEST_BUNDLED): OPT = $(if $(BUNDLED),-DCF_BUNDLED_FILE='"$(abspath $(BUNDLED))"')
$(TEST_BUNDLED): $(B)/.bundled
# The helper of an engine that only tests have, where CONFAB_PLUGINS may point to.
FAKE_HELPER := $(B)/tests/support/helper/confab-llama
$(FAKE_HELPER): tests/support/helper/fake_engine.c $(HELPER_SRC) core/api/engine_plugin.h
	@mkdir -p $(@D)
	$(call step,$@)$(CC) $(BASE_CFLAGS) $(VARIANT_$(VARIANT)) $(WARN) $(filter %fake_engine.c %helper_main.c,$^) -lpthread -o $@
$(B)/tests/unit/core/infer/test_plugin.o: OPT = -DCF_FAKE_HELPER='"$(abspath $(FAKE_HELPER))"' \
  -DCF_BUNDLED_FILE='"$(abspath $(BUNDLED))"'
$(B)/tests/unit/core/infer/test_plugin: | $(FAKE_HELPER)
$(B)/tests/unit/tui/cli/shell/test_llama.o: OPT = -DCF_FAKE_FOLDER='"$(abspath $(dir $(FAKE_HELPER)))"'
$(B)/tests/unit/tui/cli/shell/test_llama: | $(FAKE_HELPER)
# A second linker, where there is one, takes less than half of the time.
TEST_LD := $(firstword $(foreach l,mold gold,$(shell $(CC) -fuse-ld=$l -Wl$(comma)--version >/dev/null 2>&1 && echo -fuse-ld=$l)))
TEST_LINK := $(TEST_LD) $(if $(filter release,$(VARIANT)),-Wl$(comma)--strip-debug)
# What calls the code needs neither its optimisation nor what is stripped.
$(B)/tests/%.o: OPT = $(if $(filter release,$(VARIANT)),-O1 -g0)

LINK_core      := $(CORE_A)
LINK_templates := $(TEMPLATES_A) $(CORE_A)
LINK_storage   := $(STORAGE_A) $(CORE_A)
LINK_tui       := $(TUI_A) $(STORAGE_A) $(TEMPLATES_A) $(CORE_A)
LIBS_core       = $(CORE_LIBS)
LIBS_templates  = $(CORE_LIBS)
LIBS_storage    = $(STORE_LIBS) $(CORE_LIBS)
LIBS_tui        = $(TUI_LIBS) $(STORE_LIBS) $(CORE_LIBS) $(VTERM_LIBS) -lutil
room = $(word 3,$(subst /, ,$(1)))

define test_rule
$(B)/$(1:.c=): $(B)/$(1:.c=.o) $(if $(filter %/test_bundled.c,$(1)),,$(TEST_BUNDLED)) \
  $(SUPPORT_A) $(LINK_$(call room,$(1)))
	$$(call step,$$@)$$(CC) $$(LINK_FLAGS) $$(TEST_LINK) $$(filter %.o %.a,$$^) $$(LIBS_$(call room,$(1))) $$(CMOCKA_LIBS) -o $$@
endef
$(foreach t,$(TEST_SRC),$(eval $(call test_rule,$t)))

# A fuzz target replays its corpus with a plain driver; `make fuzz` links the
# same object with libFuzzer.
define fuzz_rule
$(B)/$(1:.c=): $(B)/$(1:.c=.o) $(B)/tests/fuzz/driver.o $(TEST_BUNDLED) $(SUPPORT_A) $(LINK_$(call room,$(1)))
	$$(call step,$$@)$$(CC) $$(LINK_FLAGS) $$(TEST_LINK) $$(filter %.o %.a,$$^) $$(LIBS_$(call room,$(1))) -o $$@
$(B)/$(1:.c=.libfuzzer): $(B)/$(1:.c=.o) $(SUPPORT_A) $(LINK_$(call room,$(1)))
	$$(CC) $$(LINK_FLAGS) -fsanitize=fuzzer $$(filter %.o %.a,$$^) $$(LIBS_$(call room,$(1))) -o $$@
endef
$(foreach t,$(FUZZ_SRC),$(eval $(call fuzz_rule,$t)))

# ONLY=PATTERN (an extended regular expression over the path) builds and runs
# a part of them.
CHECKED := $(TESTS) $(FUZZ_REPLAY)
ifneq ($(ONLY),)
CHECKED := $(shell printf '%s\n' $(CHECKED) | grep -E -- '$(ONLY)')
endif
# Measurements of whole rooms: programs to run by hand, built with the tests
# so that they keep compiling (docs/speed.md).
PERF_SRC := $(sort $(wildcard tests/perf/perf_*.c))
PERF := $(patsubst %.c,$(B)/%,$(PERF_SRC))
$(PERF): %: %.o $(TEST_BUNDLED) $(LINK_tui)
	$(call step,$@)$(CC) $(LINK_FLAGS) $(TEST_LINK) $(filter %.o %.a,$^) $(LIBS_tui) -o $@
perf: $(PERF)

# The examples are compiled against the library as it is installed.
ifeq ($(VARIANT),release)
LIBRARY := $(if $(filter %/test_examples,$(CHECKED)),$(LIB_A) $(LIB_SO) $(INCLUDE)/.made)
endif
build-tests: $(B)/confab $(CHECKED) $(if $(filter release,$(VARIANT)),$(PERF)) $(LIBRARY)

# The summary line counts every case of every program.
check: build-tests build/confab
	@tests/tools/check_layers.sh
	@tests/tools/check_headers.sh
	@tests/tools/check_calls.sh
	@tests/tools/check_limits.py
	@tests/tools/check_seeds.py
	@tests/tools/check_symbols.sh $(LINK_tui)
	@[ ! -e .git ] || tests/tools/check_docs.py
	@CONFAB_BIN=$(abspath $(B)/confab) tests/tools/run_tests.sh $(B) '$(ONLY)'

check-headers:
	@tests/tools/check_headers.sh $(CC) $(BASE_CFLAGS) $(WARN) $(PKG_CFLAGS)

check-all:
	$(MAKE) $(JOBS) check check-headers
	$(MAKE) $(JOBS) check VARIANT=tight
	$(MAKE) $(JOBS) check VARIANT=tsan
	$(MAKE) check-arm64
	$(MAKE) check-examples

# The kernels of ARM64, under an emulator: the same bits as here.  Needs the
# cross compiler, qemu-user and the libraries of the core for arm64.
ARM_LIB := /usr/lib/aarch64-linux-gnu/pkgconfig
ARM := B=build/arm64 ARCH=aarch64 CC=aarch64-linux-gnu-gcc \
       AR=aarch64-linux-gnu-ar ALL_PKGS='$(CORE_PKGS)' \
       PKG='env PKG_CONFIG_LIBDIR=$(ARM_LIB) pkg-config'
ARM_TESTS := $(addprefix build/arm64/tests/,prop/core/test_set_bits \
               unit/core/kernel/test_kernel)
ARM_QEMU := $(shell command -v qemu-aarch64-static || command -v qemu-aarch64)
ARM_CC   := $(shell command -v aarch64-linux-gnu-gcc)
check-arm64:
ifeq ($(and $(ARM_QEMU),$(ARM_CC),$(wildcard $(ARM_LIB)/cmocka.pc)),)
	@echo 'SKIP check-arm64: no cross compiler, emulator or arm64 libraries'
	@echo '0 passed, 0 failed, 1 skipped'
else
	$(MAKE) --no-print-directory $(ARM) $(ARM_TESTS)
	@for t in $(ARM_TESTS); do \
	  $(ARM_QEMU) -cpu max -L /usr/aarch64-linux-gnu $$t || exit 1; done
endif

# How many planted faults the tests of a room notice: ROOM=core/tools N=40 SEED=1.
mutate:
	@tests/tools/mutate.py $(ROOM) -n $(or $(N),40) --seed $(or $(SEED),1)

# The examples of docs/extending.md, each applied to a copy of the tree.
check-examples: build/confab
	@tests/tools/apply_examples.py

SECONDS ?= 60
fuzz:
	$(MAKE) --no-print-directory $(JOBS) VARIANT=fuzz fuzz-run T=$(T)
FUZZ_T = $(firstword $(patsubst %.c,$(B)/%.libfuzzer,$(filter %/fuzz_$(T).c,$(FUZZ_SRC))))
fuzz-run: $(FUZZ_T)
	@[ -n "$(FUZZ_T)" ] || { echo "no fuzz target '$(T)': $(patsubst fuzz_%.c,%,$(notdir $(FUZZ_SRC)))" >&2; exit 1; }
	@mkdir -p build/fuzz-work/$(T) tests/fuzz/corpus/$(T)
	$(FUZZ_T) -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=1024 \
	  $(addprefix -dict=,$(wildcard tests/fuzz/dict/$(T).dict)) \
	  -artifact_prefix=build/fuzz-work/ build/fuzz-work/$(T) tests/fuzz/corpus/$(T)

# ---- what people type -------------------------------------------------------
# A first build says how long it takes, and how far it is; with -s nothing.
JOBS   = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
SILENT = $(findstring s,$(firstword -$(filter-out --%,$(MAKEFLAGS))))
build_aloud = @n=$(if $(SILENT),,$(call count,$(1))); \
	[ "$${n:-0}" -lt 50 ] || echo "building confab: $$n files, a few minutes on two cores"; \
	$(MAKE) --no-print-directory $(JOBS) FILES=$$([ "$${n:-0}" = 0 ] || echo $$n) $(1)
run: deps
	$(call build_aloud,all)
	@build/confab

test: deps-test
	$(call build_aloud,build-tests build/confab)
	@$(MAKE) --no-print-directory $(JOBS) check

deps:
	@.ci/deps run $(ALL_PKGS) $(LOADED_PKGS)
deps-test:
	@.ci/deps test $(ALL_PKGS) $(LOADED_PKGS) $(TEST_PKGS)

format:
	clang-format -i $$(git ls-files '*.c' '*.h')
# Links and names in the documents; with the program, their commands too.
check-docs: build/confab
	@tests/tools/check_docs.py --run
# The linters.  `make lint` checks the text of everything (seconds) and the C
# files that changed since the branch left LINT_BASE (about ten seconds each on
# one core); a header stands for the C file of its name.  `make lint-all` takes
# the better part of an hour; `make lint/core/base/os.c` checks one file.
LINT_BASE ?=
TIDY_CFLAGS = $(BASE_CFLAGS) -include tests/tools/analyzer.h
LINT_SRC := $(CORE_SRC) $(SET_SRC) $(TEMPLATES_SRC) $(STORAGE_SRC) $(TUI_SRC)
LINT := $(addprefix lint/,$(LINT_SRC))
CHANGED = $(shell tests/tools/changed.sh $(LINT_BASE))
lint: lint-text
	@clang-format --dry-run -Werror $(CHANGED) /dev/null
	@$(MAKE) --no-print-directory $(JOBS) -k lint-changed
lint-changed: $(if $(filter lint-changed,$(MAKECMDGOALS)),$(addprefix lint/,$(filter $(CHANGED:.h=.c),$(LINT_SRC))))
	@echo "$(words $^) changed C files linted"
lint-all: lint-text $(LINT)
	clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')
lint-text:
	@tests/tools/check_layers.sh
	@tests/tools/check_headers.sh
	@tests/tools/check_docs.py
	@tests/tools/check_calls.sh
$(LINT): lint/%:
	@tests/tools/tidy.sh $* $(TIDY_CFLAGS) $(if $(filter $(SET_SRC),$*),$(call set_isa,$(lastword $(SETS))),$(PKG_CFLAGS))

# Line coverage by room; nothing is built where its tool is missing.
cov:
	@tests/tools/coverage.sh --have
	TEST_SECONDS=600 $(MAKE) check VARIANT=cov
	@tests/tools/coverage.sh build/cov

clean:
	rm -rf build

.PHONY: all engine-llama deb dist npm wheel perf check check-all check-arm64 check-docs check-headers check-examples build-tests mutate fuzz fuzz-run run test \
        deps deps-test format lint lint-all lint-changed lint-text \
        $(LINT) cov clean install install-strip uninstall

-include $(shell [ -d $(B) ] && find $(B) -name '*.d')
