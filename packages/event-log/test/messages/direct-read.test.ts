import { headers, type Msg } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/connect/event-log.ts';
import { readDirect } from '../../src/messages/direct-read.ts';
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
    expect(await reading).toEqual({ messages: [], upTo: 0 });
  });

  it('is sent to another replica before the others have left a frozen one', async () => {
    await using test = await anEmptyLog();
    let asked = 0;
    test.log.nc.subscribe(`$JS.API.DIRECT.GET.${STREAM}`, {
      callback: (_error, request) => {
        asked += 1;
        if (asked > 4) request.respond(undefined, notFound());
      },
    });
    const began = performance.now();
    expect(await read(test.log)).toEqual({ messages: [], upTo: 0 });
    expect(asked).toBe(5);
    // With two seconds for each it would be eight.
    expect(performance.now() - began).toBeLessThan(6_000);
  });
});
