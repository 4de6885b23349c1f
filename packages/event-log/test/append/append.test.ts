import { MAX_FACT_BYTES } from '@runledger/contracts/fold/log-capacity';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append, EventTooLarge, LogFull } from '../../src/append/append.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { head, readRun } from '../../src/read/read-run.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';
import {
  aRun,
  assigned,
  cancelRequested,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  requeued,
  started,
} from '@runledger/testing/run-events';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const appended = async (
  ...[event, expected]: Parameters<typeof append> extends [unknown, ...infer Rest] ? Rest : never
): Promise<number> => {
  const result = await append(log, event, expected);
  if (result.kind !== 'appended') throw new Error(`${event.type} met a conflict at ${result.head}`);
  return result.sequence;
};

describe('append', () => {
  it('accepts exactly one of 16 racing writers, in each of 40 rounds', async () => {
    const writers = await Promise.all(Array.from({ length: 16 }, () => test.open()));
    const key = aRun();
    let expected = await appended(queued(key), 0);
    for (let round = 1; round <= 40; round += 1) {
      const results = await Promise.all(
        writers.map((writer) => append(writer, started(key, round), expected)),
      );
      const won = results.filter((result) => result.kind === 'appended');
      expect(won).toHaveLength(1);
      const sequence = won[0]?.sequence ?? 0;
      const heads = results.flatMap((result) => (result.kind === 'conflict' ? [result.head] : []));
      expect(heads).toEqual(Array.from({ length: 15 }, () => sequence));
      expected = sequence;
    }
    expect(await head(log, key)).toBe(expected);
  });

  it('accepts one of cancel and assign, on different subjects', async () => {
    for (let round = 0; round < 20; round += 1) {
      const key = aRun();
      const first = await appended(queued(key), 0);
      const results = await Promise.all([
        append(log, cancelRequested(key), first),
        append(log, assigned(key), first),
      ]);
      expect(results.map(({ kind }) => kind).sort()).toEqual(['appended', 'conflict']);
      const read = await readRun(log, key);
      expect(read).toMatchObject({ kind: 'found', facts: { length: 2 }, refused: [] });
    }
  });

  it('refuses a stale executor', async () => {
    const key = aRun();
    const first = await appended(queued(key), 0);
    const mine = await appended(assigned(key, { attempt: 1, executor: EXECUTOR }), first);
    const lost = await appended(requeued(key, 1, EXECUTOR), mine);
    const theirs = await appended(assigned(key, { attempt: 2, executor: OTHER_EXECUTOR }), lost);

    expect(await append(log, started(key, 1, EXECUTOR), mine)).toEqual({ kind: 'conflict', head: theirs });
  });

  it('recognises an event that is appended again', async () => {
    const key = aRun();
    const event = queued(key);
    const sequence = await appended(event, 0);
    expect(await append(log, event, 0)).toEqual({ kind: 'appended', sequence });
    await appended(assigned(key), sequence);
    expect(await append(log, event, 0)).toEqual({ kind: 'appended', sequence });
  });

  it('stores an event once when its acknowledgement is lost', async () => {
    await using proxy = await tcpProxy(() => test.nats.port);
    const unlucky = await test.open(proxy.url);
    const key = aRun();
    proxy.loseNext('"stream":"RUNS"');
    const result = await append(unlucky, queued(key), 0);

    expect(proxy.lost()).toBe(1);
    expect(result).toEqual({ kind: 'appended', sequence: await head(log, key) });
    expect(await readRun(log, key)).toMatchObject({ kind: 'found', facts: { length: 1 } });
    const { state } = await log.jsm.streams.info('RUNS', { subjects_filter: runEventSubject(queued(key)) });
    expect(state.subjects).toEqual({ [runEventSubject(queued(key))]: 1 });
  });

  it('recognises its own event when another was appended to it while the acknowledgement was lost', async () => {
    await using proxy = await tcpProxy(() => test.nats.port);
    const unlucky = await test.open(proxy.url);
    const key = aRun();
    proxy.loseNext('"stream":"RUNS"');
    const appending = append(unlucky, queued(key), 0);
    await expect.poll(() => head(log, key), { timeout: 10_000 }).toBeGreaterThan(0);
    const mine = await head(log, key);
    await appended(cancelRequested(key), mine);

    expect(await appending).toEqual({ kind: 'appended', sequence: mine });
  });

  it('refuses at head 0 an event that cannot be the first', async () => {
    await expect(append(log, started(aRun()), 0)).rejects.toThrow('it is not the first event of a run');
  });

  it('refuses an event that is larger than its fact may be, and no smaller one', async () => {
    const key = aRun();
    const withBytes = (bytes: number) => {
      const rest = Buffer.byteLength(JSON.stringify(queued(key, { inputs: { text: '' } })));
      return queued(key, { inputs: { text: 'x'.repeat(bytes - rest) } });
    };
    const max = MAX_FACT_BYTES.RunQueued;
    await expect(append(log, withBytes(max + 1), 0)).rejects.toBeInstanceOf(EventTooLarge);
    await appended(withBytes(max), 0);
  });
});

describe('append to a full log', () => {
  it('reports that the log is full, and keeps its messages', async () => {
    await using small = await aLog({ runsMaxBytes: 14 * 1024 });
    const kept = aRun();
    await append(small.log, queued(kept), 0);
    const large = () => append(small.log, queued(aRun(), { inputs: { text: 'x'.repeat(4_000) } }), 0);
    await large();
    await expect(large().then(large)).rejects.toBeInstanceOf(LogFull);
    expect(await readRun(small.log, kept)).toMatchObject({ kind: 'found' });
  });
});
