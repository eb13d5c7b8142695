// Has coding agents read a file with `confab serve` at BASE as their model, and prints
// "ok NAME" for each whose call was run and whose session then went on.
// A relay makes the small model call: it leaves one tool, with constant arguments.
// usage: node agents.mjs BASE FOLDER_WITH_NODE_MODULES
import http from 'node:http';
import {spawn} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';

const [base, folder] = process.argv.slice(2);
const file = 'The password is heron.';
const shells = ['exec_command', 'Bash', 'bash', 'run_shell_command'];
let seen = [];

function pin(v, url) {
  const messages = v.messages ?? v.input ?? [];
  const list = v.tools?.filter(t => shells.includes((t.function ?? t).name)) ?? [];
  const f = list[0]?.function ?? list[0];
  const said = JSON.stringify(messages);
  const is_back = /"type":"(tool_result|function_call_output)"|"role":"tool"/.test(said);
  v[url.includes('responses') ? 'max_output_tokens' : 'max_tokens'] = is_back ? 20 : 200;
  delete v.max_completion_tokens;
  delete v.output_config;
  if (v.thinking) v.thinking = {type: 'disabled'}; // the small model would think to the limit
  seen.push(is_back && said.includes(file));
  if (f === undefined) return;
  const values = {[f.name === 'exec_command' ? 'cmd' : 'command']: 'cat note.txt'};
  if (f.name === 'run_shell_command') values.is_background = false;
  if (f.name.toLowerCase() !== 'exec_command') values.description = 'read';
  f[f.input_schema ? 'input_schema' : 'parameters'] = {type: 'object', additionalProperties: false,
    properties: Object.fromEntries(Object.entries(values).map(([k, c]) => [k, {const: c}])),
    required: Object.keys(values)};
  v.tools = list;
  if (!is_back) v.tool_choice = f.input_schema ? {type: 'any'} : 'required';
}

const relay = http.createServer(async (q, s) => {
  const parts = [];
  for await (const p of q) parts.push(p);
  const v = parts.length > 0 ? JSON.parse(Buffer.concat(parts)) : undefined;
  if (v) pin(v, q.url);
  const r = await fetch(base + q.url, {method: q.method, body: v && JSON.stringify(v),
    headers: {'content-type': 'application/json'}});
  s.writeHead(r.status, {'content-type': r.headers.get('content-type') ?? 'text/plain'});
  for await (const p of r.body ?? []) s.write(p);
  s.end();
}).listen(0, '127.0.0.1');
await new Promise(done => relay.once('listening', done));
const url = `http://127.0.0.1:${relay.address().port}`;
const model = {models: [{id: 'm'}], api: 'openai-completions', apiKey: 'x', baseUrl: url + '/v1'};
const ask = 'Read note.txt and say the password.';
const agents = {
  claude: {args: ['-p', ask, '--allowedTools', 'Bash'], env: {ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'x', ANTHROPIC_MODEL: 'm'}},
  codex: {args: ['exec', '--skip-git-repo-check', ask], at: '.codex/config.toml',
    text: `model="m"\nmodel_provider="c"\nsandbox_mode="danger-full-access"\n` +
      `[model_providers.c]\nname="c"\nbase_url="${url}/v1"\nwire_api="responses"\n`},
  qwen: {args: ['--auth-type', 'openai', '--approval-mode', 'yolo', '-p', ask],
    env: {OPENAI_BASE_URL: url + '/v1', OPENAI_API_KEY: 'x', OPENAI_MODEL: 'm'}},
  pi: {args: ['--provider', 'c', '--model', 'm', '-p', ask], at: '.pi/agent/models.json',
    text: JSON.stringify({providers: {c: model}})},
};
for (const [name, a] of Object.entries(agents)) {
  const program = `${folder}/node_modules/.bin/${name}`;
  if (!existsSync(program)) continue;
  const home = mkdtempSync(tmpdir() + '/agent-');
  writeFileSync(home + '/note.txt', file);
  if (a.at) {
    mkdirSync(home + '/' + a.at.replace(/\/[^/]*$/, ''), {recursive: true});
    writeFileSync(home + '/' + a.at, a.text);
  }
  seen = [];
  const child = spawn(program, a.args, {cwd: home, stdio: 'ignore', timeout: 200000,
    env: {...process.env, ...a.env, HOME: home}});
  await new Promise(done => child.once('exit', done));
  console.log(seen.includes(true) ? 'ok' : 'not', name);
  rmSync(home, {recursive: true, force: true});
}
process.exit(0);
