import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Runledger } from '@runledger/client';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { someOf } from '@runledger/testing/random/cases';
import { waitFor } from '@runledger/testing/wait-for';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { aClientService, type ClientService } from '../../fixtures/clients/client-service.ts';
import { installPackedClient, type PackedClient } from '../../fixtures/clients/packed-client.ts';
import { installRuntimes, type Runtimes } from '../../fixtures/clients/runtimes.ts';
import { tryProjects, type TriedProject, type TypedProject } from '../../fixtures/clients/typed-project.ts';

const run = promisify(execFile);
const TSC = join(import.meta.dirname, '../../../../../node_modules/typescript/bin/tsc');

/** How a project finds the client: in the gate by the oldest and the newest way of Node, at night by all. */
const ALL_PROJECTS: readonly TypedProject[] = [
  { name: 'node10', type: 'commonjs', options: { module: 'commonjs', moduleResolution: 'node10' } },
  { name: 'node16 in CommonJS', type: 'commonjs', options: { module: 'node16' } },
  { name: 'nodenext in CommonJS', type: 'commonjs', options: { module: 'nodenext' } },
  { name: 'nodenext in ES modules', type: 'module', options: { module: 'nodenext' } },
  { name: 'bundler', type: 'module', options: { module: 'esnext', moduleResolution: 'bundler' } },
];
const PROJECTS = someOf(ALL_PROJECTS, ({ name }) => ['node10', 'nodenext in ES modules'].includes(name));

let packed: PackedClient;
let service: ClientService;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  packed = installPackedClient();
  service = await aClientService();
  const { url, api_key } = service.standalone;
  env = { PATH: process.env['PATH'], RUNLEDGER_URL: url, RUNLEDGER_API_KEY: api_key };
}, 180_000);
afterAll(async () => {
  packed[Symbol.dispose]();
  await service[Symbol.asyncDispose]();
});

describe('the package', () => {
  it('has what is built, and its main entry needs nothing that a browser lacks', () => {
    expect(packed.files).toEqual(
      expect.arrayContaining(['README.md', 'dist/main.js', 'dist/main.d.ts', 'dist/node.js', 'package.json']),
    );
    const built = packed.files.filter((file) => file.endsWith('.js') && !file.endsWith('/node.js'));
    for (const file of built) {
      const source = readFileSync(join(packed.folder, 'node_modules/@runledger/client', file), 'utf8');
      const others = [...source.matchAll(/(?:from |require\()["']([^"']+)["']/g)];
      expect(others.filter(([, from]) => !from?.startsWith('.'))).toEqual([]);
    }
  });

  it('has types with which the examples compile, in a project with strict settings', () => {
    const options = {
      module: 'nodenext',
      target: 'es2024',
      jsx: 'react-jsx',
      lib: ['es2024', 'dom', 'dom.asynciterable'],
    };
    const compilerOptions = {
      ...options,
      strict: true,
      exactOptionalPropertyTypes: true,
      allowImportingTsExtensions: true,
      noEmit: true,
      types: ['node'],
    };
    writeFileSync(
      join(packed.folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, include: ['express', 'next'] }),
    );
    expect(execFileSync(process.execPath, [TSC, '-p', packed.folder], { encoding: 'utf8' })).toBe('');
  });

  describe('in a project', () => {
    let tried: (name: string) => TriedProject;
    beforeAll(() => {
      tried = tryProjects(packed.folder, PROJECTS);
    });

    it.each(PROJECTS)('compiles and runs with the module resolution $name', ({ name }) => {
      expect(tried(name)).toEqual({ said: '', printed: 'function function\n' });
    });
  });
});

describe('the example of a script', () => {
  let runtimes: Runtimes;
  beforeAll(() => {
    runtimes = installRuntimes();
  }, 180_000);
  afterAll(() => runtimes[Symbol.dispose]());

  it.each(['Node', 'Bun', 'Deno'] as const)(
    'uploads a file, shows progress, and prints the addresses of the outputs, in %s',
    async (name) => {
      const photo = join(packed.folder, `${name}.png`);
      writeFileSync(photo, `a fox of ${name}`);
      const [program, ...options] = runtimes.of[name];
      const script = [...options, join(packed.folder, 'script/run.mjs'), service.deployment, photo];
      const { stdout, stderr } = await run(program, script, { env, cwd: packed.folder });
      const [url = '', text] = stdout.split('\n').toSorted((one) => (one.startsWith('http') ? -1 : 1));
      expect(await (await fetch(url)).text()).toBe(`a fox of ${name}`);
      expect(stdout).toContain('done');
      expect(text).toBeDefined();
      expect(stderr).toContain('queued 0 %');
      expect(stderr).toContain('| it begins');
      expect(stderr).toContain('success 100 %');
    },
  );
});

describe('the example of Express', () => {
  it('queues runs, shows them, receives their webhooks, and answers what is refused', async () => {
    const main = join(packed.folder, 'express/server.ts');
    const { standalone, deployment } = service;
    const server = spawn(process.execPath, [main, deployment, standalone.webhook_secret, '0'], { env });
    killWithParent(server);
    try {
      const [printed] = await once(server.stdout, 'data');
      const site = String(printed).trim();
      const queue = (inputs: unknown) =>
        fetch(`${site}/pictures`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(inputs),
        });
      const queued = await queue({ size: 64 });
      expect(queued.status).toBe(202);
      const { run_id } = (await queued.json()) as { run_id: string };
      const shown = await waitFor('the notification', async () => {
        const picture = (await (await fetch(`${site}/pictures/${run_id}`)).json()) as {
          notified: string | null;
        };
        return picture.notified === null ? undefined : picture;
      });
      expect(shown).toMatchObject({ status: 'success', progress: 1, notified: 'success' });
      expect((await queue({ size: null })).status).toBe(422);
      expect((await fetch(`${site}/pictures/00000000-0000-7000-8000-000000000000`)).status).toBe(404);
      expect((await fetch(`${site}/hook`, { method: 'POST', body: '{}' })).status).toBe(400);
    } finally {
      server.kill('SIGKILL');
    }
  });
});

describe('the example of Next.js', () => {
  const handler = async (path: string): Promise<(request: Request) => Promise<Response>> =>
    (
      await import(
        /* @vite-ignore */ pathToFileURL(join(packed.folder, 'next/app/api', path, 'route.ts')).href
      )
    ).POST;
  const post = (body: string, headers: Readonly<Record<string, string>> = {}): Request =>
    new Request('http://site.test/', { method: 'POST', body, headers });

  it('queues a run, and gives the browser a token that shows it', async () => {
    vi.stubEnv('RUNLEDGER_URL', env['RUNLEDGER_URL']);
    vi.stubEnv('RUNLEDGER_API_KEY', env['RUNLEDGER_API_KEY']);
    const queue = await handler('runs');
    const response = await queue(post(JSON.stringify({ deployment: service.deployment, inputs: {} })));
    expect(response.status).toBe(202);
    const { run_id, token } = (await response.json()) as { run_id: string; token: string };
    const browser = new Runledger({ url: service.standalone.url, apiKey: token });
    const events = await Array.fromAsync(browser.subscribe(run_id));
    expect(events.at(-1)).toMatchObject({ event: 'fact', data: { status: 'success', finished: true } });
    expect((await queue(post(JSON.stringify({ deployment: '' })))).status).toBe(422);
  });

  it('receives notifications that are signed', async () => {
    vi.stubEnv('RUNLEDGER_WEBHOOK_SECRETS', service.standalone.webhook_secret);
    const receive = await handler('hook');
    const body = JSON.stringify({ run_id: 'r1', status: 'success', finished: true });
    const at = new Date();
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(service.standalone.webhook_secret).sign('msg_1', at, body),
    };
    const response = await receive(post(body, headers));
    expect([response.status, await response.json()]).toEqual([200, JSON.parse(body)]);
    expect((await receive(post(`${body} `, headers))).status).toBe(400);
    vi.unstubAllEnvs();
  });
});
