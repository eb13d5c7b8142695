// A tool server of the new era, written with the npm SDK:
//   node newera.mjs            over standard input and output
//   node newera.mjs PORT       at http://127.0.0.1:PORT/mcp
// Run in a folder whose node_modules has @modelcontextprotocol/server.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.cwd() + '/x.js');
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const sdk = await load('@modelcontextprotocol/server');
const { McpServer, createMcpHandler, fromJsonSchema } = sdk.default ?? sdk;

function make() {
  const server = new McpServer({ name: 'newera', version: '1.0.0' });
  const text = { type: 'object', required: ['text'],
                 properties: { text: { type: 'string' } } };
  server.registerTool('echo',
    { description: 'Says it again', inputSchema: fromJsonSchema(text) },
    async ({ text }) => ({ content: [{ type: 'text', text }] }));
  server.registerTool('length',
    { description: 'Counts the characters', inputSchema: fromJsonSchema(text),
      outputSchema: fromJsonSchema({ type: 'object', required: ['n'],
        properties: { n: { type: 'integer' } } }) },
    async ({ text }) => ({
      content: [{ type: 'text', text: JSON.stringify({ n: text.length }) }],
      structuredContent: { n: text.length } }));
  return server;
}

if (process.argv.length < 3) {
  const { serveStdio } = await load('@modelcontextprotocol/server/stdio');
  serveStdio(make);
} else {
  const handler = createMcpHandler(make);
  const port = Number(process.argv[2]);
  createServer(async (req, res) => {
    const chunks = [];
    for await (const c of req) chunks.push(c);
    const answer = await handler.fetch(new Request(
      `http://127.0.0.1:${port}${req.url}`,
      { method: req.method, headers: req.headers,
        body: chunks.length ? Buffer.concat(chunks) : undefined }));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const c of answer.body) res.write(c);
    res.end();
  }).listen(port, '127.0.0.1');
}
