/*
 * trail_write.c - a trail's events as lines of JSON.
 */
#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "storage/trail.h"

static void begin(cf_jw *w, cf_buf *out, const char *event)
{
    cf_jw_init(w, out);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "event", event);
}

static void end(cf_jw *w, cf_buf *out)
{
    cf_jw_end(w);
    cf_buf_addc(out, '\n');
}

static void put_time(cf_jw *w, const char *key, int64_t ms)
{
    char text[25];
    if (ms != 0) {
        cf_os_format_time(text, ms);
        cf_jw_text(w, key, text);
    }
}

static void put_str(cf_jw *w, const char *key, cf_str s)
{
    if (s.n != 0) {
        cf_jw_str(w, key, s);
    }
}

static void put_count(cf_jw *w, const char *key, int64_t n)
{
    if (n != 0) {
        cf_jw_int(w, key, n);
    }
}

static void put_strs(cf_jw *w, const char *key, const cf_str *v, size_t n)
{
    cf_jw_array(w, key);
    for (size_t i = 0; i < n; i++) {
        cf_jw_str(w, NULL, v[i]);
    }
    cf_jw_end(w);
}

static void write_session(cf_buf *out, const cf_trail *t)
{
    cf_jw w;
    begin(&w, out, "session");
    cf_jw_text(&w, "format", t->format);
    cf_jw_str(&w, "id", t->id);
    put_strs(&w, "models", t->models, t->n_models);
    put_str(&w, "title", t->title);
    put_str(&w, "folder", t->folder);
    put_str(&w, "agent_version", t->version);
    put_time(&w, "started", t->started_ms);
    put_time(&w, "ended", t->ended_ms);
    end(&w, out);
}

static void put_branch(cf_jw *w, const cf_trail_event *e)
{
    if (e->is_branch) {
        cf_jw_uint(w, "branch", e->branch);
    }
}

static void write_message(cf_buf *out, const cf_trail_event *e)
{
    const cf_trail_message *m = e->as.message;
    cf_jw w;
    begin(&w, out, "message");
    cf_jw_uint(&w, "n", m->n);
    cf_jw_text(&w, "role", cf_trail_role_name(m->role));
    cf_jw_str(&w, "agent", e->agent);
    cf_jw_str(&w, "text", m->text);
    put_str(&w, "thinking", m->thinking);
    if (m->n_calls != 0) {
        cf_jw_array(&w, "calls");
        for (size_t i = 0; i < m->n_calls; i++) {
            cf_jw_object(&w, NULL);
            cf_jw_str(&w, "id", m->calls[i].id);
            cf_jw_str(&w, "name", m->calls[i].name);
            cf_jw_raw(&w, "arguments", m->calls[i].arguments);
            cf_jw_end(&w);
        }
        cf_jw_end(&w);
    }
    put_str(&w, "call_id", m->call_id);
    if (m->is_error) {
        cf_jw_bool(&w, "error", true);
    }
    put_count(&w, "images", m->n_images);
    put_str(&w, "model", m->model);
    put_time(&w, "time", m->time_ms);
    if (m->is_meta) {
        cf_jw_bool(&w, "meta", true);
    }
    put_branch(&w, e);
    end(&w, out);
}

static void write_step(cf_buf *out, const cf_trail_event *e)
{
    const cf_trail_step *s = e->as.step;
    cf_jw w;
    begin(&w, out, "step");
    cf_jw_uint(&w, "n", s->n);
    cf_jw_str(&w, "agent", e->agent);
    cf_jw_uint(&w, "message", s->message != NULL ? s->message->n : 0);
    cf_jw_int(&w, "input", s->used.input);
    cf_jw_int(&w, "cache_read", s->used.cache_read);
    cf_jw_int(&w, "cache_creation", s->used.cache_creation);
    cf_jw_int(&w, "output", s->used.output);
    put_count(&w, "reasoning", s->used.reasoning);
    put_str(&w, "stop", s->stop);
    if (s->n_not_returned != 0) {
        cf_jw_array(&w, "not_returned");
        for (size_t i = 0; i < s->n_not_returned; i++) {
            cf_jw_uint(&w, NULL, s->not_returned[i]->n);
        }
        cf_jw_end(&w);
    }
    put_branch(&w, e);
    end(&w, out);
}

static void write_compaction(cf_buf *out, const cf_trail_event *e)
{
    const cf_trail_compaction *c = e->as.compaction;
    cf_jw w;
    begin(&w, out, "compaction");
    cf_jw_str(&w, "agent", e->agent);
    cf_jw_uint(&w, "before", c->before);
    put_strs(&w, "kept", c->kept, c->n_kept);
    put_str(&w, "summary", c->summary);
    if (c->is_automatic) {
        cf_jw_bool(&w, "automatic", true);
    }
    put_branch(&w, e);
    end(&w, out);
}

static void write_event(cf_buf *out, const cf_trail_event *e)
{
    cf_jw w;
    switch (e->kind) {
    case CF_TRAIL_MESSAGE:
        write_message(out, e);
        break;
    case CF_TRAIL_STEP:
        write_step(out, e);
        break;
    case CF_TRAIL_COMPACTION:
        write_compaction(out, e);
        break;
    case CF_TRAIL_AGENT:
        begin(&w, out, "agent");
        cf_jw_str(&w, "id", e->as.agent->id);
        if (e->as.agent->parent_call.n != 0) {
            cf_jw_str(&w, "parent_call", e->as.agent->parent_call);
        } else {
            cf_jw_null(&w, "parent_call");
        }
        cf_jw_str(&w, "title", e->as.agent->title);
        end(&w, out);
        break;
    case CF_TRAIL_ABORTED:
        begin(&w, out, "aborted");
        cf_jw_uint(&w, "n", e->as.aborted);
        put_branch(&w, e);
        end(&w, out);
        break;
    }
}

static void write_end(cf_buf *out, const cf_trail *t)
{
    cf_jw w;
    begin(&w, out, "end");
    cf_jw_uint(&w, "messages", t->n_messages);
    cf_jw_uint(&w, "calls", t->n_calls);
    cf_jw_uint(&w, "steps", t->n_steps);
    cf_jw_array(&w, "left_out");
    for (size_t i = 0; i < t->n_left_out; i++) {
        cf_jw_object(&w, NULL);
        put_str(&w, "file", t->left_out[i].file);
        cf_jw_uint(&w, "line", t->left_out[i].line);
        cf_jw_str(&w, "why", t->left_out[i].why);
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    end(&w, out);
}

void cf_trail_write(cf_buf *out, const cf_trail *t, const cf_trail_findings *findings)
{
    write_session(out, t);
    for (size_t i = 0; i < t->n_events; i++) {
        write_event(out, &t->events[i]);
    }
    for (size_t i = 0; findings != NULL && i < findings->n; i++) {
        cf_trail_write_finding(out, &findings->v[i]);
    }
    write_end(out, t);
}
