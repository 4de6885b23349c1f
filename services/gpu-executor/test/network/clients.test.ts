import { existsSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { findPython } from '@runledger/local-servers/python';
import { describe, expect, it } from 'vitest';
import { start } from '../runners/program/run-a-program.ts';
import { openResidentProgram } from '../runners/program/run-a-resident-program.ts';
import { holders, httpServer, openNetwork } from './network-bed.ts';

/** Says what arrives. */
const echo: RequestListener = (request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    response.writeHead(
      201,
      [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['x-more', 'yes'],
      ].flat(),
    );
    response.end(`${request.method} ${request.url} ${request.headers.host} ${body}`);
  });
};

const PYTHON = `
import sys, urllib.request
with urllib.request.urlopen(urllib.request.Request(sys.argv[1], data=b"from python")) as answer:
    print(answer.status, answer.read().decode(), answer.headers.get_all("set-cookie"), file=sys.stderr)
`;
/** What https does, without its certificate. */
const PYTHON_CONNECT = `
import http.client, os, sys, urllib.parse
proxy, target = (urllib.parse.urlsplit(text) for text in (os.environ["https_proxy"], sys.argv[1]))
connection = http.client.HTTPConnection(proxy.hostname, proxy.port)
connection.set_tunnel(target.hostname, target.port)
connection.request("PUT", target.path, b"through a tunnel")
answer = connection.getresponse()
print(answer.status, answer.read().decode(), file=sys.stderr)
`;
const NODE =
  "fetch(process.argv[1], { method: 'POST', body: 'from node' }).then(async (answer) => console.error(answer.status, await answer.text()))";
const CURL = ['--silent', '--show-error', '--stderr', '-', '--data', 'from curl'];

const CLIENTS: readonly (readonly [string, string, readonly string[], string])[] = [
  ['urllib', 'python3', ['-c', PYTHON], `201 POST /a?b=c HOST from python ['a=1', 'b=2']`],
  ['http.client', 'python3', ['-c', PYTHON_CONNECT], '201 PUT /a HOST through a tunnel'],
  ['fetch of Node', 'node', ['-e', NODE], '201 POST /a?b=c HOST from node'],
  ['curl', 'curl', CURL, 'POST /a?b=c HOST from curl'],
  ['curl by CONNECT', 'curl', [...CURL, '--proxytunnel'], 'POST /a?b=c HOST from curl'],
];

/** Where programs of every user find it. */
const PYTHONS = '/usr/local/bin:/usr/bin:/bin';
const python = await findPython({ ...process.env, PATH: PYTHONS }, { oldest: [3, 9], newest: [3, 14] });
const PATHS: Readonly<Record<string, string | undefined>> = {
  python3: python?.path,
  curl: ['/usr/bin/curl', '/usr/local/bin/curl'].find((path) => existsSync(path)),
  node: process.execPath,
};

const found = CLIENTS.flatMap(([name, client, args, said]) => {
  const command = PATHS[client];
  if (command !== undefined) return [{ name, command, args, said }];
  process.stderr.write(`no tests of the network with ${name}: there is no ${client}\n`);
  return [];
});

const LIMITS = { startTimeoutMs: 30_000, idleTimeoutMs: null, maxRuns: null, preload: false };
/** Fetches what a run names. Its own loopback is no reason to go past the proxy. */
const RESIDENT = `
const say = (message) => console.log(JSON.stringify(message));
const { request } = require('node:http');
const proxy = new URL(process.env.HTTP_PROXY);
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { run_id, inputs } = JSON.parse(line);
  request({ host: proxy.hostname, port: proxy.port, path: inputs.workload }, (response) => {
    response.setEncoding('utf8').on('data', (text) => say({ type: 'output', run_id, text: [text] }));
    response.on('end', () => say({ type: 'done', run_id }));
  }).end();
});
say({ type: 'ready' });
`;

describe.each(holders)('the way out of a program, with %s', (_name, isolation) => {
  it.each(found)('is found by $name', async ({ command, args, said }) => {
    const { dns, proxy } = await openNetwork(['models.example']);
    dns.set('models.example', ['127.0.0.1']);
    const port = await httpServer(echo);
    const host = `models.example:${port}`;
    const program = { command, args: [...args, `http://${host}/a?b=c`] };
    const { result, lines } = await start('', { isolation, proxy, program });
    expect({ ...(await result), lines: lines.map(({ line }) => line) }).toMatchObject({
      outcome: 'succeeded',
      lines: [said.replace('HOST', host)],
    });
  });

  it('is that of a process that is kept, from run to run', async () => {
    const { proxy } = await openNetwork(['loopback']);
    const port = await httpServer((request, response) => void response.end(`answered ${request.url}`));
    const program = { command: process.execPath, args: ['-e', RESIDENT], env: {}, limits: LIMITS };
    const run = await openResidentProgram(program, { isolation, proxy });
    for (const path of ['/one', '/two'])
      expect(await run(`http://127.0.0.1:${port}${path}`).result).toMatchObject({
        outcome: 'succeeded',
        data: { text: [`answered ${path}`] },
      });
  });
});
