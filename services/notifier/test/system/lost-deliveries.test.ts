import { partitionOf } from '@runledger/contracts/deliveries/timers';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { aRun, queued, timedOut } from '@runledger/testing/run-events';
import { aReceiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { expect, it } from 'vitest';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { openTestBedOnOwnBroker, type TestBed } from '../fixtures/test-bed.ts';
import { storePosition } from '../../src/timers.ts';

const AT_ONCE = 64;
/** A tenth of the product's, and the others have to wait in vain for many more. */
const FIRST_CHECKS = 500;
const MANY = 2_000;
const FEW = 3;

const endRun = async ({ log }: TestBed, key: RunKey, webhook: string): Promise<void> => {
  const first = await append(log, queued(key, { webhook }), 0);
  if (first.kind !== 'appended') throw new Error('another writer was first');
  await append(log, timedOut(key, 'start_deadline'), first.sequence);
};

const endRuns = async (bed: TestBed, webhook: string, count: number): Promise<void> => {
  const org = orgId(newUuid());
  const keys = Array.from({ length: count }, () => aRun(org));
  for (let begun = 0; begun < count; begun += AT_ONCE)
    await Promise.all(keys.slice(begun, begun + AT_ONCE).map((key) => endRun(bed, key, webhook)));
};

/** As when TIMERS lost the deliveries: the position has passed them, and nothing has them. */
const loseAll = async ({ log }: TestBed, url: string): Promise<void> => {
  const { created, lastSequence } = await runsIdentity(log);
  const position = { version: 1, created, runs: lastSequence, activity: 0, swept: 0, left: 0 } as const;
  await storePosition(log, partitionOf(url), position);
};

it(
  'few lost deliveries of an organisation do not wait for the very many of another',
  { timeout: 240_000 },
  async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using busy = await aReceiver();
    await using calm = await aReceiver();
    await endRuns(bed, `${busy.url}/hook`, MANY);
    await endRuns(bed, `${calm.url}/hook`, FEW);
    for (const { url } of [busy, calm]) await loseAll(bed, url);

    await using running = await bed.start({ reconcileEveryMs: 1_000, firstChecks: FIRST_CHECKS });
    await expectSoon('the few', () => expect(calm.arrived).toHaveLength(FEW), { withinMs: 150_000 });
    expect(busy.arrived.length).toBeLessThan(MANY - 1_200);
    expect(await running.metric('runledger_notifier_reconciled_total')).toBeGreaterThan(FEW);
  },
);
