import { NatsConnectionImpl } from '@nats-io/transport-node';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
  return () => test[Symbol.asyncDispose]();
});

/** Of a PING or a PONG, which the driver may send at any time. */
const PONG_BYTES = 6;

/** A connection, the sizes of its writes, and what another connection receives of its messages. */
const aSender = async () => {
  const { nc } = await test.open();
  if (!(nc instanceof NatsConnectionImpl)) return expect.fail('It is not a connection of the driver.');
  const { transport } = nc.protocol;
  const writes: number[] = [];
  const send = transport.send.bind(transport);
  transport.send = (frame) => {
    if (frame.byteLength > PONG_BYTES) writes.push(frame.byteLength);
    send(frame);
  };
  const other = await test.open();
  const subject = `test.${crypto.randomUUID()}`;
  const received: string[] = [];
  const taken = other.nc.subscribe(subject, {
    callback: (_error, message) => void received.push(message.string()),
  });
  onTestFinished(() => taken.unsubscribe());
  await other.nc.flush();
  await nc.flush();
  writes.length = 0;
  return { nc, writes, subject, received };
};

describe('a connection to the broker', () => {
  it('writes once for all that callbacks of one turn publish, in their order', async () => {
    const { nc, writes, subject, received } = await aSender();
    const expected = Array.from({ length: 50 }, (_, number) => String(number));
    for (const number of expected) {
      nc.publish(subject, number);
      await Promise.resolve();
    }
    await nc.flush();
    expect(writes).toHaveLength(1);
    await expect.poll(() => received).toEqual(expected);
  });

  it('writes at once what is more than the limit of the driver, so little is held back', async () => {
    const { nc, writes, subject, received } = await aSender();
    const message = 'm'.repeat(1_000);
    for (let count = 0; count < 500; count += 1) {
      nc.publish(subject, message);
      expect(nc.protocol.outbound.size()).toBeLessThan(nc.protocol.pendingLimit);
    }
    const written = writes.length;
    expect(written).toBeGreaterThan(10);
    await expect.poll(() => received).toHaveLength(500);
    expect(writes.length).toBeLessThanOrEqual(written + 1);
  });
});
