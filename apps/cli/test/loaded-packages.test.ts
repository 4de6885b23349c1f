import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { expect, it } from 'vitest';

const MAIN = join(import.meta.dirname, '../src/main.ts');

/** Names at the end what was loaded: packages of npm, and workspaces. */
const LIST_PACKAGES = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? /\\/((?:packages|services|apps)\\/[^/]+)\\//.exec(url) ?? [];
    if (name !== undefined) loaded.add(name);
    return next(url, context);
  },
});
process.on('exit', () => process.stderr.write(JSON.stringify([...loaded].sort())));
`;

/** Each takes milliseconds of every command. */
const OF_THE_API = [
  'apps/cli',
  'apps/standalone',
  'commander',
  'p-timeout',
  'packages/client',
  'packages/contracts',
  'packages/resilience',
  'packages/service-kit',
  'typebox',
  'uuid',
];
const RUN = '01920000-0000-7000-8000-00000000000b';

it('a command over the API loads what a client needs, and nothing of the log', async () => {
  const preload = `data:text/javascript,${encodeURIComponent(LIST_PACKAGES)}`;
  const child = spawn(process.execPath, ['--import', preload, MAIN, 'get', RUN], {
    // Nothing listens there.
    env: { RUNLEDGER_URL: 'http://127.0.0.1:9', RUNLEDGER_API_KEY: 'rl_x' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  killWithParent(child);
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect(stderr).toContain('127.0.0.1:9');
  expect(JSON.parse(stderr.split('\n').at(-1) ?? '')).toEqual(OF_THE_API);
});
