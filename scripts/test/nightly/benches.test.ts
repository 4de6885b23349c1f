import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const ENDS_WITHIN_MS = 240_000;

/** Every bench, with arguments that make it as short as it can be. */
const SHORTEST: Readonly<Record<string, readonly string[]>> = {
  'apps/cli/bench/commands.ts': ['1'],
  'packages/event-log/bench/append-together.ts': ['64', '1'],
  'packages/event-log/bench/append.ts': ['64', '1'],
  'packages/event-log/bench/elections.ts': ['1'],
  'packages/event-log/bench/follow.ts': ['100', '1', '200'],
  'packages/event-log/bench/migrate.ts': ['5'],
  'packages/event-log/bench/read-behind-strays.ts': ['1'],
  'packages/event-log/bench/reads.ts': ['8', '1', '50'],
  'services/gateway/bench/archived-runs.ts': ['20', '5'],
  'services/gateway/bench/catalogue.ts': ['120', '1', '4'],
  'services/gateway/bench/frozen-broker.ts': ['1', '1', 'kill', '1'],
  'services/gateway/bench/not-found.ts': ['4', '1'],
  'services/gateway/bench/pages.ts': ['100', '1', '100'],
  'services/gateway/bench/projection.ts': ['40', '1', '8'],
  'services/gateway/bench/rebuild.ts': ['40', '1'],
  'services/gateway/bench/requests.ts': ['100', '1'],
  'services/gateway/bench/search.ts': ['1000', '1'],
  'services/gateway/bench/streams.ts': ['10', '1', '10'],
  'services/notifier/bench/deferred.ts': ['100', '0', '20'],
  'services/notifier/bench/overflow.ts': ['10', '1', '1', '4', '10'],
  'services/notifier/bench/throughput.ts': ['20', '1', '1 host'],
  'services/scheduler/bench/decisions.ts': ['100', '8', '2', '20'],
  'services/scheduler/bench/queued-runs.ts': ['1000', '10'],
  'services/scheduler/bench/takeover.ts': ['1000', '80', '10', '100'],
};

/** A bench says at its head how to run it. */
const benches = globSync('{packages,services,apps}/*/bench/*.ts', { cwd: ROOT })
  .filter((file) => readFileSync(join(ROOT, file), 'utf8').includes(`node scripts/run.mjs ${file}`))
  .toSorted();

it('a bench that is new is tried here too', () => {
  expect(benches).toEqual(Object.keys(SHORTEST));
});

/** A bench that needs MongoDB uses the server of the tests. */
const mongo = inject('sharedMongo');
const env = { ...process.env, ...(mongo && { MONGODB_URL: mongo.url }) };

// A bench is not a test: its fixtures work outside of vitest.
describe.concurrent('a bench', () => {
  it.each(benches)('%s starts and prints figures', { timeout: ENDS_WITHIN_MS }, async (file) => {
    const command = ['scripts/run.mjs', file, ...(SHORTEST[file] ?? [])];
    const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT, env });
    expect(stdout).toMatch(/\d/);
  });
});
