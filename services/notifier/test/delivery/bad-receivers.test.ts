import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';
import { BAD_RECEIVERS, WITHIN_MS } from '../fixtures/bad-receivers.ts';
import { FIRST_WAIT_MS, retryOf } from '../fixtures/attempts-of.ts';
import { expectSoon } from '../fixtures/expect-soon.ts';
import type { Receiver } from '../sending/receivers.ts';
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
