import { headers, type Msg } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/connect/event-log.ts';
import {
  readDirect,
  readDirectLast,
  readDirectNext,
  type DirectMessage,
} from '../../src/read/direct-read.ts';
import { provision } from '../../src/provision/provision.ts';
import { anEmptyLog } from '../fixtures/test-log.ts';

const STREAM = 'DEAD_LETTERS';
const read = (log: EventLog) => readDirect(log, STREAM, { seq: 1, batch: 1 }, `reading ${STREAM}`);

const notFound = (): Parameters<Msg['respond']>[1] => ({ headers: headers(404, 'Message Not Found') });

describe('a direct read of a stream', () => {
  it('is sent again while nobody responds, as to an unavailable broker', async () => {
    await using test = await anEmptyLog();
    const reading = read(test.log);
    await provision(test.log);
    expect(await reading).toEqual({ messages: [], upTo: 0, left: 0 });
  });

  it.each<[string, string, (log: EventLog) => Promise<unknown>]>([
    ['of several messages', STREAM, read],
    [
      'of a last message',
      `${STREAM}.dead_letters.one`,
      (log) => readDirectLast(log, STREAM, 'dead_letters.one'),
    ],
    ['of a next message', STREAM, (log) => readDirectNext(log, STREAM, 1, 'dead_letters.>')],
  ])(
    '%s is sent to another replica before the others have left a frozen one',
    async (_what, subject, ask) => {
      await using test = await anEmptyLog();
      let asked = 0;
      test.log.nc.subscribe(`$JS.API.DIRECT.GET.${subject}`, {
        callback: (_error, request) => {
          asked += 1;
          if (asked > 3) request.respond(undefined, notFound());
        },
      });
      await ask(test.log);
      expect(asked).toBe(4);
    },
  );

  it('has the response of a slow replica although another was asked meanwhile', async () => {
    await using test = await anEmptyLog();
    const requests: Msg[] = [];
    test.log.nc.subscribe(`$JS.API.DIRECT.GET.${STREAM}.dead_letters.one`, {
      callback: (_error, request) => {
        requests.push(request);
        if (requests.length === 2) requests[0]?.respond(undefined, notFound());
      },
    });
    expect(await readDirectLast(test.log, STREAM, 'dead_letters.one')).toBeNull();
    expect(requests).toHaveLength(2);
  });

  it('says how many messages did not fit into its response', async () => {
    await using test = await anEmptyLog();
    await provision(test.log);
    for (const n of [1, 2, 3])
      await test.log.js.publish(`dead_letters.RUNS.reader.message.${n}`, 'x'.repeat(1024));
    const last = (max_bytes: number) =>
      readDirect(test.log, STREAM, { multi_last: ['dead_letters.>'], max_bytes }, 'reading');
    expect(await last(64 * 1024)).toMatchObject({ messages: { length: 3 }, left: 0 });
    const { messages, left } = await last(1024);
    expect(left).toBeGreaterThan(0);
    expect(messages.length + left).toBe(3);
  });

  it('gives the last and the next message under a subject', async () => {
    await using test = await anEmptyLog();
    await provision(test.log);
    const subject = 'dead_letters.RUNS.reader.message.1';
    for (const data of ['one', 'two']) await test.log.js.publish(subject, data);
    const textOf = (message: DirectMessage | null) => new TextDecoder().decode(message?.data);
    expect(textOf(await readDirectLast(test.log, STREAM, subject))).toBe('two');
    expect(textOf(await readDirectNext(test.log, STREAM, 1, subject))).toBe('one');
    expect(await readDirectLast(test.log, STREAM, `${subject}s`)).toBeNull();
    expect(await readDirectNext(test.log, STREAM, 3, subject)).toBeNull();
  });
});
