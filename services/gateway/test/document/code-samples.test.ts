import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
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

describe('the code samples', () => {
  it('are there in three languages for each operation', () => {
    expect(operations.length).toBeGreaterThan(70);
    for (const operation of operations)
      expect(samplesOf(operation).map(({ label }) => label)).toEqual(['curl', 'TypeScript', 'Python']);
  });

  it('send the request of their operation with curl, with a body that its schema accepts', async () => {
    const script = all('curl').map(({ source }) => `${source}\necho`);
    // What a shell makes of it.
    const stub = 'curl() { for word in "$@"; do printf "%s\\000" "$word"; done; }';
    const { stdout } = await run('sh', ['-c', [stub, ...script].join('\n')], {
      env: { PATH: process.env['PATH'], RUNLEDGER_API_KEY: 'the-key' },
    });
    const requests = stdout.split('\0\n').filter((words) => words !== '');
    expect(requests).toHaveLength(operations.length);
    for (const [index, operation] of operations.entries())
      expectRequest(operation, String(requests[index]).split('\0'));
  });

  it('compile in TypeScript against the client, with strict settings', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'samples-'));
    await Promise.all(
      all('TypeScript').map(({ id, source }) => writeFile(join(folder.path, `${id}.ts`), source)),
    );
    await writeFile(join(folder.path, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder.path, 'tsconfig.json'), JSON.stringify(projectOf(folder.path)));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const compiled = run(process.execPath, [tsc, '-p', folder.path]).catch(
      (error: { stdout: string }) => error,
    );
    expect((await compiled).stdout).toBe('');
  }, 60_000);

  it('call functions of the client in Python that exist, with arguments that they have', async () => {
    const python = await findPython(process.env, { oldest: [3, 10], newest: [3, 13] });
    if (python === undefined) throw new Error('This test needs Python 3.10 to 3.13 on PATH.');
    await using folder = await mkdtempDisposable(join(tmpdir(), 'samples-'));
    const samples = join(folder.path, 'samples');
    await mkdir(samples);
    await Promise.all(all('Python').map(({ id, source }) => writeFile(join(samples, `${id}.py`), source)));
    const client = join(ROOT, 'packages/client-python/src/runledger');
    const checker = join(import.meta.dirname, 'check_python_samples.py');
    const { stdout } = await run(python.path, [checker, client, samples]);
    expect(stdout).toBe(`${operations.length} samples\n`);
  }, 30_000);
});

const projectOf = (folder: string) => ({
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    paths: {
      '@runledger/client': [join(ROOT, 'packages/client/src/main.ts')],
      '@runledger/client/node': [join(ROOT, 'packages/client/src/node.ts')],
    },
  },
  include: [`${folder}/*.ts`],
});

const expectRequest = ({ id, method, path, request, rawBody }: Operation, words: readonly string[]): void => {
  const [address = '', ...options] = words;
  const given = (name: string): string[] =>
    options.flatMap((word, at) => (word === name ? [String(options[at + 1])] : []));
  const url = new URL(address);
  const template = new RegExp(`^/api${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  expect([id, url.origin, url.pathname]).toEqual([
    id,
    'https://runs.example.com',
    expect.stringMatching(template),
  ]);
  expect([id, given('--request')]).toEqual([id, method === 'GET' ? [] : [method]]);
  const headers = given('--header').map((header) => header.split(': ') as [string, string]);
  expect([id, headers[0]]).toEqual([id, ['Authorization', 'Bearer the-key']]);
  const named = Object.fromEntries(headers);
  for (const header of request.headers?.required ?? [])
    expect([id, Object.keys(named)]).toContainEqual(expect.arrayContaining([header]));
  for (const name of request.query?.required ?? [])
    expect([id, [...url.searchParams.keys()]]).toEqual([id, expect.arrayContaining([name])]);
  if (rawBody !== undefined) expect([id, given('--data-binary')]).toEqual([id, ['@fox.png']]);
  if (request.body === undefined) return;
  expect([id, named['Content-Type']]).toEqual([id, 'application/json']);
  const body: unknown = JSON.parse(String(given('--data')));
  expect([id, [...Value.Errors(request.body, body)]]).toEqual([id, []]);
};
