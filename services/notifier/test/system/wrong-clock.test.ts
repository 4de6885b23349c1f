import { shiftedClock } from '@runledger/testing/shifted-clock';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { aReceiver, status } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBedOnOwnBroker } from '../fixtures/test-bed.ts';
import { FIRST_WAIT_MS } from '../fixtures/attempts-of.ts';
import { startNotifier } from '../fixtures/notifier-process.ts';

const HOUR_MS = 3_600_000;
/** Receivers refuse signatures that are further off. */
const TOLERANCE_MS = 300_000;

describe('a notifier whose clock is wrong', { timeout: 90_000 }, () => {
  it.concurrent.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])(
    'by an hour (%s) sends again at the right time, and signs with a time that receivers accept',
    async (_way, shiftMs) => {
      await using bed = await openTestBedOnOwnBroker();
      await using receiver = await aReceiver((arrived, response) => {
        const isFirst = receiver.of(arrived.payload.run_id).length === 1;
        status(isFirst ? 500 : 200)(arrived, response);
      });
      await using notifier = await startNotifier(bed, shiftedClock(shiftMs));
      const key = await bed.succeed(`${receiver.url}/hook`);
      await waitFor('it to be settled', async () => (await bed.webhook(key))?.status === 'success');
      const [first, second] = receiver.of(key.run_id);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(FIRST_WAIT_MS.least);
      for (const { headers } of receiver.arrived) {
        const signed = Number(headers['webhook-timestamp']) * 1_000;
        expect(Math.abs(signed - Date.now())).toBeLessThan(TOLERANCE_MS);
      }
      expect(await notifier.stop()).toBe(0);
    },
  );
});
