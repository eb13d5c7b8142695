// Asks `confab serve` at BASE with the clients of OpenAI's responses, Anthropic,
// Ollama and LangChain, and prints "ok NAME" for each thing that is so.
// usage: node serve_apis.mjs BASE FOLDER_WITH_NODE_MODULES
import assert from 'node:assert';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [base, folder] = process.argv.slice(2);
const require = createRequire(folder + '/clients.js');
const load = async name => import(pathToFileURL(require.resolve(name)).href);
const {default: OpenAI} = await load('openai');
const {default: Anthropic} = await load('@anthropic-ai/sdk');
const {Ollama} = await load('ollama');
const openai = new OpenAI({baseURL: base + '/v1', apiKey: 'sk-client', maxRetries: 0});
const anthropic = new Anthropic({baseURL: base, apiKey: 'sk-client', maxRetries: 0});
const ollama = new Ollama({host: base});
const user = content => [{role: 'user', content}];
const check = async (what, run) => {
  try {
    await run();
    console.log('ok', what);
  } catch (e) {
    console.log('not', what, e.message);
  }
};
const city = {type: 'object', properties: {city: {type: 'string', maxLength: 12}}, required: ['city'],
              additionalProperties: false};
const weather = 'What is the weather in Oslo?';

await check('responses', async () => {
  const r = await openai.responses.create({model: 'm', input: 'Hi', max_output_tokens: 8});
  assert(r.output_text.length > 0);
  const on = await openai.responses.create(
    {model: 'm', input: 'And?', previous_response_id: r.id, max_output_tokens: 8});
  assert(on.usage.input_tokens > r.usage.input_tokens);
});
await check('responses streamed', async () => {
  const types = new Set();
  const stream = openai.responses.stream({model: 'm', input: 'Hi', max_output_tokens: 8});
  for await (const e of stream) types.add(e.type);
  assert(types.has('response.output_text.delta'));
  assert((await stream.finalResponse()).output_text.length > 0);
});
await check('responses tools', async () => {
  const r = await openai.responses.create({model: 'm', input: weather, tool_choice: 'required',
    tools: [{type: 'function', name: 'get_weather', parameters: city, strict: true}]});
  const call = r.output.find(i => i.type === 'function_call');
  assert('city' in JSON.parse(call.arguments));
  const said = await openai.responses.create({model: 'm', previous_response_id: r.id,
    input: [{type: 'function_call_output', call_id: call.call_id, output: 'rain'}],
    max_output_tokens: 20});
  assert(said.status === 'completed' || said.status === 'incomplete');
});
await check('messages of Anthropic', async () => {
  const m = await anthropic.messages.create({model: 'm', max_tokens: 8, system: 'Be brief.',
    messages: user([{type: 'text', text: 'Hi', cache_control: {type: 'ephemeral'}}]),
    metadata: {user_id: 'u'}, thinking: {type: 'enabled', budget_tokens: 1024}});
  assert(m.usage.output_tokens > 0 && m.usage.output_tokens <= 8);
  const n = await anthropic.messages.countTokens({model: 'm', messages: user('Hi')});
  assert(n.input_tokens > 0);
});
await check('messages streamed', async () => {
  const stream = anthropic.messages.stream({model: 'm', max_tokens: 8, messages: user('Hi')});
  let text = '';
  stream.on('text', t => text += t);
  const m = await stream.finalMessage();
  assert.strictEqual(m.content[0].text, text);
});
await check('messages with tools', async () => {
  const tools = [{name: 'get_weather', input_schema: city}];
  const stream = anthropic.messages.stream({model: 'm', max_tokens: 200, messages: user(weather),
    tools, tool_choice: {type: 'any', disable_parallel_tool_use: true}});
  const m = await stream.finalMessage();
  const use = m.content.find(b => b.type === 'tool_use');
  assert(m.stop_reason === 'tool_use' && 'city' in use.input);
  await anthropic.messages.create({model: 'm', max_tokens: 8, tools, messages: [
    ...user(weather), {role: 'assistant', content: m.content},
    ...user([{type: 'tool_result', tool_use_id: use.id, content: [{type: 'text', text: 'rain'}]}])]});
});
await check('a begun message', async () => {
  const m = await anthropic.messages.create({model: 'm', max_tokens: 8, messages: [
    ...user('How do I save?'), {role: 'assistant', content: 'Press'}]});
  assert(!m.content[0].text.startsWith('Press'));
});
await check('errors of Anthropic', async () => {
  await assert.rejects(() => anthropic.messages.create(
    {model: 'm', max_tokens: 8, messages: user('Hi'), container: 'x'}),
    e => e.status === 400 && e.error.error.type === 'invalid_request_error' &&
      e.message.includes('container'));
});
await check('Ollama', async () => {
  const tags = await ollama.list();
  assert.strictEqual(tags.models[0].name, 'm');
  assert((await ollama.show({model: 'm'})).capabilities.includes('completion'));
  assert.strictEqual((await ollama.ps()).models.length, 1);
  const r = await ollama.chat({model: 'm', messages: user('Hi'), options: {num_predict: 8}});
  assert(r.message.content.length > 0);
  let text = '';
  for await (const p of await ollama.generate(
    {model: 'm', prompt: 'Hi', stream: true, options: {num_predict: 8}})) text += p.response;
  assert(text.length > 0);
});
await check('Ollama tools and formats', async () => {
  const r = await ollama.chat({model: 'm', messages: user('Oslo'), format: city,
    options: {num_predict: 200}});
  assert('city' in JSON.parse(r.message.content));
  const t = await ollama.chat({model: 'm', messages: user(weather), tools: [{type: 'function',
    function: {name: 'get_weather', parameters: city}}], options: {temperature: 0}});
  assert.strictEqual(t.message.tool_calls[0].function.name, 'get_weather');
});
await check('errors of Ollama', async () => {
  await assert.rejects(() => ollama.chat(
    {model: 'm', messages: user('Hi'), options: {mirostat: 2}}),
    e => e.message.includes('options.mirostat'));
});
await check('codes of errors', async () => {
  await assert.rejects(() => openai.chat.completions.create(
    {model: 'm', messages: user('word '.repeat(9000))}),
    e => e.code === 'context_length_exceeded' && e.type === 'invalid_request_error');
  await assert.rejects(() => openai.chat.completions.create(
    {model: 'm', messages: user('Hi'), web_search_options: {}}),
    e => e.status === 400 && e.param === 'web_search_options');
});
await check('arguments streamed', async () => {
  let n = 0, text = '';
  for await (const c of await openai.chat.completions.create({model: 'm', stream: true,
    messages: user('Write'), tool_choice: 'required', tools: [{type: 'function', function: {
      name: 'write', parameters: {type: 'object', properties: {text: {type: 'string',
        pattern: '^[a-z ]{60,80}$'}}, required: ['text'], additionalProperties: false}}}]})) {
    const more = c.choices[0]?.delta.tool_calls?.[0]?.function?.arguments;
    n += more !== undefined && more !== '';
    text += more ?? '';
  }
  assert(n > 5 && JSON.parse(text).text.length >= 60);
});
await check('completions', async () => {
  const c = await openai.completions.create(
    {model: 'm', prompt: ['confab is', 'one'], echo: true, max_tokens: 0, logprobs: 1});
  assert.strictEqual(c.choices[0].text, 'confab is');
  assert.strictEqual(c.choices[1].logprobs.token_logprobs[0], null);
});
