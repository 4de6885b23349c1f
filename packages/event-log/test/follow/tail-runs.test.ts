import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { assigned, aRun, queued } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import type { Pulling } from '../../src/follow/pull-in-order.ts';
import { tailRuns } from '../../src/follow/tail-runs.ts';
import { queueRun } from '../fixtures/queued-runs.ts';
import { aLog, aLogOnOwnBroker, anEmptyLog, forge } from '../fixtures/test-log.ts';

interface Tail extends AsyncDisposable {
  readonly pulling: Pulling;
  /** Run and sequence of each message, in the order of the reports. */
  readonly reported: readonly (readonly [string, number])[];
  readonly gaps: () => number;
}

const aTail = async (log: EventLog): Promise<Tail> => {
  const reported: [string, number][] = [];
  let gaps = 0;
  const pulling = await tailRuns(log, {
    onMessage: ({ run_id }: RunKey, sequence) => reported.push([run_id, sequence]),
    onGap: () => (gaps += 1),
  });
  return { pulling, reported, gaps: () => gaps, [Symbol.asyncDispose]: () => pulling[Symbol.asyncDispose]() };
};

describe('the tail of all lifecycles', () => {
  it('begins with a gap, and reports each message from then on, also an invalid one', async () => {
    await using test = await aLog();
    await queueRun(test.log, aRun());
    await using tail = await aTail(test.log);
    expect(tail.gaps()).toBe(1);
    const run = aRun();
    const first = await queueRun(test.log, run);
    await append(test.log, assigned(run), first);
    await forge(test.log, `runs.${newUuid()}.not-a-run.life.queued.gateway.0.none`, {});
    const last = await queueRun(test.log, aRun(run.org_id));
    await waitFor('the last message', () => tail.reported.at(-1)?.[1] === last);
    expect(tail.reported.slice(0, 2)).toEqual([
      [run.run_id, first],
      [run.run_id, first + 1],
    ]);
    expect(tail.reported).toHaveLength(3);
  });

  it('receives no payloads', async () => {
    await using test = await aLog();
    await using tail = await aTail(test.log);
    const received = test.log.nc.stats().inBytes;
    const other = await test.open();
    for (let count = 1; count <= 10; count += 1) {
      await append(other, queued(aRun(), { inputs: { text: 'x'.repeat(4_000) } }), 0);
    }
    await waitFor('the messages', () => tail.reported.length === 10);
    expect(test.log.nc.stats().inBytes - received).toBeLessThan(20_000);
  });

  it('reports a gap and continues after the broker was killed', async () => {
    await using test = await aLogOnOwnBroker();
    await using tail = await aTail(test.log);
    await queueRun(test.log, aRun());
    await waitFor('the first message', () => tail.reported.length === 1);
    await test.nats.kill9();
    await test.nats.restart();
    await waitFor('the gap', () => tail.gaps() === 2);
    const last = await queueRun(test.log, aRun());
    await waitFor('the message after it', () => tail.reported.at(-1)?.[1] === last);
  });

  it('continues in a log that replaced the other', async () => {
    await using test = await anEmptyLog();
    const make = () => test.log.jsm.streams.add({ name: 'RUNS', subjects: ['runs.>'], allow_direct: true });
    await make();
    await using tail = await aTail(test.log);
    for (let n = 1; n <= 3; n += 1) await queueRun(test.log, aRun());
    await waitFor('the first messages', () => tail.reported.length === 3);
    await test.log.jsm.streams.delete('RUNS');
    await make();
    await waitFor('the gap', () => tail.gaps() >= 2);
    const run = aRun();
    await waitFor('a message of the new log', async () => {
      await forge(test.log, `runs.${run.org_id}.${run.run_id}.life.queued.gateway.0.none`, {});
      return tail.reported.some(([run_id]) => run_id === run.run_id);
    });
  });
});
