import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { assigned, aRun, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
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

/** Queues runs until the tail has reported this many more: what is stored while its reading is interrupted, it does not report. */
const reportsMore = async (tail: Tail, count: number, log: EventLog): Promise<void> => {
  const enough = tail.reported.length + count;
  await waitFor(`${count} more messages`, async () => {
    await queueRun(log, aRun());
    return tail.reported.length >= enough;
  });
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
    const text = 'x'.repeat(4_000);
    await waitFor('ten messages', async () => {
      await append(other, queued(aRun(), { inputs: { text } }), 0);
      return tail.reported.length >= 10;
    });
    expect(test.log.nc.stats().inBytes - received).toBeLessThan((tail.reported.length * text.length) / 2);
  });

  it('reports a gap and continues after the broker was killed', async () => {
    await using test = await aLogOnOwnBroker();
    await using tail = await aTail(test.log);
    await reportsMore(tail, 1, test.log);
    const gaps = tail.gaps();
    await test.nats.kill9();
    await test.nats.restart();
    await waitFor('the gap', () => tail.gaps() > gaps);
    await reportsMore(tail, 1, test.log);
  });

  it('continues in a log that replaced the other', async () => {
    await using test = await anEmptyLog();
    const { streams } = test.log.jsm;
    const make = () => streams.add({ name: 'RUNS', subjects: ['runs.>'], allow_direct: true });
    await make();
    await using tail = await aTail(test.log);
    await reportsMore(tail, 3, test.log);
    const gaps = tail.gaps();
    // A slow disk may take longer than the limit of one request.
    await waitFor('the end of the log', async () => {
      await streams.delete('RUNS').catch(() => false);
      return (await streams.names().next()).length === 0;
    });
    await waitFor('a new log', make);
    await waitFor('the gap', () => tail.gaps() > gaps);
    await reportsMore(tail, 1, test.log);
  });
});
