import { runEventSubject } from '@runledger/contracts/events/subjects';
import { headers } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { consume, done, deadLetterBecause } from '../../src/follow/consume.ts';
import { LogUnavailable, type EventLog } from '../../src/connect/event-log.ts';
import { listDeadLetters, storeDeadLetter } from '../../src/streams/dead-letters.ts';
import { readStored } from '../../src/read/run-messages.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';
import { aRun, assigned, queued } from '@runledger/testing/run-events';

import { consumerOf, history, deadLettersOf } from '../fixtures/consumed-runs.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

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
    await using consumption = await consume(log, consumerOf('refusing', key), async ({ sequence }) => {
      if (sequence === refused.seq) return deadLetterBecause('the type is strange');
      if (sequence === thrown.seq) throw new Error('boom');
      seen.push(sequence);
      return done;
    });
    await expect.poll(() => seen.at(-1), { timeout: 20_000 }).toBe(last.seq);
    expect(seen).toEqual([first, first + 1, first + 2, last.seq]);
    expect(consumption.state()).toEqual({ ok: true });

    const letters = await deadLettersOf(log, 'refusing');
    expect(letters.map(({ sequence, reason }) => [sequence, reason])).toEqual([
      [nonsense.seq, 'the payload is not JSON in UTF-8'],
      [refused.seq, 'the type is strange'],
      [thrown.seq, expect.stringContaining('threw 5 times; the last error: Error: boom')],
    ]);
    expect(letters[0]).toMatchObject({
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
    await storeDeadLetter(other.log, { consumer: 'refusing', stored, reason: 'it is no JSON' });
    const letters = await listDeadLetters(other.log);
    expect(letters).toMatchObject([{ consumer: 'refusing', sequence: seq, position: 1 }]);
    expect(await listDeadLetters(other.log, { after: 1 })).toEqual([]);
  });
});

describe('an unavailable broker', () => {
  it('makes no dead letters: the handler is called again', async () => {
    const key = aRun();
    await append(log, queued(key), 0);
    let calls = 0;
    await using consumption = await consume(log, consumerOf('unlucky', key), async () => {
      calls += 1;
      if (calls <= 6) throw new LogUnavailable('the broker is unavailable');
      return done;
    });
    await expect.poll(() => calls, { timeout: 20_000 }).toBe(7);
    expect(await deadLettersOf(log, 'unlucky')).toEqual([]);
    expect(consumption.state()).toEqual({ ok: true });
  });
});

describe('a dead letter of any size', () => {
  it('is stored without a payload that does not fit', async () => {
    const key = aRun();
    // A log of an earlier release takes any message.
    await log.jsm.streams.update('RUNS', { max_msg_size: -1 });
    await log.js.publish(runEventSubject(assigned(key)), new Uint8Array(1_000_000));
    const large = headers();
    large.set('Strange', 'x'.repeat(60_000));
    await log.js.publish(runEventSubject(assigned(key, { attempt: 2 })), new Uint8Array(900_000), {
      headers: large,
    });
    await using consumption = await consume(log, consumerOf('stuffed', key), async () => done);
    await expect.poll(async () => (await deadLettersOf(log, 'stuffed')).length, { timeout: 10_000 }).toBe(2);
    expect(await deadLettersOf(log, 'stuffed')).toMatchObject([
      { data: null },
      { data: null, headers: { Strange: [large.get('Strange')] } },
    ]);
    expect(consumption.state()).toEqual({ ok: true });
  });
});
