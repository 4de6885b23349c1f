/**
 * What a rebuild of the views costs for a message of the log, by its steps: reading it from the broker, the fold alone in memory, and all of it with the views
 * written to an SQLite file, and compared. Processor time of this process, so that other work changes it little.
 * `node scripts/run.mjs services/gateway/bench/rebuild.ts [runs] [rounds]`
 */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readPages } from '@runledger/event-log/read/read-pages';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import pLimit from 'p-limit';
import { clock } from '../src/kit.ts';
import { projectRuns } from '../src/views/fold-run.decide.ts';
import { buildViews } from '../src/views/rebuild/build-views.ts';
import { proveViews } from '../src/views/rebuild/prove-views.ts';
import { openSqliteRunViews } from '../src/views/sqlite/sqlite-run-views.ts';
import { aLogOnOwnBroker } from '../test/fixtures/gateway/a-log.ts';
import { appendAll } from '../test/fixtures/runs/appended-facts.ts';
import { median, microseconds, say } from './measure.ts';

const RUNS = Number(process.argv[2] ?? 5_000);
const ROUNDS = Number(process.argv[3] ?? 5);
const WRITERS = 64;
const BATCH = 1_024;

await using open = new AsyncDisposableStack();
const { log } = open.use(await aLogOnOwnBroker());
const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-bench-rebuild-')));
const keys = Array.from({ length: RUNS }, () => aRun());
await pLimit(WRITERS).map(keys, (key) =>
  appendAll(log, queued(key), assigned(key), started(key), succeeded(key)),
);
const { lastSequence: facts } = await runsIdentity(log);

const read = async (): Promise<StoredMessage[]> => {
  const messages: StoredMessage[] = [];
  const pages = readPages(log, 'RUNS', { upTo: facts });
  for await (const page of pages) messages.push(...page);
  return messages;
};

const fold = (messages: readonly StoredMessage[]): void => {
  for (let at = 0; at < messages.length; at += BATCH) {
    const projected = projectRuns([], messages.slice(at, at + BATCH));
    if (projected.kind !== 'projected') throw new Error('The facts of the bench cannot be folded.');
  }
};

const nobody = { listAll: async () => [], load: async () => [] };
const steps: Record<'reading' | 'folding' | 'all' | 'comparing', number[]> = {
  reading: [],
  folding: [],
  all: [],
  comparing: [],
};
for (let round = 0; round <= ROUNDS; round += 1) {
  let messages: StoredMessage[] = [];
  const took = {
    reading: await microseconds(async () => void (messages = await read())),
    folding: await microseconds(() => fold(messages)),
    all: 0,
    comparing: 0,
  };
  await using next = openSqliteRunViews({ path: join(folder.path, `${round}.sqlite`), clock });
  const { signal } = new AbortController();
  const options = {
    log,
    logger: silentLogger,
    live: nobody,
    archived: (async function* () {})(),
    next,
    derivation: 1,
    signal,
    onProgress: () => undefined,
  };
  let at: Awaited<ReturnType<typeof buildViews>> | undefined;
  took.all = await microseconds(async () => void (at = await buildViews(options)));
  took.comparing = await microseconds(async () => {
    if (at) await proveViews({ ...options, live: next }, at);
  });
  if (round === 0) continue;
  for (const name of ['reading', 'folding', 'all', 'comparing'] as const)
    steps[name].push(took[name] / facts);
  say(
    `round ${round}: ${Object.entries(took)
      .map(([name, us]) => `${name} ${(us / facts).toFixed(1)} µs`)
      .join(', ')}`,
  );
}
const rate = (us: number): string =>
  `${us.toFixed(1)} µs of CPU, so ${Math.round(1e6 / us).toLocaleString('en')} messages/s of one processor`;
for (const [name, values] of Object.entries(steps)) say(`${name}: ${rate(median(values))}`);
