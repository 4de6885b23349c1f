import type { ExecutorId } from '@runledger/contracts/ids';
import { lifecycleFilter, runEventSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import {
  consume,
  done,
  ConsumerInUse,
  NewerVersion,
  deadLetterBecause,
  retryIn,
  ConsumerTakenOver,
  type Outcome,
} from '../../src/consume/consume.ts';
import { LogUnavailable, type EventLog } from '../../src/connect/event-log.ts';
import { listDeadLetters, storeDeadLetter } from '../../src/streams/dead-letters.ts';
import { readStored } from '../../src/messages/stream-identity.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';
import {
  aRun,
  assigned,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  started,
} from '@runledger/testing/events/run-events';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const of = (name: string, key: RunKey) =>
  ({ name, stream: 'RUNS', subjects: [lifecycleFilter(key)], deliver: 'all' }) as const;

const history = async (log: EventLog, key: RunKey): Promise<number[]> => {
  const sequences: number[] = [];
  for (const event of [queued(key), assigned(key), started(key)]) {
    const result = await append(log, event, sequences.at(-1) ?? 0);
    if (result.kind === 'appended') sequences.push(result.sequence);
  }
  return sequences;
};

const parkedBy = async (log: EventLog, name: string) =>
  (await listDeadLetters(log)).filter(({ consumer }) => consumer === name);

describe('consume', () => {
  it('handles every message in order, and continues after a restart where it stopped', async () => {
    const key = aRun();
    const sequences = await history(log, key);
    const seen: number[] = [];
    const handle = async ({ sequence }: { sequence: number }): Promise<Outcome> => {
      seen.push(sequence);
      return done;
    };
    {
      await using open = new AsyncDisposableStack();
      open.use(await consume(log, of('restarted', key), handle));
      await expect.poll(() => seen, { timeout: 10_000 }).toEqual(sequences);
    }
    const more = await append(log, assigned(key, { attempt: 2 }), sequences.at(-1) ?? 0);
    await using consumption = await consume(log, of('restarted', key), handle);
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(4);
    expect(seen.at(-1)).toBe(more.kind === 'appended' ? more.sequence : undefined);
    expect(consumption.state()).toEqual({ ok: true });
  });

  it('handles no later message before a retried one', async () => {
    const key = aRun();
    const [first, second, third] = await history(log, key);
    const seen: number[] = [];
    let refuse = 2;
    await using open = new AsyncDisposableStack();
    open.use(
      await consume(log, of('patient', key), async ({ sequence }) => {
        seen.push(sequence);
        if (sequence === second && refuse > 0) {
          refuse -= 1;
          return retryIn(20);
        }
        return done;
      }),
    );
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual([first, second, second, second, third]);
  });

  it('begins with new messages only, if requested', async () => {
    const key = aRun();
    const sequences = await history(log, key);
    const seen: number[] = [];
    await using open = new AsyncDisposableStack();
    open.use(
      await consume(log, { ...of('new', key), deliver: 'new' }, async ({ sequence }) => {
        seen.push(sequence);
        return done;
      }),
    );
    const more = await append(log, assigned(key, { attempt: 2 }), sequences.at(-1) ?? 0);
    await expect
      .poll(() => seen, { timeout: 10_000 })
      .toEqual(more.kind === 'appended' ? [more.sequence] : []);
  });

  it('handles at most the allowed number of messages at once', async () => {
    const keys = Array.from({ length: 12 }, aRun);
    for (const key of keys) await append(log, queued(key), 0);
    let inside = 0;
    let most = 0;
    let handled = 0;
    const allInside = Promise.withResolvers<void>();
    const options = { ...of('side-by-side', aRun()), subjects: keys.map(lifecycleFilter), maxInFlight: 4 };
    await using open = new AsyncDisposableStack();
    open.use(
      await consume(log, options, async () => {
        inside += 1;
        most = Math.max(most, inside);
        if (inside === 4) allInside.resolve();
        await allInside.promise;
        inside -= 1;
        handled += 1;
        return done;
      }),
    );
    await expect.poll(() => handled, { timeout: 10_000 }).toBe(12);
    expect(most).toBe(4);
  });
});

describe('a message that cannot be handled', () => {
  it('becomes a dead letter with reason, headers and payload, and the next message follows', async () => {
    const key = aRun();
    const [first = 0] = await history(log, key);
    const nonsense = await log.js.publish(runEventSubject(assigned(key, { attempt: 7 })), 'no { json', {
      msgID: 'nonsense',
    });
    const refused = await log.js.publish(
      runEventSubject(assigned(key, { attempt: 8 })),
      '{"type":"strange"}',
    );
    const thrown = await log.js.publish(
      runEventSubject(assigned(key, { attempt: 9 })),
      '{"type":"explosive"}',
    );
    const last = await log.js.publish(runEventSubject(assigned(key, { attempt: 10 })), '{"type":"fine"}');
    const seen: number[] = [];
    await using consumption = await consume(log, of('careful', key), async ({ sequence }) => {
      if (sequence === refused.seq) return deadLetterBecause('the type is strange');
      if (sequence === thrown.seq) throw new Error('boom');
      seen.push(sequence);
      return done;
    });
    await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe(last.seq);
    expect(seen).toEqual([first, first + 1, first + 2, last.seq]);
    expect(consumption.state()).toEqual({ ok: true });

    const parked = await parkedBy(log, 'careful');
    expect(parked.map(({ sequence, reason }) => [sequence, reason])).toEqual([
      [nonsense.seq, 'the payload is not JSON in UTF-8'],
      [refused.seq, 'the type is strange'],
      [thrown.seq, expect.stringContaining('threw 5 times; the last error: Error: boom')],
    ]);
    expect(parked[0]).toMatchObject({
      stream: 'RUNS',
      subject: runEventSubject(assigned(key, { attempt: 7 })),
      headers: { 'Nats-Msg-Id': ['nonsense'] },
      data: Buffer.from('no { json').toString('base64'),
    });
  });
});

describe('the list of dead letters', () => {
  it('is empty without dead letters, and behind the last one', async () => {
    await using other = await aLog();
    expect(await listDeadLetters(other.log)).toEqual([]);
    const { seq } = await other.log.js.publish(runEventSubject(assigned(aRun())), 'no { json');
    const stored = await readStored(other.log, seq);
    if (!stored) throw new Error('what was published is not there');
    await storeDeadLetter(other.log, { consumer: 'careful', stored, reason: 'it is no JSON' });
    const parked = await listDeadLetters(other.log);
    expect(parked).toMatchObject([{ consumer: 'careful', sequence: seq, position: 1 }]);
    expect(await listDeadLetters(other.log, { after: 1 })).toEqual([]);
  });
});

describe('an unavailable broker', () => {
  it('makes no dead letters: the handler is called again', async () => {
    const key = aRun();
    await append(log, queued(key), 0);
    let calls = 0;
    await using consumption = await consume(log, of('unlucky', key), async () => {
      calls += 1;
      if (calls <= 6) throw new LogUnavailable('the broker is unavailable');
      return done;
    });
    await expect.poll(() => calls, { timeout: 20_000 }).toBe(7);
    expect(await parkedBy(log, 'unlucky')).toEqual([]);
    expect(consumption.state()).toEqual({ ok: true });
  });
});

describe('a dead letter of any size', () => {
  it('is stored without a payload that does not fit', async () => {
    const key = aRun();
    await log.js.publish(runEventSubject(assigned(key)), new Uint8Array(1_000_000));
    const large = headers();
    large.set('Strange', 'x'.repeat(60_000));
    await log.js.publish(runEventSubject(assigned(key, { attempt: 2 })), new Uint8Array(900_000), {
      headers: large,
    });
    await using consumption = await consume(log, of('stuffed', key), async () => done);
    await expect.poll(async () => (await parkedBy(log, 'stuffed')).length, { timeout: 10_000 }).toBe(2);
    expect(await parkedBy(log, 'stuffed')).toMatchObject([
      { data: null },
      { data: null, headers: { Strange: [large.get('Strange')] } },
    ]);
    expect(consumption.state()).toEqual({ ok: true });
  });
});

describe('an event of a later release', () => {
  it('stops the consumption with an error, and is not skipped', async () => {
    const key = aRun();
    const [, , third = 0] = await history(log, key);
    const event = { ...assigned(key, { attempt: 2 }), version: 2 };
    const newer = await log.js.publish(
      runEventSubject(assigned(key, { attempt: 2 })),
      JSON.stringify(event),
      {
        expect: { lastSubjectSequence: third, lastSubjectSequenceSubject: lifecycleFilter(key) },
      },
    );
    const told: NewerVersion[] = [];
    const seen: number[] = [];
    const options = { ...of('older-release', key), onNewer: (error: NewerVersion) => void told.push(error) };
    await using consumption = await consume(log, options, async ({ sequence }) => {
      seen.push(sequence);
      return done;
    });
    const error = await consumption.failed;
    expect(error).toBeInstanceOf(NewerVersion);
    expect(error).toMatchObject({ type: 'RunAssigned', version: 2, sequence: newer.seq });
    expect(told).toEqual([error]);
    expect(consumption.state()).toEqual({ ok: false, why: error.message });
    expect(seen).toHaveLength(3);
    const { num_ack_pending } = await log.jsm.consumers.info('RUNS', 'older-release');
    expect(num_ack_pending).toBe(1);
  });

  it('does not stop the consumption when its fence is forged', async () => {
    const key = aRun();
    const event = { ...assigned(key), version: 2 };
    await log.js.publish(runEventSubject(assigned(key)), JSON.stringify(event));
    let handled = 0;
    await using consumption = await consume(log, of('not-fooled', key), async () => {
      handled += 1;
      return done;
    });
    await expect.poll(() => handled, { timeout: 10_000 }).toBe(1);
    expect(consumption.state()).toEqual({ ok: true });
  });
});

describe('consume, after a loss', () => {
  it('reports that its consumer was deleted', async () => {
    const key = aRun();
    await using consumption = await consume(log, of('deleted', key), async () => done);
    await log.jsm.consumers.delete('RUNS', 'deleted');
    expect(await consumption.failed).toBeInstanceOf(Error);
    expect(consumption.state().ok).toBe(false);
  });

  it('ends when another process takes over its consumer, and handles none of its messages', async () => {
    const key = aRun();
    const handled: Record<string, string[]> = { older: [], newer: [] };
    const open = (process: 'older' | 'newer', executor: ExecutorId) =>
      consume(
        log,
        {
          name: 'taken-over',
          stream: 'RUNS',
          subjects: [`runs.${key.org_id}.${key.run_id}.life.*.*.*.${executor}`],
          deliver: 'new',
          owner: { id: executor, owns: (subject) => subject.endsWith(`.${executor}`) },
        },
        async ({ subject }) => {
          handled[process]?.push(subject);
          return done;
        },
      );
    await using older = await open('older', EXECUTOR);
    await log.jsm.consumers.update('RUNS', 'taken-over', {
      filter_subject: `runs.${key.org_id}.${key.run_id}.life.*.*.*.${OTHER_EXECUTOR}`,
      metadata: { owner: OTHER_EXECUTOR },
    });
    const forOlder = assigned(key);
    const forNewer = assigned(key, { attempt: 2, executor: OTHER_EXECUTOR });
    const first = await append(log, queued(key), 0);
    const second = await append(log, forOlder, first.kind === 'appended' ? first.sequence : 0);
    await append(log, forNewer, second.kind === 'appended' ? second.sequence : 0);

    expect(await older.failed).toBeInstanceOf(ConsumerTakenOver);
    await using newer = await open('newer', OTHER_EXECUTOR);
    await expect
      .poll(() => handled, { timeout: 15_000 })
      .toEqual({ older: [], newer: [runEventSubject(forNewer)] });
    expect(newer.state()).toEqual({ ok: true });
    expect((await log.jsm.consumers.info('RUNS', 'taken-over')).config).toMatchObject({
      filter_subject: `runs.${key.org_id}.${key.run_id}.life.*.*.*.${OTHER_EXECUTOR}`,
      metadata: { owner: OTHER_EXECUTOR },
    });
  });

  it('opens for one of two processes that start at once, and fails for the other', async () => {
    const key = aRun();
    const logs = await Promise.all([test.open(), test.open()]);
    const opened = await Promise.allSettled(
      [EXECUTOR, OTHER_EXECUTOR].map((executor, at) =>
        consume(
          logs[at] ?? log,
          {
            ...of('contested', key),
            subjects: [`runs.*.${key.run_id}.life.*.*.*.${executor}`],
            owner: { id: executor, owns: (subject) => subject.endsWith(`.${executor}`) },
          },
          async () => done,
        ),
      ),
    );
    const [one, ...more] = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const refused = opened.flatMap((result): unknown[] =>
      result.status === 'rejected' ? [result.reason] : [],
    );
    expect(more).toEqual([]);
    expect(refused).toEqual([expect.any(ConsumerInUse)]);
    expect(one?.state()).toEqual({ ok: true });
    await one?.[Symbol.asyncDispose]();
  });

  it('leaves an unfinished message to the next process', async () => {
    const key = aRun();
    await append(log, queued(key), 0);
    const begun = Promise.withResolvers<void>();
    const stopped = await consume(log, of('stopped', key), async () => {
      begun.resolve();
      return retryIn(3_600_000);
    });
    await begun.promise;
    await stopped[Symbol.asyncDispose]();

    const again = Promise.withResolvers<boolean>();
    await using open = new AsyncDisposableStack();
    open.use(
      await consume(log, of('stopped', key), async ({ redelivered }) => {
        again.resolve(redelivered);
        return done;
      }),
    );
    expect(await again.promise).toBe(true);
  });
});
