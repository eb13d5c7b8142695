// LangChain's client of OpenAI's interface with `confab serve` at BASE; prints
// "ok NAME" for each thing that is so.
// usage: node langchain.mjs BASE FOLDER_WITH_NODE_MODULES
import assert from 'node:assert';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [base, folder] = process.argv.slice(2);
const require = createRequire(folder + '/clients.js');
const load = async name => import(pathToFileURL(require.resolve(name)).href);
const {ChatOpenAI} = await load('@langchain/openai');
const model = new ChatOpenAI({model: 'm', apiKey: 'sk-client', maxRetries: 0, maxTokens: 60,
                              configuration: {baseURL: base + '/v1'}});
const tool = {type: 'function', function: {name: 'get_weather', parameters: {type: 'object',
  properties: {city: {type: 'string', maxLength: 12}}, required: ['city'], additionalProperties: false}}};
const check = async (what, run) => {
  try {
    await run();
    console.log('ok', what);
  } catch (e) {
    console.log('not', what, e.message);
  }
};

await check('invoke', async () => assert((await model.invoke('Hi')).content.length > 0));
await check('stream', async () => {
  let text = '';
  for await (const c of await model.stream('Hi')) text += c.content;
  assert(text.length > 0);
});
await check('bindTools', async () => {
  const r = await model.bindTools([tool], {tool_choice: 'required'}).invoke('Oslo?');
  assert.strictEqual(r.tool_calls[0].name, 'get_weather');
});
await check('structured output', async () => {
  const r = await model.withStructuredOutput(tool.function.parameters,
                                             {name: 'city', method: 'jsonSchema'}).invoke('Oslo');
  assert('city' in r);
});
await check('batch', async () =>
  assert.strictEqual((await model.batch(['Hi', 'Hello'])).length, 2));
