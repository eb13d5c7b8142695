// Asks the server at BASE with real clients, and prints what they receive.
// usage: node clients.mjs BASE FOLDER_WITH_NODE_MODULES
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [base, folder] = process.argv.slice(2);
const require = createRequire(folder + '/clients.js');
const load = name => import(pathToFileURL(require.resolve(name)).href);
const show = (...v) => console.log(...v.map(x => JSON.stringify(x)));
const user = content => [{role: 'user', content}];
const tools = [{type: 'function', function: {name: 'add', parameters:
  {type: 'object', properties: {a: {type: 'number'}}}}}];
const attempt = async (what, run) => {
  try {
    show(what, await run());
  } catch (e) {
    show(what, e.constructor.name, e.status ?? e.status_code ?? null);
  }
};

const {default: OpenAI} = await load('openai');
const openai = new OpenAI({baseURL: base + '/v1', apiKey: 'sk-client', maxRetries: 0});
await attempt('openai whole', () => openai.chat.completions.create(
  {model: 'm', messages: user('hi')}));
await attempt('openai stream', async () => {
  const parts = [];
  for await (const c of await openai.chat.completions.create(
    {model: 'm', messages: user('hi'), stream: true})) parts.push(c);
  return parts;
});
await attempt('openai tools', () => openai.chat.completions.create(
  {model: 'm', messages: user('call'), tools}));
await attempt('openai error', () => openai.chat.completions.create(
  {model: 'm', messages: user('fail')}));
await attempt('openai abort', async () => {
  const stream = await openai.chat.completions.create(
    {model: 'm', messages: user('endless'), stream: true});
  for await (const c of stream) {
    stream.controller.abort();
    return c;
  }
});

const {default: Anthropic} = await load('@anthropic-ai/sdk');
const anthropic = new Anthropic({baseURL: base, apiKey: 'sk-client', maxRetries: 0});
await attempt('anthropic whole', () => anthropic.messages.create(
  {model: 'm', max_tokens: 9, messages: user('hi')}));
await attempt('anthropic stream', async () => {
  const parts = [];
  for await (const e of anthropic.messages.stream(
    {model: 'm', max_tokens: 9, messages: user('hi')})) parts.push(e);
  return parts;
});

const {Ollama} = await load('ollama');
const ollama = new Ollama({host: base});
await attempt('ollama stream', async () => {
  const parts = [];
  for await (const c of await ollama.chat(
    {model: 'm', messages: user('hi'), stream: true})) parts.push(c);
  return parts;
});

const {streamText} = await load('ai');
const {createOpenAICompatible} = await load('@ai-sdk/openai-compatible');
const ai = createOpenAICompatible({name: 'c', baseURL: base + '/v1', apiKey: 'sk-client'});
await attempt('ai stream', async () => {
  let text = '';
  for await (const t of streamText({model: ai('m'), prompt: 'hi'}).textStream) text += t;
  return text;
});
