import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';
import { again, BAD_RECEIVERS, cut, HEAD, WITHIN_MS } from '../fixtures/bad-receivers.ts';
import { FIRST_WAIT_MS, retryOf, attemptsOf } from '../fixtures/attempts-of.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import { rawReceiver, saying, type Receiver } from '../sending/receivers.ts';
import { senderTo } from '../sending/sending.ts';

let bed: TestBed;
let running: RunningNotifier;
/** Takes this machine for a public receiver, whose answers are recorded. */
const sender = senderTo(['127.0.0.1'], { withinMs: WITHIN_MS });
beforeAll(async () => {
  bed = await openTestBed();
  running = await bed.start({ sender });
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await sender[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const callbackAt = ({ url, port }: Receiver): string =>
  `${url.protocol}//127.0.0.1:${port}/hook?token=s3cret`;

describe('a receiver', () => {
  it.concurrent.each(Object.entries(BAD_RECEIVERS))(
    'that %s gets another attempt, the first is recorded, and another receiver is not delayed',
    async (_what, bad) => {
      await using receiver = await bad.open();
      await using healthy = await aReceiver();
      const key = await bed.succeed(callbackAt(receiver));
      const neighbour = await bed.succeed(`${healthy.url}/hook`);
      await expectSoon('the notification of the other receiver', async () => {
        expect(healthy.of(neighbour.run_id)).toHaveLength(1);
        expect(await bed.webhook(neighbour)).toMatchObject({ status: 'success', tries: 1 });
      });

      const { attempts: tries, state, waitMs } = await retryOf(bed, key);
      const [first] = tries;
      expect(first).toMatchObject({
        notification: 'final',
        webhook_id: `msg_${key.run_id}`,
        round: 1,
        try: 1,
        reason: bad.reason,
        status: bad.status ?? null,
        message: expect.stringMatching(bad.says),
        phases: { dns: expect.any(Number), [bad.phase]: expect.any(Number) },
      });
      // A body is only begun behind a status.
      expect(first?.phases.body === null).toBe(bad.status === undefined);
      expect(first?.url).toMatch(/\/hook\?\[hidden\]$/);
      expect(JSON.stringify(tries)).not.toMatch(/s3cret|whsec_/);
      expect(state).toMatchObject({ state: 'retrying', tries: 1, round: 1, last_reason: bad.reason });
      expect(waitMs).toBeGreaterThan(FIRST_WAIT_MS.least);
      expect(waitMs).toBeLessThan(FIRST_WAIT_MS.most);
      expect(await bed.webhook(key)).toMatchObject({ status: 'running', round: 1 });
    },
  );
});

describe('a receiver whose 2xx comes with', () => {
  it.concurrent.each([
    ['a body that stalls', saying(`${HEAD}content-length: 100\r\n\r\nbegun`), /^begun$/],
    ['a body that comes byte by byte', again(`${HEAD}content-length: 100000\r\n\r\n`, 'x', 100), /^x+$/],
    ['a body that ends early', cut(`${HEAD}content-length: 100\r\n\r\nbegun`), /^begun$/],
    ['garbage behind its headers', saying(`${HEAD}transfer-encoding: chunked\r\n\r\ngarbage\r\n`), /^$/],
    ['an endless body', again(`${HEAD}\r\n`, 'y'.repeat(16_384), 1), /^y{2048}$/],
  ])('%s has accepted, and gets no second attempt', async (_how, talk, answer) => {
    await using receiver = await rawReceiver(talk);
    const key = await bed.succeed(callbackAt(receiver));
    await expectSoon('its outcome', async () =>
      expect(await bed.webhook(key)).toMatchObject({ status: 'success', tries: 1 }),
    );
    const { attempts: tries, state } = await attemptsOf(bed, key);
    expect(tries).toMatchObject([
      {
        reason: 'accepted',
        status: 200,
        answer: expect.stringMatching(answer),
        phases: { wait: expect.any(Number), body: expect.any(Number) },
      },
    ]);
    expect(state).toBeUndefined();
    expect(receiver.taken()).toBe(1);
  });

  it.concurrent('a huge body has its first 2 KiB recorded', async () => {
    await using receiver = await aReceiver((_arrived, response) => void response.end('ä'.repeat(500_000)));
    const key = await bed.succeed(`${receiver.url}/hook`);
    const { attempts: tries } = await attemptsOf(bed, key);
    expect(tries).toMatchObject([{ reason: 'accepted', answer: 'ä'.repeat(1_024) }]);
  });
});

describe('a redirect', () => {
  it.concurrent.each([301, 302, 303, 307, 308])(
    'with %i is not followed, and the delivery is attempted again',
    async (code) => {
      await using inside = await aReceiver();
      await using receiver = await aReceiver(status(code, { location: `${inside.url}/admin` }));
      const key = await bed.succeed(`${receiver.url}/hook`);
      const { attempts: tries, state } = await retryOf(bed, key);
      expect(tries).toMatchObject([
        { reason: 'redirect', status: code, message: expect.stringMatching(/Redirects are not followed/) },
      ]);
      expect(state).toMatchObject({ state: 'retrying', tries: 1 });
      expect(inside.arrived).toEqual([]);
    },
  );
});
