import { setImmediate as turn } from 'node:timers/promises';
import { NatsConnectionImpl, type NatsConnection } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { aLog } from '../fixtures/test-log.ts';

/** Of a PING or a PONG, which the driver may send at any time. */
const PONG_BYTES = 6;

/** The sizes of what a connection writes from now on. */
const writesOf = (nc: NatsConnection): readonly number[] => {
  if (!(nc instanceof NatsConnectionImpl)) return expect.fail('It is not a connection of the driver.');
  const { transport } = nc.protocol;
  const writes: number[] = [];
  const send = transport.send.bind(transport);
  transport.send = (frame) => {
    if (frame.byteLength > PONG_BYTES) writes.push(frame.byteLength);
    send(frame);
  };
  return writes;
};

it('sends what callbacks of one turn request with one write, in their order', async () => {
  await using test = await aLog();
  const { nc } = await test.open();
  const other = await test.open();
  const subject = `test.${crypto.randomUUID()}`;
  const received: string[] = [];
  other.nc.subscribe(subject, {
    callback: (_error, message) => {
      received.push(message.string());
      message.respond(message.data);
    },
  });
  await other.nc.flush();
  // Opens what takes the responses.
  await nc.request(subject, 'first');
  const writes = writesOf(nc);
  const texts = Array.from({ length: 50 }, (_, number) => String(number));
  const responses: Promise<{ string(): string }>[] = [];
  // A microtask each, as callbacks of sockets are.
  for (const text of texts) {
    responses.push(nc.request(subject, text));
    await Promise.resolve();
  }
  await turn();
  await Promise.resolve();
  expect(writes).toHaveLength(1);
  expect((await Promise.all(responses)).map((message) => message.string())).toEqual(texts);
  expect(received.slice(1)).toEqual(texts);
});
