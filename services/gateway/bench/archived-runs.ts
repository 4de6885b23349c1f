/**
 * A POST with an idempotency key beside one without, for an organisation of which the archive has a few runs, and then many; and what it costs
 * to archive a run, and to read one from there.
 * `node scripts/run.mjs services/gateway/bench/archived-runs.ts [archived runs] [requests] [jetstream or directory]`
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { newUuid } from '@runledger/contracts/ids';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import pLimit from 'p-limit';
import { packRun } from '../src/archive/run-object.ts';
import { archiveAll, archivedOf, archiving, objectsOf } from '../test/archive/archived-runs.ts';
import { openTestBedOnOwnBroker } from '../test/fixtures/gateway/test-bed.ts';
import { post } from '../test/fixtures/requests/requests.ts';
import { appendAll } from '../test/fixtures/runs/appended-facts.ts';
import { queueKeyed } from '../test/fixtures/runs/queued-runs.ts';
import { median, say } from './measure.ts';

const RUNS = Number(process.argv[2] ?? 10_000);
const REQUESTS = Number(process.argv[3] ?? 500);
const STORE = process.argv[4] ?? 'jetstream';
const WRITERS = 32;
const AT_ONCE = 1_000;

await using directory = await mkdtempDisposable(join(tmpdir(), 'runledger-archived-'));
await using bed = await openTestBedOnOwnBroker({ archiveMaxBytes: 16 * 1024 ** 3 });
const { log, tenant } = bed;
const environment = { RUNLEDGER_ARCHIVE: STORE, RUNLEDGER_ARCHIVE_DIRECTORY: directory.path };
const objects = objectsOf(log, environment);

const sample = aRun(tenant.org_id);
await appendAll(log, queued(sample), assigned(sample), started(sample), succeeded(sample));
await archiveAll(log, { objects });
const { archive } = archiving(log, { objects });
const ms = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};
const archived: number[] = [];
for (let n = 0; n < 50; n += 1) {
  const run = aRun(tenant.org_id);
  await appendAll(log, queued(run), assigned(run), started(run), succeeded(run));
  archived.push(await ms(() => archive(run)));
}
const reads: number[] = [];
for (let n = 0; n < 50; n += 1) reads.push(await ms(() => archivedOf(log, sample, objects)));
say(
  `archiving a run of four facts, read back: ${median(archived).toFixed(1)} ms, reading one: ${median(reads).toFixed(1)} ms`,
);

const gateway = await bed.gateway({ projecting: true, environment });
const { last_seq } = (await log.jsm.streams.info('RUNS')).state;
await waitFor('the views', async () => ((await gateway.views.position())?.sequence ?? 0) >= last_seq);
const url = `${gateway.api}/run/deployment/queue`;
const kinds = {
  'without a key': () => post(url, tenant.key, { deployment_id: tenant.deployment.id }),
  'with a key': () => queueKeyed(gateway, tenant, newUuid()),
};
const measure = async (runs: number): Promise<void> => {
  const took = { 'without a key': [] as number[], 'with a key': [] as number[] };
  for (let n = 0; n < REQUESTS; n += 1) {
    const both = ['without a key', 'with a key'] as const;
    // Each is the first of a pair as often as the other.
    for (const kind of n % 2 === 0 ? both : both.toReversed()) took[kind].push(await ms(kinds[kind]));
  }
  const [without, keyed] = [median(took['without a key']), median(took['with a key'])];
  say(
    `${runs} archived runs: POST without a key ${without.toFixed(2)} ms, with a new key ${keyed.toFixed(2)} ms, ${(keyed / without).toFixed(3)} times as long`,
  );
};

const content = (await archivedOf(log, sample, objects)) ?? { life: [], webhook: [] };
const bytes = await packRun(content);
/** As the gateway writes it, and in a directory without the two flushes to the disk that each object costs. */
const store = async (): Promise<void> => {
  const run = aRun(tenant.org_id);
  if (STORE !== 'directory') return objects.put(run, bytes);
  const file = objects.placeOf(run);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
};
const fill = async (): Promise<void> => {
  for (let left = RUNS; left > 0; left -= AT_ONCE) {
    await pLimit(WRITERS).map(Array.from({ length: Math.min(left, AT_ONCE) }), store);
    // So that the gateway of this process keeps its connections.
    await setImmediate();
  }
};

await measure(archived.length + 1);
const filled = await ms(fill);
say(`storing ${RUNS} more took ${(filled / RUNS).toFixed(2)} ms each`);
await measure(archived.length + 1 + RUNS);
