# One Makefile, no recursion, no configure step.
#
#   make                 build/release/bin/*
#   make check           lints, unit tests, fuzz-corpus replay
#   make check T=base_err F='wrap*'      one test program, one case
#   make asan | tsan     the same tests, rebuilt with sanitizers
#   make fuzz [T=rpc] [FUZZ_TIME=60]     libFuzzer, needs clang
#   make bench           figures, each beside a peer in the same run
#   make install DESTDIR=/tmp/x PREFIX=/usr
#   make -s deps | sudo sh               Debian 12 build dependencies
#
# Objects of different modes never mix: everything goes to build/$(MODE)/.

MODE ?= release
O    := build/$(MODE)
PREFIX ?= /usr/local
CC   := gcc
DEBS = $(shell cat packaging/packages/build)
DEBS_TEST = $(shell cat packaging/packages/test)
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $@)

# -- flags ------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wvla -Walloca -Wundef -Wformat=2 \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wwrite-strings -Wpointer-arith -Wcast-qual -Wimplicit-fallthrough \
	-Wnull-dereference -Wswitch-enum
CPPFLAGS += -I. -D_GNU_SOURCE
CFLAGS   ?= -O2 -g
WERROR   ?= 1
ALL_CFLAGS = -std=gnu11 -pthread $(WARN) $(if $(filter 1,$(WERROR)),-Werror) \
	$(CFLAGS) $(MODE_$(MODE))
ALL_LDFLAGS = -pthread $(LINK_$(MODE)) $(MODE_$(MODE)) $(LDFLAGS)

MODE_release := -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
	-fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero \
	-fPIE
LINK_release := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
MODE_asan := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=all
MODE_tsan := -O1 -fsanitize=thread
MODE_cov  := -O0 --coverage
MODE_fuzz := -O1 -fsanitize=fuzzer-no-link,address,undefined -DFUZZING
MODE_analyze := -O1 -fanalyzer
ifeq ($(MODE),fuzz)
CC := clang
endif

# -- layers: an archive may only be linked with archives to its right --------
LAYERS := cli mcp vmctl desktop grants ops base
archive = $(foreach d,$(1),$(O)/lib/$(d).a)

# program: main object, then its archives, highest layer first
PROGS := boxery boxery-host boxery-mcp boxery-netread
MAIN_boxery      := cli/main.c
LIBS_boxery      := cli ops base
LDLIBS_boxery    := jansson sqlite3 libcrypto
MAIN_boxery-host := vmctl/main.c
LIBS_boxery-host := vmctl desktop grants ops base
LDLIBS_boxery-host := jansson sqlite3 libcrypto libssh libvirt libvirt-qemu xcb \
	xcb-xtest xcb-xfixes xcb-xkb xcb-damage xkbcommon libpng libturbojpeg
MAIN_boxery-mcp  := mcp/main.c
LIBS_boxery-mcp  := mcp ops base
LDLIBS_boxery-mcp := jansson sqlite3 libcrypto libmicrohttpd
# has capabilities, so it stands alone: libc, one file, none of our layers
MAIN_boxery-netread := netread/main.c
LIBS_boxery-netread :=
LDLIBS_boxery-netread :=

# tests/unit/test_<layer>_<module>.c may see <layer> and what lies below it
below_cli     := cli ops base
below_mcp     := mcp ops base
below_vmctl   := vmctl desktop grants ops base
below_desktop := desktop grants ops base
below_grants  := grants ops base
below_ops     := ops base
below_base    := base
ldlibs_base   := jansson sqlite3 libcrypto
ldlibs_ops    := $(ldlibs_base)
ldlibs_grants := $(ldlibs_base)
ldlibs_cli    := $(ldlibs_base)
ldlibs_mcp    := $(ldlibs_base) libmicrohttpd
ldlibs_desktop := $(ldlibs_base) xcb xcb-xtest xcb-xfixes xcb-xkb \
	xcb-damage xkbcommon libpng libturbojpeg
ldlibs_vmctl  := $(LDLIBS_boxery-host)

MAINS := $(foreach p,$(PROGS),$(MAIN_$(p)))
TESTS := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))
FUZZ  := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
SEL_TESTS := $(filter $(or $(T),%),$(TESTS))
SEL_FUZZ  := $(filter $(or $(T),%),$(FUZZ))
# helpers of tests, an archive: a test gets those that it uses
TEST_SUPPORT := $(O)/lib/support.a

BINS := $(foreach p,$(PROGS),$(if $(wildcard $(MAIN_$(p))),$(O)/bin/$(p)))
all: $(BINS)

# -- objects and archives -----------------------------------------------------
$(O)/obj/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# only this object knows the version, so a new commit rebuilds one file
$(O)/obj/base/version.o: CPPFLAGS += -DVERSION='"$(VERSION)"'
$(O)/obj/base/version.o: $(O)/version
$(O)/version: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@

# rebuild when compiler or flags change
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS) $(ALL_CFLAGS)' | cmp -s - $@ || \
		echo '$(CC) $(CPPFLAGS) $(ALL_CFLAGS)' > $@

# has these in it as they are
$(O)/obj/mcp/viewpage.o: mcp/view.js mcp/view.css

define layer_rule
$(O)/lib/$(1).a: $$(patsubst %.c,$(O)/obj/%.o,$$(filter-out $(MAINS),$$(wildcard $(1)/*.c)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call say,AR)
	$$(Q)ar rcs $$@ $$^
endef
$(foreach d,$(LAYERS),$(eval $(call layer_rule,$(d))))

$(TEST_SUPPORT): $(patsubst %.c,$(O)/obj/%.o,$(wildcard tests/support/*.c))
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR)
	$(Q)ar rcs $@ $^

define prog_rule
$(O)/bin/$(1): $(O)/obj/$(MAIN_$(1):.c=.o) $(call archive,$(LIBS_$(1)))
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) -o $$@ $$^ $$(ALL_LDFLAGS) $$(if $(LDLIBS_$(1)),$$(shell pkg-config --libs $(LDLIBS_$(1))) -lm)
endef
$(foreach p,$(PROGS),$(eval $(call prog_rule,$(p))))

# -- tests -----------------------------------------------------------------------
layer_of = $(firstword $(subst _, ,$(1)))
define test_rule
$(O)/test/$(1): $(O)/obj/tests/unit/test_$(1).o $(TEST_SUPPORT) $(call archive,$(below_$(call layer_of,$(1))))
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) -o $$@ $$^ $$(ALL_LDFLAGS) $$(shell pkg-config --libs cmocka $(ldlibs_$(call layer_of,$(1)))) -lm
endef
$(foreach t,$(TESTS),$(eval $(call test_rule,$(t))))

check: lint-layers check-unit
check-unit: $(SEL_TESTS:%=$(O)/test/%) $(SEL_FUZZ:%=$(O)/replay/%)
	@set -e; for t in $(SEL_TESTS); do echo "== $$t"; \
		$(O)/test/$$t $(if $(F),'$(F)'); done
	@set -e; for f in $(SEL_FUZZ); do echo "== replay $$f"; \
		$(O)/replay/$$f tests/fuzz/corpus/$$f/*; done

asan tsan:
	+$(MAKE) MODE=$@ check-unit
cov:
	+$(MAKE) MODE=cov check-unit && gcovr -r . --object-directory build/cov

# the same fuzz_*.c, driven by a plain main(): corpus replay on any compiler
FUZZ_LIBS := $(call archive,mcp vmctl desktop grants ops base)
FUZZ_LDLIBS = $(shell pkg-config --libs $(ldlibs_vmctl) libmicrohttpd) -lm
define fuzz_rule
$(O)/replay/$(1): $(O)/obj/tests/fuzz/fuzz_$(1).o $(O)/obj/tests/fuzz/replay.o $(FUZZ_LIBS)
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) -o $$@ $$^ $$(ALL_LDFLAGS) $$(FUZZ_LDLIBS)
$(O)/fuzz/$(1): $(O)/obj/tests/fuzz/fuzz_$(1).o $(FUZZ_LIBS)
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) -fsanitize=fuzzer -o $$@ $$^ $$(ALL_LDFLAGS) $$(FUZZ_LDLIBS)
endef
$(foreach f,$(FUZZ),$(eval $(call fuzz_rule,$(f))))

FUZZ_TIME ?= 60
fuzz:
	+$(MAKE) MODE=fuzz fuzz-run
fuzz-run: $(SEL_FUZZ:%=$(O)/fuzz/%)
	@set -e; for f in $(SEL_FUZZ); do mkdir -p $(O)/corpus/$$f; \
		$(O)/fuzz/$$f -max_total_time=$(FUZZ_TIME) -max_len=65536 \
		$(O)/corpus/$$f tests/fuzz/corpus/$$f; done

# helper programs of integration tests and benches: tests/tools/NAME.c
TOOLS := $(patsubst tests/tools/%.c,%,$(wildcard tests/tools/*.c))
define tool_rule
$(O)/tools/$(1): $(O)/obj/tests/tools/$(1).o $(TEST_SUPPORT) $(call archive,vmctl desktop grants ops base)
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(CC) -o $$@ $$^ $$(ALL_LDFLAGS) $$(FUZZ_LDLIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))
tools: $(TOOLS:%=$(O)/tools/%)

# boxery-mcp's HTTP side over the fixtures that MCP's conformance suite wants
$(O)/test/mcp-conformance: $(patsubst %.c,$(O)/obj/%.o,$(wildcard tests/conformance/*.c)) $(call archive,mcp ops base)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) $$(pkg-config --libs $(LDLIBS_boxery-mcp)) -lm

# -- static checks --------------------------------------------------------------
SRCS := $(wildcard $(LAYERS:%=%/*.c) netread/*.c tests/*/*.c)
lint-layers:
	@sh tests/lint/layers.sh
lint-style:
	@sh tests/lint/style.sh
tidy:
	clang-tidy --quiet $(SRCS) -- $(CPPFLAGS) -std=gnu11 -DVERSION='""'
analyze:
	+$(MAKE) MODE=analyze WERROR=0 all
cppcheck:
	cppcheck --std=c11 --enable=warning,performance,portability --inline-suppr \
		'-Djson_object_foreach(o,k,v)=while(next(o,&k,&v))' \
		--error-exitcode=1 --quiet --force -I. $(LAYERS) netread
lint: lint-layers lint-style cppcheck

bench: all tools
	@bash bench/run

# what is derived from the table of operations and committed; a unit test
# compares
docs: $(O)/bin/boxery
	@mkdir -p docs/man
	$(O)/bin/boxery help --man > docs/man/boxery.1
	$(O)/bin/boxery help --operations > docs/OPERATIONS.md

# -- install, housekeeping --------------------------------------------------------
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/boxery \
		$(DESTDIR)$(PREFIX)/libexec/boxery \
		$(DESTDIR)$(PREFIX)/lib/systemd/user
	install -m 755 $(filter-out %-netread,$(BINS)) $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(filter %-netread,$(BINS)) \
		$(DESTDIR)$(PREFIX)/libexec/boxery
	install -m 644 $(wildcard docs/man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1
	cp -R --no-preserve=ownership guest $(DESTDIR)$(PREFIX)/share/boxery/
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/vendor-completions
	$(O)/bin/boxery completion bash > \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/boxery
	$(O)/bin/boxery completion zsh > \
		$(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_boxery
	for unit in boxery-host boxery-mcp; do \
		sed 's,@BINDIR@,$(PREFIX)/bin,' \
			packaging/systemd/$$unit.service.in \
			> $(DESTDIR)$(PREFIX)/lib/systemd/user/$$unit.service; \
	done
deps:
	@echo apt-get install -y --no-install-recommends $(DEBS)
deps-test:
	@echo apt-get install -y --no-install-recommends $(DEBS_TEST)
clean:
	rm -rf build

.PHONY: all check check-unit asan tsan cov fuzz fuzz-run tools lint lint-layers \
	lint-style tidy analyze cppcheck bench docs install deps deps-test clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)
