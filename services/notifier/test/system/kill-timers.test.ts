import { newUuid } from '@runledger/contracts/ids';
import { aLogOnOwnBroker } from '@runledger/event-log/test/fixtures/test-log';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { findPending, scheduleDelivery } from '../../src/timers.ts';

describe('a delivery that waits', () => {
  it('survives a kill -9 of the broker', async () => {
    await using own = await aLogOnOwnBroker();
    const delivery = {
      version: 1,
      org_id: newUuid(),
      run_id: newUuid(),
      origin: `https://${newUuid()}.example`,
      round: 1,
      tries: 1,
      due_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-07T00:00:00.000Z',
      sequence: 7,
    } as const;
    await scheduleDelivery(own.log, delivery, new Date(Date.now() + 1_500));
    await own.nats.kill9();
    await own.nats.restart();
    const pending = await waitFor('what is pending', () => findPending(own.log, delivery));
    expect(pending.delivery).toEqual(delivery);
  });
});
