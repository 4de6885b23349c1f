import { RequestError, TimeoutError } from '@nats-io/transport-node';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LogUnavailable } from '../../src/connect/event-log.ts';
import { callBroker } from '../../src/connect/broker-call.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
  return () => test[Symbol.asyncDispose]();
});

const failureOf = async (what: Promise<unknown>): Promise<unknown> =>
  what.then(
    () => expect.fail('The request got a response.'),
    (error: unknown) => error,
  );

/** Takes the requests to a subject of its own and keeps them. */
const aHolder = async (): Promise<{ subject: string; held: { respond(data: string): void }[] }> => {
  const other = await test.open();
  const subject = `test.${crypto.randomUUID()}`;
  const held: { respond(data: string): void }[] = [];
  const taken = other.nc.subscribe(subject, {
    callback: (_error, message) => {
      held.push({ respond: (data) => void message.respond(data) });
    },
  });
  onTestFinished(() => taken.unsubscribe());
  await other.nc.flush();
  return { subject, held };
};

describe('the requests of a connection', () => {
  it('each get their own response, in whatever order these come', async () => {
    const { subject, held } = await aHolder();
    const asked = Array.from({ length: 50 }, () => test.log.nc.request(subject, '', { timeout: 10_000 }));
    await expect.poll(() => held.length).toBe(50);
    for (const [number, request] of [...held.entries()].toReversed()) request.respond(String(number));
    const answers = (await Promise.all(asked)).map((answer) => Number(answer.string()));
    expect(answers).toEqual(Array.from({ length: 50 }, (_, number) => number));
  });

  it('end after their time, and a response that comes later is no other request’s', async () => {
    const { subject, held } = await aHolder();
    expect(await failureOf(test.log.nc.request(subject, '', { timeout: 50 }))).toBeInstanceOf(TimeoutError);
    const next = test.log.nc.request(subject, '', { timeout: 10_000 });
    await expect.poll(() => held.length).toBe(2);
    held[0]?.respond('late');
    held[1]?.respond('its own');
    expect((await next).string()).toBe('its own');
  });

  it('end at once when nobody takes them', async () => {
    const error = await failureOf(test.log.nc.request('test.nobody', '', { timeout: 60_000 }));
    expect(error instanceof RequestError && error.isNoResponders()).toBe(true);
  });

  it('end at once when this side closes the connection', async () => {
    const { subject, held } = await aHolder();
    const log = await test.open();
    const failed = failureOf(callBroker('asking', () => log.nc.request(subject, '', { timeout: 60_000 })));
    await expect.poll(() => held.length).toBe(1);
    await log.nc.close();
    expect(await failed).toBeInstanceOf(LogUnavailable);
    expect(await failed).toMatchObject({ message: 'asking: the connection to the broker is closed' });
    expect(await failureOf(callBroker('asking', () => log.nc.request(subject)))).toBeInstanceOf(
      LogUnavailable,
    );
  });
});
