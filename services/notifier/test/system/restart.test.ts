import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readPosition, storePosition } from '../../src/timers.ts';
import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { webhookDelivered } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBedOnOwnBroker } from '../fixtures/test-bed.ts';
import { expectGuarantees, expectTimer, finalsOf, type NotifiedRun } from '../fixtures/expect-guarantees.ts';
import { aLoad, seeded } from '../fixtures/load.ts';
import { expectPartitionsDivided, startNotifier } from '../fixtures/notifier-process.ts';

const SEED = 20_260_730;
const LIMIT_MS = 120_000;

const expectOnceEach = (notified: readonly NotifiedRun[]): void => {
  for (const one of notified) expect(finalsOf(one)).toHaveLength(1);
};

describe('a notifier that starts again', { timeout: LIMIT_MS }, () => {
  it('notifies once of every run that ended while it was stopped', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using load = await aLoad(bed, seeded(SEED));
    {
      await using before = await startNotifier(bed);
      await load.add(10);
      await expectGuarantees(bed, [before], load.runs);
      expect(await before.stop()).toBe(0);
    }
    await load.add(300);
    await using after = await startNotifier(bed);
    await expectGuarantees(bed, [after], load.runs);
    expectOnceEach(load.runs);
  });

  it('sends nothing again when nothing has happened', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using load = await aLoad(bed, seeded(SEED));
    await load.add(20);
    for (let starts = 0; starts < 2; starts += 1) {
      await using notifier = await startNotifier(bed);
      await expectPartitionsDivided(notifier);
      await expectGuarantees(bed, [notifier], load.runs);
      expect(await notifier.stop()).toBe(0);
    }
    expectOnceEach(load.runs);
  });
});

describe('a notifier that starts for the first time on an old log', { timeout: LIMIT_MS }, () => {
  it('sends only what was never sent', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await bed.happenTo(key, webhookDelivered(key));
    await using load = await aLoad(bed, seeded(SEED));
    await load.add(50);
    await using notifier = await startNotifier(bed);
    await expectGuarantees(bed, [notifier], load.runs);
    expectOnceEach(load.runs);
    expect(receiver.of(key.run_id)).toEqual([]);
  });
});

describe('a log that has lost its end', { timeout: LIMIT_MS }, () => {
  it('is read again from the beginning, and everything that was never sent is sent', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using load = await aLoad(bed, seeded(SEED));
    await load.add(20);
    const { created } = await runsIdentity(bed.log);
    const beyond = {
      version: 1,
      created,
      runs: 1_000_000,
      activity: 1_000_000,
      swept: 1_000_000,
      left: 0,
    } as const;
    for (let partition = 0; partition < PARTITIONS; partition += 1)
      await storePosition(bed.log, partition, beyond);
    await using notifier = await startNotifier(bed);
    await expectGuarantees(bed, [notifier], load.runs);
    await load.add(20);
    await expectGuarantees(bed, [notifier], load.runs);
    expectOnceEach(load.runs);
  });
});

describe('the reconciliation', { timeout: LIMIT_MS }, () => {
  it('finds a delivery whose timer was lost, sends it and counts it', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using receiver = await aReceiver(status(500, { 'retry-after': '600' }));
    await using notifier = await startNotifier(bed);
    const key = await bed.succeed(`${receiver.url}/hook`);
    await expectTimer(bed, key, 'wait');
    // It is looked at while it stands there, and again when it does not any more.
    await waitFor('the reconciliation to pass it', async () => {
      const { lastSequence } = await runsIdentity(bed.log);
      const positions = await Promise.all(
        Array.from({ length: PARTITIONS }, (_, partition) => readPosition(bed.log, partition)),
      );
      return positions.some((position) => (position?.swept ?? 0) >= lastSequence - 1);
    });
    receiver.answer = status(200);
    await bed.log.jsm.streams.purge('TIMERS', { filter: `timers.*.*.*.${key.run_id}.*` });
    await expectGuarantees(bed, [], [{ key, receiver }]);
    expect(finalsOf({ key, receiver })).toHaveLength(2);
    expect(await notifier.metric('runledger_notifier_reconciled_total')).toBe(1);
  });
});
