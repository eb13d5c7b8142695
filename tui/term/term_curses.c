/*
 * term_curses.c - the real terminal, through ncurses' wide functions.
 *
 * Rules kept here:
 *   1. Only cells that differ from what was last sent are given to curses;
 *      one doupdate() a frame.
 *   2. A glyph whose width the C library counts otherwise is replaced before
 *      curses sees it, so the two never drift apart.
 *   3. Keys are drained without waiting before poll(): curses reads ahead.
 *   4. A fatal signal restores the terminal with write() and tcsetattr()
 *      alone, from bytes prepared at the start.
 *   5. Input is read from a pad: reading from a window would draw it, and in
 *      24-bit colours the screen is drawn without curses (paint.c).
 *   6. While the screen is up, standard error goes elsewhere (term_fd.c).
 */
#define _XOPEN_SOURCE_EXTENDED 1
#include "tui/term/term.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "tui/grid/theme.h"
#include "tui/sys/leave.h"
#include "tui/term/graphics_ask.h"
#include "tui/term/paint.h"
#include "tui/term/term_fd.h"

/* Answers and marks that terminals send and curses has no names for. */
enum {
    KEY_PASTE_START = KEY_MAX + 1,
    KEY_PASTE_END,
    KEY_SYNC_UNKNOWN,
    KEY_SYNC_KNOWN, /* the terminal knows synchronized output (mode 2026) */
    PASTE_WAIT_MS = 1000,
    SEQUENCE_WAIT_MS = 10,
    CELL_W = 10, /* pixels, where a terminal does not say */
    CELL_H = 20,
    CRASH_TEXT_MAX = 512
};

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
static const int ending_signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
enum {
    N_FATAL = sizeof fatal_signals / sizeof fatal_signals[0],
    N_ENDING = sizeof ending_signals / sizeof ending_signals[0]
};

typedef struct curses_term {
    cf_term base;
    SCREEN *screen;
    int wake_read;
    cf_cell *sent; /* [h, w]: what curses was last given */
    int w, h;
    bool must_redraw;
    bool has_sync;
    bool has_mouse; /* the terminal has one */
    bool is_mouse_on;
    cf_buf paste;
    cf_buf frame; /* bytes of one, in 24-bit colours or with pictures */
    bool paints;  /* frames are written without curses from now on */
    cf_graphics *graphics;
    cf_graphics_facts facts;
    cf_graphics_kind wish;
    struct sigaction old_action[N_FATAL + 1];
} curses_term;

/* What signal handlers need: there is one screen per process. */
static struct termios original_tty;
static char restore_bytes[CRASH_TEXT_MAX];
static size_t n_restore_bytes;
static char crash_note[CRASH_TEXT_MAX];
static size_t n_crash_note;
static volatile sig_atomic_t must_end;
static WINDOW *input; /* a pad, while the screen is up */
static int signal_wake_fd = -1;

static void restore_terminal(void)
{
    cf_term__write(STDOUT_FILENO, restore_bytes, n_restore_bytes);
    tcsetattr(STDIN_FILENO, TCSANOW, &original_tty);
}

static void on_fatal(int number)
{
    restore_terminal();
    cf_term__write(STDOUT_FILENO, crash_note, n_crash_note);
    /* on_fault() put the default back: die of the signal. */
    raise(number);
}

/* A part of a model file that was cut off can be read after mending. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number != SIGBUS || !cf_os_map_mend(info->si_addr)) {
        signal(number, SIG_DFL);
        on_fatal(number);
    }
}

static void on_ending(int number)
{
    (void)number;
    int saved = errno;
    must_end = 1;
    cf_leave_soon();
    if (signal_wake_fd >= 0) {
        cf_term__write(signal_wake_fd, "q", 1);
    }
    errno = saved;
}

bool cf_term_must_end(void)
{
    return must_end != 0;
}

static void add_restore(const char *bytes)
{
    size_t n = bytes != NULL && bytes != (char *)-1 ? strlen(bytes) : 0;
    if (n > 0 && n <= sizeof restore_bytes - n_restore_bytes) {
        memcpy(restore_bytes + n_restore_bytes, bytes, n);
        n_restore_bytes += n;
    }
}

static char *capability(const char *name)
{
    union {
        const char *in;
        char *out;
    } arg = {name};
    char *bytes = tigetstr(arg.out);
    return bytes == (char *)-1 ? NULL : bytes;
}

static void prepare_restore(const char *log_path)
{
    n_restore_bytes = 0;
    add_restore("\033[?2026l\033[?2004l\033[?1006l\033[?1002l");
    add_restore(capability("sgr0"));
    add_restore(capability("cnorm"));
    add_restore(capability("rmkx"));
    add_restore(capability("rmcup"));
    int n = snprintf(crash_note, sizeof crash_note,
                     "\r\nconfab: a fault ended the program; the conversation "
                     "up to the last moment is in the database%s%s\r\n",
                     log_path != NULL ? "; log: " : "", log_path != NULL ? log_path : "");
    n_crash_note = n > 0 ? (size_t)n : 0;
    if (n_crash_note >= sizeof crash_note) {
        n_crash_note = sizeof crash_note - 1;
    }
}

static void install_signals(curses_term *t)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    int slot = 0;
    for (int i = 0; i < N_FATAL; i++) {
        struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&sa.sa_mask);
        sigaction(fatal_signals[i], &sa, &t->old_action[slot++]);
    }
    for (int i = 0; i < N_ENDING; i++) {
        struct sigaction sa = {.sa_handler = on_ending};
        sigemptyset(&sa.sa_mask);
        sigaction(ending_signals[i], &sa, NULL);
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, &t->old_action[slot]);
}

/* on_ending() stays: what was there before it, as a rule curses' own handler,
 * could end the program at a third ^C while the last turn is written. */
static void restore_signals(curses_term *t)
{
    int slot = 0;
    for (int i = 0; i < N_FATAL; i++) {
        sigaction(fatal_signals[i], &t->old_action[slot++], NULL);
    }
    sigaction(SIGPIPE, &t->old_action[slot], NULL);
}

/* Paste marks, and the question whether frames can be sent as one. */
static void start_modes(void)
{
    static const char start[] = "\033[?2004h\033[?2026$p";
    cf_term__write(STDOUT_FILENO, start, sizeof start - 1);
}

/* Asks for the background's colour and for graphics, where the terminal is
 * like xterm. */
static void ask(const curses_term *t)
{
    static const char ground[] = "\033]11;?\033\\";
    const char *graphics = cf_graphics_questions(&t->facts);
    if (t->base.n_colors >= 8 && t->has_mouse) {
        cf_term__write(STDOUT_FILENO, ground, sizeof ground - 1);
    }
    if (t->base.n_colors >= 256 && t->has_mouse) {
        cf_term__write(STDOUT_FILENO, graphics, strlen(graphics));
    }
}

/* "0;15": the colours that some terminals name at the start. */
static bool is_light_by_name(void)
{
    const char *v = getenv("COLORFGBG"); /* NOLINT(concurrency-mt-unsafe) */
    const char *last = v != NULL ? strrchr(v, ';') : NULL;
    return last != NULL && (strcmp(last, ";7") == 0 || strcmp(last, ";15") == 0);
}

/* Whether colours may have 24 bits: as terminals say it to programs. */
static bool has_true_color(void)
{
    const char *v = getenv("COLORTERM"); /* NOLINT(concurrency-mt-unsafe) */
    union {
        const char *in;
        char *out;
    } rgb = {"RGB"};
    return (v != NULL && (strcmp(v, "truecolor") == 0 || strcmp(v, "24bit") == 0)) ||
           tigetflag(rgb.out) > 0;
}

static void end_modes(void)
{
    static const char end[] = "\033[?2004l";
    cf_term__write(STDOUT_FILENO, end, sizeof end - 1);
}

/* Presses, moves with a button held and the wheel, in the form that has no
 * largest column. */
static void send_mouse(bool is_on)
{
    static const char on[] = "\033[?1002h\033[?1006h";
    static const char off[] = "\033[?1006l\033[?1002l";
    cf_term__write(STDOUT_FILENO, is_on ? on : off, sizeof on - 1);
}

static void curses_mouse(cf_term *term, bool is_on)
{
    curses_term *t = (curses_term *)term;
    is_on = is_on && t->has_mouse;
    if (is_on != t->is_mouse_on) {
        send_mouse(is_on);
        t->is_mouse_on = is_on;
    }
}

static void configure_curses(void)
{
    raw();
    noecho();
    nonl();
    input = newpad(1, 1);
    if (input != NULL) {
        keypad(input, TRUE);
        nodelay(input, TRUE);
    }
    intrflush(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    if (getenv("ESCDELAY") == NULL) { /* NOLINT(concurrency-mt-unsafe) */
        set_escdelay(25);
    }
    define_key("\033[200~", KEY_PASTE_START);
    define_key("\033[201~", KEY_PASTE_END);
    define_key("\033[?2026;1$y", KEY_SYNC_KNOWN);
    define_key("\033[?2026;2$y", KEY_SYNC_KNOWN);
    define_key("\033[?2026;0$y", KEY_SYNC_UNKNOWN);
    define_key("\033[?2026;3$y", KEY_SYNC_UNKNOWN);
    define_key("\033[?2026;4$y", KEY_SYNC_UNKNOWN);
    define_key(NULL, KEY_MOUSE); /* read_sequence() takes them */
}

static bool wants_color(const cf_term_options *opts)
{
    if (opts->color != CF_COLOR_AUTO) {
        return opts->color == CF_COLOR_ALWAYS;
    }
    const char *no = getenv("NO_COLOR"); /* NOLINT(concurrency-mt-unsafe) */
    return no == NULL || no[0] == '\0';
}

/* ---- pictures ----------------------------------------------------------- */

static void clear_graphics(curses_term *t)
{
    cf_buf out = CF_BUF_INIT;
    cf_graphics_clear(t->graphics, &out);
    if (!out.failed) {
        cf_term__write(STDOUT_FILENO, out.p, out.n);
    }
    cf_buf_deinit(&out);
}

/* Pixels of a cell: of the window's size, or as the terminal answered. */
static void find_cell(const curses_term *t, int *w, int *h)
{
    struct winsize size;
    bool has_size = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
                    size.ws_row > 0 && size.ws_xpixel >= size.ws_col &&
                    size.ws_ypixel >= size.ws_row;
    *w = t->facts.cell_w > 0 ? t->facts.cell_w : has_size ? size.ws_xpixel / size.ws_col : CELL_W;
    *h = t->facts.cell_h > 0 ? t->facts.cell_h : has_size ? size.ws_ypixel / size.ws_row : CELL_H;
}

/* Uses what the terminal is known to have; true when that changes. */
static bool fit_graphics(curses_term *t)
{
    int w, h;
    bool can = t->base.n_colors >= 256 && t->base.utf8;
    cf_graphics_kind kind = can ? cf_graphics_pick(&t->facts, t->wish) : CF_GRAPHICS_BLOCKS;
    if (kind == CF_GRAPHICS_BLOCKS && cf_graphics_in_use(t->graphics) == CF_GRAPHICS_BLOCKS) {
        return false;
    }
    t->base.has_graphics = kind != CF_GRAPHICS_BLOCKS;
    find_cell(t, &w, &h);
    clear_graphics(t);
    cf_graphics_use(t->graphics, kind, w, h);
    t->paints = true;
    t->must_redraw = true;
    return true;
}

static void curses_graphics(cf_term *term, cf_graphics_kind wish)
{
    curses_term *t = (curses_term *)term;
    if (wish != t->wish) {
        t->wish = wish;
        (void)fit_graphics(t);
    }
}

static cf_status grow(curses_term *t, cf_error *err)
{
    int w = COLS, h = LINES;
    size_t n;
    if (!cf_mul_size(&n, (size_t)w, (size_t)h)) {
        return cf_fail(err, CF_ELIMIT, "a screen of %d x %d cells", w, h);
    }
    cf_cell *sent = cf_calloc(n, sizeof *sent);
    if (sent == NULL) {
        return cf_oom_for(err, "the screen");
    }
    cf_free(t->sent);
    t->sent = sent;
    t->w = w;
    t->h = h;
    t->must_redraw = true;
    (void)fit_graphics(t); /* cells may have another size now */
    return CF_OK;
}

/* ---- output ------------------------------------------------------------- */

static void put_cell(const curses_term *t, int x, int y, const cf_cell *c)
{
    cf_look look = cf_theme_look(cf_theme_current(), c->style, t->base.n_colors);
    if ((c->style & CF_STYLE_NAME_MASK) == CF_STYLE_IMAGE && t->base.n_colors > 0 &&
        c->glyph.cp[0] != ' ') {
        look.fg = c->fg;
        look.bg = c->bg;
    }
    attr_t attrs = A_NORMAL;
    attrs |= look.attr & CF_ATTR_BOLD ? A_BOLD : 0;
    attrs |= look.attr & CF_ATTR_UNDERLINE ? A_UNDERLINE : 0;
    attrs |= look.attr & CF_ATTR_REVERSE ? A_REVERSE : 0;
    attrs |= look.attr & CF_ATTR_DIM ? A_DIM : 0;
    int pair =
        t->base.n_colors > 0 && (look.fg >= 0 || look.bg >= 0) ? alloc_pair(look.fg, look.bg) : 0;
    wchar_t text[2 + CF_CELL_MARKS] = {0};
    size_t n = 0;
    for (size_t i = 0; i < 1 + CF_CELL_MARKS && c->glyph.cp[i] != 0; i++) {
        text[n++] = (wchar_t)c->glyph.cp[i];
    }
    bool is_plain = c->glyph.cp[0] >= 32 && c->glyph.cp[0] < 127;
    if (!is_plain && (!t->base.utf8 || wcwidth(text[0]) != (int)c->glyph.width)) {
        text[0] = t->base.utf8 ? 0xFFFD : L'?';
        text[1] = 0;
    }
    cchar_t cell;
    pair = pair > 0 ? pair : 0; /* as an int: there may be 65536 */
    setcchar(&cell, text, attrs, 0, &pair);
    mvadd_wch(y, x, &cell);
}

static void send_row(curses_term *t, const cf_grid *g, int y)
{
    size_t row = (size_t)y * (size_t)t->w;
    for (int x = 0; x < t->w; x++) {
        const cf_cell *now = &g->cell[row + (size_t)x];
        cf_cell *sent = &t->sent[row + (size_t)x];
        if (!t->must_redraw && cf_paint_same_cell(now, sent)) {
            continue;
        }
        *sent = *now;
        if (now->glyph.width == 0) {
            continue; /* came with the cell before */
        }
        put_cell(t, x, y, now);
        if (now->glyph.width == 2 && !t->must_redraw && x + 1 < t->w) {
            t->sent[row + (size_t)x + 1] = g->cell[row + (size_t)x + 1];
        }
    }
}

static void paint(curses_term *t, const cf_grid *g)
{
    cf_buf_restart(&t->frame);
    cf_buf_adds(&t->frame, t->has_sync ? "\033[?2026h" : "");
    const cf_grid *cells = cf_graphics_begin(t->graphics, &t->frame, g, t->sent, t->must_redraw);
    cf_paint(&t->frame, cells, t->sent, t->must_redraw, cf_theme_current(), t->base.n_colors);
    cf_graphics_end(t->graphics, &t->frame);
    cf_buf_adds(&t->frame, t->has_sync ? "\033[?2026l" : "");
    /* Where memory is short the next frame draws everything. */
    t->must_redraw = t->frame.failed;
    if (!t->frame.failed) {
        cf_term__write(STDOUT_FILENO, t->frame.p, t->frame.n);
    }
}

static void curses_present(cf_term *term, const cf_grid *g)
{
    curses_term *t = (curses_term *)term;
    if (g->w != t->w || g->h != t->h) {
        return; /* a resize is on its way */
    }
    if (t->base.n_colors >= CF_TRUE_COLOR || t->paints) {
        paint(t, g);
        return;
    }
    if (t->must_redraw) {
        clearok(curscr, TRUE);
    }
    for (int y = 0; y < t->h; y++) {
        send_row(t, g, y);
    }
    t->must_redraw = false;
    if (g->cursor_x >= 0) {
        move(g->cursor_y, g->cursor_x);
    }
    wnoutrefresh(stdscr);
    curs_set(g->cursor_x >= 0 ? 1 : 0);
    if (t->has_sync) {
        cf_term__write(STDOUT_FILENO, "\033[?2026h", 8);
    }
    doupdate();
    if (t->has_sync) {
        cf_term__write(STDOUT_FILENO, "\033[?2026l", 8);
    }
}

static void curses_redraw(cf_term *term)
{
    ((curses_term *)term)->must_redraw = true;
}

static void curses_size(const cf_term *term, int *w, int *h)
{
    const curses_term *t = (const curses_term *)term;
    *w = t->w;
    *h = t->h;
}

/* ---- input -------------------------------------------------------------- */

typedef struct curses_key {
    wint_t value;
    cf_key key;
} curses_key;

static cf_key translate(wint_t value)
{
    static const curses_key table[] = {
        {KEY_UP, CF_KEY_UP},
        {KEY_DOWN, CF_KEY_DOWN},
        {KEY_LEFT, CF_KEY_LEFT},
        {KEY_RIGHT, CF_KEY_RIGHT},
        {KEY_HOME, CF_KEY_HOME},
        {KEY_END, CF_KEY_END},
        {KEY_PPAGE, CF_KEY_PAGE_UP},
        {KEY_NPAGE, CF_KEY_PAGE_DOWN},
        {KEY_IC, CF_KEY_INSERT},
        {KEY_DC, CF_KEY_DELETE},
        {KEY_BACKSPACE, CF_KEY_BACKSPACE},
        {KEY_BTAB, CF_KEY_BACK_TAB},
        {KEY_ENTER, CF_KEY_ENTER},
        {KEY_SLEFT, CF_KEY_LEFT | CF_KEY_SHIFT},
        {KEY_SRIGHT, CF_KEY_RIGHT | CF_KEY_SHIFT},
        {KEY_SR, CF_KEY_UP | CF_KEY_SHIFT},
        {KEY_SF, CF_KEY_DOWN | CF_KEY_SHIFT},
        {KEY_SHOME, CF_KEY_HOME | CF_KEY_SHIFT},
        {KEY_SEND, CF_KEY_END | CF_KEY_SHIFT},
        {KEY_SDC, CF_KEY_DELETE | CF_KEY_SHIFT},
        {KEY_SIC, CF_KEY_INSERT | CF_KEY_SHIFT},
        {KEY_SPREVIOUS, CF_KEY_PAGE_UP | CF_KEY_SHIFT},
        {KEY_SNEXT, CF_KEY_PAGE_DOWN | CF_KEY_SHIFT},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].value == value) {
            return table[i].key;
        }
    }
    if (value >= KEY_F(1) && value <= KEY_F(12)) {
        return (cf_key)(CF_KEY_F1 + (value - KEY_F(1)));
    }
    /* Codes that curses made for extended capabilities, such as kLFT5. */
    cf_key key = 0;
    const char *name = keyname((int)value);
    return name != NULL && cf_key_from_capability(&key, name) ? key : 0;
}

static bool wait_input(int timeout_ms)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&p, 1, timeout_ms) > 0;
}

/* Collects what lies between the paste marks. */
static void read_paste(curses_term *t)
{
    cf_buf_restart(&t->paste);
    for (;;) {
        wint_t value;
        int kind = wget_wch(input, &value);
        if (kind == ERR) {
            if (!wait_input(PASTE_WAIT_MS)) {
                return; /* the closing mark got lost */
            }
            continue;
        }
        if (kind == KEY_CODE_YES) {
            if (value == KEY_PASTE_END) {
                return;
            }
            continue;
        }
        char text[4];
        uint32_t cp = value == '\r' ? '\n' : (uint32_t)value;
        if (cp < 0x110000) {
            cf_buf_add(&t->paste, text, cf_utf8_encode(text, cp));
        }
    }
}

/* The next character of a sequence; a sequence may come in two pieces. */
static bool read_next(wint_t *value)
{
    return wget_wch(input, value) == OK ||
           (wait_input(SEQUENCE_WAIT_MS) && wget_wch(input, value) == OK);
}

/* The event of a sequence "ESC [ params final"; false: it is not one. */
static bool take_sequence(curses_term *t, cf_event *out, const char *params, size_t n, char final)
{
    if (cf_graphics_take_csi(&t->facts, params, n, final)) {
        out->kind = fit_graphics(t) ? CF_EVENT_RESUMED : CF_EVENT_NONE;
        return true;
    }
    out->kind = CF_EVENT_KEY;
    if (cf_mouse_from_csi(&out->key, &out->x, &out->y, params, n, final)) {
        out->kind = out->key == 0                       ? CF_EVENT_MOUSE
                    : out->key == CF_KEY_MOUSE_MOVED    ? CF_EVENT_DRAG
                    : out->key == CF_KEY_MOUSE_RELEASED ? CF_EVENT_RELEASE
                                                        : CF_EVENT_KEY;
        return true;
    }
    return cf_key_from_csi(&out->key, params, n, final);
}

/* The rest of a control sequence that curses does not know, after "ESC [":
 * a key with modifiers, a mouse, or a terminal's answer, whose characters are
 * not commands.  out->kind is CF_EVENT_NONE where it is neither.  False when
 * nothing followed: the user pressed Alt and "[". */
static bool read_sequence(curses_term *t, cf_event *out)
{
    char params[120]; /* the attributes of a terminal may be many */
    size_t n = 0;
    bool is_one = false;
    wint_t value;
    while (read_next(&value)) {
        is_one = true;
        if (value < 0x20 || value > 0x3F) { /* its last character */
            if (value >= 0x7F || n >= sizeof params ||
                !take_sequence(t, out, params, n, (char)value)) {
                out->kind = CF_EVENT_NONE;
            }
            break;
        }
        if (n < sizeof params) {
            params[n++] = (char)value;
        }
    }
    return is_one;
}

/* The terminal's answer "ESC ] 11 ; rgb:RRRR/GGGG/BBBB", with its end; true
 * when it says that the background's kind is another one. */
static bool read_answer(curses_term *t)
{
    char text[64];
    size_t n = 0;
    wint_t value;
    while (read_next(&value) && value != '\a' && value != CF_KEY_ESC) {
        if (n + 1 < sizeof text) {
            text[n++] = (char)value;
        }
    }
    if (value == CF_KEY_ESC) {
        (void)read_next(&value); /* the "\\" of the end */
    }
    text[n] = '\0';
    unsigned r, g, b;
    if (sscanf(text, "11;rgb:%2x%*2[0-9a-fA-F]/%2x%*2[0-9a-fA-F]/%2x", &r, &g, &b) != 3) {
        return false;
    }
    bool is_light = 3 * r + 6 * g + b > 5 * 255;
    bool is_new = is_light != t->base.is_light;
    t->base.is_light = is_light;
    return is_new;
}

/* The answer "ESC _ G ..." to the question for kitty's graphics, with its end.
 * False: no "G" follows, and the user pressed Alt and "_". */
static bool read_graphics_answer(curses_term *t, cf_event *out)
{
    char text[64];
    size_t n = 0;
    wint_t value;
    if (!read_next(&value)) {
        return false;
    }
    if (value != 'G') {
        unget_wch((wchar_t)value);
        return false;
    }
    do {
        if (n < sizeof text) {
            text[n++] = (char)value;
        }
    } while (read_next(&value) && value != '\a' && value != CF_KEY_ESC);
    if (value == CF_KEY_ESC) {
        (void)read_next(&value); /* the "\\" of the end */
    }
    bool is_new = cf_graphics_take_apc(&t->facts, text, n) && fit_graphics(t);
    out->kind = is_new ? CF_EVENT_RESUMED : CF_EVENT_NONE;
    return true;
}

/* The event that "ESC" begins: Alt sends it before the key.  Escape followed
 * at once by a digit is both keys, because no command is Alt and a digit, and
 * Esc 2 is typed quickly.  CF_EVENT_NONE: neither a key nor a mouse. */
static void after_escape(curses_term *t, cf_event *out)
{
    wint_t second;
    *out = (cf_event){.kind = CF_EVENT_KEY, .key = CF_KEY_ESC};
    if (wget_wch(input, &second) != OK) {
        return;
    }
    if (second == '[' && read_sequence(t, out)) {
        return;
    }
    if (second == ']' && t->has_mouse) {
        out->kind = read_answer(t) ? CF_EVENT_RESUMED : CF_EVENT_NONE;
        return;
    }
    if (second == '_' && t->has_mouse && read_graphics_answer(t, out)) {
        return;
    }
    if (second >= '0' && second <= '9') {
        unget_wch((wchar_t)second);
        return;
    }
    out->key = (cf_key)second | CF_KEY_ALT;
}

/* The next event curses has ready; false when there is none. */
static bool read_event(curses_term *t, cf_event *out)
{
    for (;;) {
        wint_t value;
        int kind = wget_wch(input, &value);
        if (kind == ERR) {
            return false;
        }
        if (kind != KEY_CODE_YES) {
            out->kind = CF_EVENT_KEY;
            out->key = value == 127 || value == 8 ? CF_KEY_BACKSPACE : (cf_key)value;
            if (value == CF_KEY_ESC) {
                after_escape(t, out);
                if (out->kind == CF_EVENT_NONE) {
                    continue;
                }
            }
            return true;
        }
        switch (value) {
        case KEY_RESIZE:
            if (grow(t, NULL) == CF_OK) {
                *out = (cf_event){.kind = CF_EVENT_RESIZE, .w = t->w, .h = t->h};
                return true;
            }
            break;
        case KEY_PASTE_START:
            read_paste(t);
            if (t->paste.failed) { /* half of it would be worse than none */
                cf_buf_restart(&t->paste);
            }
            out->kind = CF_EVENT_PASTE;
            out->paste = cf_buf_str(&t->paste);
            return true;
        case KEY_SYNC_KNOWN:
            t->has_sync = true;
            break;
        case KEY_SYNC_UNKNOWN:
            break;
        default:
            out->kind = CF_EVENT_KEY;
            out->key = translate(value);
            if (out->key != 0) {
                return true;
            }
        }
    }
}

static void curses_wait(cf_term *term, int timeout_ms, cf_event *out)
{
    curses_term *t = (curses_term *)term;
    *out = (cf_event){.kind = CF_EVENT_NONE};
    if (must_end) {
        out->kind = CF_EVENT_HANGUP;
        return;
    }
    if (read_event(t, out)) {
        return;
    }
    struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                          {.fd = t->wake_read, .events = POLLIN}};
    int n = poll(p, 2, timeout_ms);
    if (must_end) {
        out->kind = CF_EVENT_HANGUP;
        return;
    }
    if (n > 0 && (p[1].revents & POLLIN)) {
        char drain[256];
        while (read(t->wake_read, drain, sizeof drain) > 0) {
        }
        out->kind = CF_EVENT_WAKE;
        return;
    }
    if (n > 0 && (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))) {
        out->kind = CF_EVENT_HANGUP;
        return;
    }
    read_event(t, out); /* input, or a signal such as SIGWINCH */
}

/* ---- leaving and coming back -------------------------------------------- */

static void curses_leave(cf_term *term)
{
    clear_graphics((curses_term *)term);
    end_modes();
    if (((curses_term *)term)->is_mouse_on) {
        send_mouse(false);
    }
    def_prog_mode();
    endwin();
}

static void curses_enter(cf_term *term)
{
    curses_term *t = (curses_term *)term;
    reset_prog_mode();
    refresh();
    start_modes();
    if (t->is_mouse_on) {
        send_mouse(true);
    }
    (void)grow(t, NULL); /* the old size stays when memory is short */
    t->must_redraw = true;
}

static void curses_suspend(cf_term *term)
{
    curses_leave(term);
    kill(getpid(), SIGTSTP);
    curses_enter(term);
}

static void curses_copy(cf_term *term, cf_str text)
{
    (void)term;
    cf_buf out = CF_BUF_INIT;
    cf_buf_adds(&out, "\033]52;c;");
    cf_base64_put(&out, text);
    cf_buf_adds(&out, "\a");
    if (!out.failed) {
        cf_term__write(STDOUT_FILENO, out.p, out.n);
    }
    cf_buf_deinit(&out);
}

static void curses_close(cf_term *term)
{
    curses_term *t = (curses_term *)term;
    if (t->screen != NULL) {
        clear_graphics(t);
        end_modes();
        curses_mouse(term, false);
        endwin();
        if (input != NULL) {
            delwin(input);
            input = NULL;
        }
        restore_signals(t);
        cf_leave_by(NULL);
        delscreen(t->screen);
    }
    signal_wake_fd = -1;
    cf_term__release_stderr();
    close(t->wake_read);
    close(t->base.wake_fd);
    cf_buf_deinit(&t->paste);
    cf_buf_deinit(&t->frame);
    cf_graphics_free(t->graphics);
    cf_free(t->sent);
    cf_free(t);
}

static const cf_term_ops curses_ops = {curses_close, curses_size,     curses_present, curses_wait,
                                       curses_leave, curses_enter,    curses_suspend, curses_copy,
                                       curses_mouse, curses_graphics, curses_redraw};

/* ---- opening ------------------------------------------------------------ */

cf_status cf_term_check(cf_error *err)
{
    static const char text[] = "needs a cursor-addressable terminal; try: "
                               "confab run, confab history, confab help";
    int found = 1;
    const char *name = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe) */
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || name == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "%s", text);
    }
    if (setupterm(NULL, STDOUT_FILENO, &found) != OK) {
        return found == 1 ? cf_fail(err, CF_EUNSUPPORTED, "%s", text)
                          : cf_fail(err, CF_EUNSUPPORTED,
                                    "no terminfo entry for '%.60s' (TERM) on "
                                    "this machine: install it (often in "
                                    "ncurses-term), or start with "
                                    "TERM=xterm-256color",
                                    name);
    }
    bool can_move = capability("cup") != NULL;
    del_curterm(set_curterm(NULL)); /* newterm() reads its own */
    return can_move ? CF_OK : cf_fail(err, CF_EUNSUPPORTED, "%s", text);
}

static cf_status make_pipe(curses_term *t, cf_error *err)
{
    int fd[2];
    if (pipe(fd) != 0) {
        return cf_fail(err, CF_EIO, "cannot make a pipe to wake the screen");
    }
    for (int i = 0; i < 2; i++) {
        fcntl(fd[i], F_SETFL, O_NONBLOCK);
        fcntl(fd[i], F_SETFD, FD_CLOEXEC);
    }
    t->wake_read = fd[0];
    t->base.wake_fd = fd[1];
    return CF_OK;
}

static void name_terminal(curses_term *t)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe) */
    cf_graphics_from_names(&t->facts, getenv("TERM"), getenv("TMUX"), getenv("TERM_PROGRAM"),
                           getenv("LC_TERMINAL"));
    /* NOLINTEND(concurrency-mt-unsafe) */
}

cf_status cf_term_curses_open(cf_term **out, const cf_term_options *opts, cf_error *err)
{
    CF_TRY(cf_term_check(err));
    setlocale(LC_CTYPE, ""); /* NOLINT(concurrency-mt-unsafe) */
    curses_term *t = cf_calloc(1, sizeof *t);
    if (t == NULL) {
        return cf_oom(err);
    }
    t->base.ops = &curses_ops;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe) */
    t->base.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    cf_status st = cf_graphics_new(&t->graphics, err);
    CF_THEN(st, make_pipe(t, err));
    if (st != CF_OK) {
        cf_graphics_free(t->graphics);
        cf_free(t);
        return st;
    }
    name_terminal(t);
    t->wish = opts->graphics;
    tcgetattr(STDIN_FILENO, &original_tty);
    t->screen = newterm(NULL, stdout, stdin);
    if (t->screen == NULL) {
        curses_close(&t->base);
        return cf_fail(err, CF_EUNSUPPORTED, "the terminal '%s' is not known",
                       getenv("TERM")); /* NOLINT(concurrency-mt-unsafe) */
    }
    t->has_mouse = capability("kmous") != NULL;
    signal_wake_fd = t->base.wake_fd;
    configure_curses();
    if (wants_color(opts) && has_colors()) {
        start_color();
        use_default_colors();
        t->base.n_colors =
            COLORS >= 256 && t->base.utf8 && has_true_color() ? CF_TRUE_COLOR : COLORS;
    }
    t->base.is_light = is_light_by_name();
    refresh(); /* clears the screen, which paint.c does not know */
    prepare_restore(opts->log_path);
    install_signals(t);
    cf_leave_by(restore_terminal);
    cf_term__capture_stderr();
    start_modes();
    st = grow(t, err);
    if (st != CF_OK) {
        curses_close(&t->base);
        return st;
    }
    curses_mouse(&t->base, opts->mouse);
    ask(t);
    *out = &t->base;
    return CF_OK;
}
