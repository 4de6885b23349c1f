import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPython } from '@runledger/local-servers/python';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { describedOperations, type Operation } from '../../src/door/operation.ts';
import { openApiDocument } from '../../src/document/document.ts';
import { withCodeSamples, type CodeSample } from '../../src/document/code-samples.ts';
// Loads every operation.
import '../../src/start.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../..');
const SERVER = 'https://runs.example.com/api';

const published: { paths: Record<string, Record<string, { operationId: string }>> } = JSON.parse(
  await readFile(join(ROOT, 'docs/openapi.json'), 'utf8'),
);

// Other tests of this worker may have described operations of their own.
const operations = describedOperations().filter(
  ({ id, path, method }) => published.paths[path]?.[method.toLowerCase()]?.operationId === id,
);
const document = withCodeSamples(openApiDocument(operations, SERVER), SERVER);

const samplesOf = ({ path, method }: Operation): readonly CodeSample[] => {
  const described = document.paths[path]?.[method.toLowerCase()] as { 'x-code-samples': CodeSample[] };
  return described['x-code-samples'];
};

const all = (label: string): { id: string; operation: Operation; source: string }[] =>
  operations.map((operation) => ({
    id: operation.id,
    operation,
    source: samplesOf(operation).find((sample) => sample.label === label)?.source ?? '',
  }));

/** What a sample sends. `body`: undefined where it is a file or nothing. */
interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly sendsFile: boolean;
}

/** What a shell makes of the samples for curl. */
const sentByCurl = async (): Promise<Sent[]> => {
  const script = all('curl').map(({ source }) => `${source}\necho`);
  const stub = 'curl() { for word in "$@"; do printf "%s\\000" "$word"; done; }';
  const { stdout } = await run('sh', ['-c', [stub, ...script].join('\n')], { env: ENVIRONMENT });
  return stdout
    .split('\0\n')
    .filter((words) => words !== '')
    .map((words) => {
      const [url = '', ...options] = words.split('\0');
      const given = (name: string): string[] =>
        options.flatMap((word, at) => (word === name ? [String(options[at + 1])] : []));
      const headers = given('--header').map((header): [string, string] => {
        const [name = '', value = ''] = header.split(': ');
        return [name, value];
      });
      const [text] = given('--data');
      return {
        method: given('--request')[0] ?? 'GET',
        url,
        headers: Object.fromEntries(headers),
        body: text === undefined ? undefined : JSON.parse(text),
        sendsFile: given('--data-binary')[0] === '@fox.png',
      };
    });
};

const ENVIRONMENT = { PATH: process.env['PATH'], RUNLEDGER_API_KEY: 'the-key' };

/** Runs the samples for JavaScript, each as a module of its own, with a `fetch` that sends nothing. */
const SENT_BY_NODE = `
import { readFileSync } from 'node:fs';
const sent = [];
const print = console.log;
console.log = () => undefined;
globalThis.fetch = async (url, { method = 'GET', headers, body } = {}) => {
  sent.push({ method, url, headers, body: typeof body === 'string' ? JSON.parse(body) : undefined, sendsFile: body instanceof Uint8Array });
  return new Response('');
};
for (const source of JSON.parse(readFileSync(0, 'utf8'))) await import('data:text/javascript,' + encodeURIComponent(source));
print(JSON.stringify(sent));
`;

const SENT_BY_PYTHON = `
import contextlib, io, json, sys, types
sent = []
def sender(method):
    def send(url, headers=None, params=None, json=None, data=None):
        query = "&".join(f"{name}={value}" for name, value in (params or {}).items())
        sent.append({"method": method, "url": url + ("?" + query if query else ""), "headers": headers or {}, "body": json, "sendsFile": data is not None})
        return types.SimpleNamespace(text="")
    return send
requests = types.ModuleType("requests")
for name in ["get", "post", "put", "patch", "delete"]:
    setattr(requests, name, sender(name.upper()))
sys.modules["requests"] = requests
for source in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(source, {})
print(json.dumps(sent))
`;

const sentBy = async (program: string, args: readonly string[], label: string): Promise<Sent[]> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'samples-'));
  await writeFile(join(folder.path, 'fox.png'), 'a fox');
  const running = run(program, [...args], { env: ENVIRONMENT, cwd: folder.path });
  running.child.stdin?.end(JSON.stringify(all(label).map(({ source }) => source)));
  return JSON.parse((await running).stdout) as Sent[];
};

/** Without what languages write differently. */
const comparable = (all: readonly Sent[]) =>
  all.map(({ method, url, headers, body, sendsFile }) => ({
    method,
    url: decodeURIComponent(url),
    headers,
    body: body ?? null,
    sendsFile,
  }));

describe('the code samples', () => {
  it('are there in three languages for each operation', () => {
    expect(operations.length).toBeGreaterThan(70);
    for (const operation of operations)
      expect(samplesOf(operation).map(({ label }) => label)).toEqual(['curl', 'JavaScript', 'Python']);
  });

  it('send the request of their operation, with a body that its schema accepts', async () => {
    const sent = await sentByCurl();
    expect(sent).toHaveLength(operations.length);
    for (const [index, request] of sent.entries()) expectRequest(operations[index], request);
  });

  it('send the same request with JavaScript and with Python', async () => {
    const expected = comparable(await sentByCurl());
    const node = await sentBy(
      process.execPath,
      ['--input-type=module', '--eval', SENT_BY_NODE],
      'JavaScript',
    );
    expect(comparable(node)).toEqual(expected);
    const python = await findPython(process.env, { oldest: [3, 10], newest: [3, 13] });
    if (python === undefined) throw new Error('This test needs Python 3.10 to 3.13 on PATH.');
    expect(comparable(await sentBy(python.path, ['-c', SENT_BY_PYTHON], 'Python'))).toEqual(expected);
  }, 30_000);
});

const expectRequest = (
  operation: Operation | undefined,
  { method, url, headers, body, sendsFile }: Sent,
): void => {
  if (operation === undefined) return expect.fail('There are more samples than operations.');
  const { id, path, request, rawBody } = operation;
  const { origin, pathname, searchParams } = new URL(url);
  const template = new RegExp(`^/api${path.replaceAll(/\{\w+\}/g, '[^/{}]+')}$`);
  expect([id, origin, pathname]).toEqual([id, 'https://runs.example.com', expect.stringMatching(template)]);
  expect([id, method]).toEqual([id, operation.method]);
  expect([id, headers['Authorization']]).toEqual([id, 'Bearer the-key']);
  for (const header of request.headers?.required ?? [])
    expect([id, Object.keys(headers)]).toContainEqual(expect.arrayContaining([header]));
  for (const name of request.query?.required ?? [])
    expect([id, [...searchParams.keys()]]).toEqual([id, expect.arrayContaining([name])]);
  expect([id, sendsFile]).toEqual([id, rawBody !== undefined]);
  if (request.body === undefined) return;
  expect([id, headers['Content-Type']]).toEqual([id, 'application/json']);
  expect([id, [...Value.Errors(request.body, body)]]).toEqual([id, []]);
};
