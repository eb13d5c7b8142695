// Asks `confab serve` at BASE with OpenAI's client for what programs expect of
// such a server, and prints "ok NAME" for each thing that is so.
// usage: node serve.mjs BASE FOLDER_WITH_NODE_MODULES
import assert from 'node:assert';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [base, folder] = process.argv.slice(2);
const require = createRequire(folder + '/clients.js');
const {default: OpenAI} =
  await import(pathToFileURL(require.resolve('openai')).href);
const openai = new OpenAI({baseURL: base + '/v1', apiKey: 'sk-client', maxRetries: 0});
const user = content => [{role: 'user', content}];
const chat = more => openai.chat.completions.create(
  {model: 'm', messages: user('hi'), max_tokens: 8, ...more});
const check = async (what, run) => {
  try {
    await run();
    console.log('ok', what);
  } catch (e) {
    console.log('not', what, e.message);
  }
};
const fails = (status, run) =>
  assert.rejects(run, e => e.status === status && e.type !== undefined);
const tools = [{type: 'function', function: {name: 'add', parameters:
  {type: 'object', properties: {a: {type: 'integer', minimum: 0, maximum: 9}},
   required: ['a'], additionalProperties: false}}}];

await check('models', async () => {
  const ids = [];
  for await (const m of openai.models.list()) ids.push(m.id);
  assert.deepStrictEqual(ids, ['m']);
  assert.strictEqual((await openai.models.retrieve('m')).id, 'm');
  await fails(404, () => openai.models.retrieve('other'));
});
await check('messages', async () => {
  const r = await chat({messages: [
    {role: 'developer', content: 'Be brief.'},
    {role: 'user', content: [{type: 'text', text: 'hi'}]}],
    max_tokens: undefined, max_completion_tokens: 4, user: 'u', store: false});
  assert(r.usage.completion_tokens <= 4);
});
await check('usage of a stream', async () => {
  const all = [];
  for await (const c of await chat(
    {stream: true, stream_options: {include_usage: true}})) all.push(c);
  assert.strictEqual(all[0].choices[0].delta.role, 'assistant');
  assert(all.at(-1).usage.total_tokens > 0);
});
await check('logprobs', async () => {
  const list = (await chat({logprobs: true, top_logprobs: 2}))
    .choices[0].logprobs.content;
  assert(list.every(t => t.logprob <= 0 && t.top_logprobs.length === 2));
  const c = (await openai.completions.create(
    {model: 'm', prompt: 'Once', max_tokens: 3, logprobs: 1})).choices[0];
  assert.strictEqual(c.logprobs.tokens.length, c.logprobs.token_logprobs.length);
});
await check('schema', async () => {
  const r = await openai.chat.completions.parse({model: 'm', messages: user('?'),
    response_format: {type: 'json_schema', json_schema: {name: 'a', strict: true,
      schema: {type: 'object', properties: {ok: {type: 'boolean'}},
        required: ['ok'], additionalProperties: false}}}});
  assert.strictEqual(typeof r.choices[0].message.parsed.ok, 'boolean');
});
await check('tools', async () => {
  const one = (await chat({tools, max_tokens: 200,
    tool_choice: {type: 'function', function: {name: 'add'}}})).choices[0];
  assert.strictEqual(one.finish_reason, 'tool_calls');
  assert.strictEqual(typeof JSON.parse(
    one.message.tool_calls[0].function.arguments).a, 'number');
  const stream = openai.chat.completions.stream({model: 'm',
    messages: user('add'), tools, tool_choice: 'required', max_tokens: 200});
  const call = (await stream.finalChatCompletion())
    .choices[0].message.tool_calls[0];
  assert.strictEqual(call.function.name, 'add');
  await chat({tools, messages: [...user('add'),
    {role: 'assistant', content: null, tool_calls: [call]},
    {role: 'tool', tool_call_id: call.id, content: '2'}]});
});
await check('seed, n and stop', async () => {
  const say = async () => (await chat({seed: 5, temperature: 1}))
    .choices[0].message.content;
  assert.strictEqual(await say(), await say());
  const r = await chat({n: 3, stop: ['e'], max_tokens: 20});
  assert.deepStrictEqual(r.choices.map(c => c.index), [0, 1, 2]);
  assert(r.choices.every(c => !c.message.content.includes('e')));
});
await check('errors', async () => {
  const long = user('x '.repeat(20000));
  await fails(400, () => chat({messages: long}));
  await fails(400, () => chat({messages: long, stream: true}));
  await fails(400, () => chat({n: 99}));
  await fails(400, () => chat({messages: user([{type: 'image_url',
    image_url: {url: 'https://localhost/a.png'}}])}));
  await fails(501, () => openai.embeddings.create({model: 'm', input: 'x'}));
  await fails(404, () => openai.files.list());
});
await check('abort', async () => {
  const c = new AbortController();
  setTimeout(() => c.abort(), 100);
  await assert.rejects(() => openai.chat.completions.create({model: 'm',
    messages: user('on'), logit_bias: {1958: -100, 1956: -100}},
  {signal: c.signal}));
  await chat({}); // the server goes on
});
