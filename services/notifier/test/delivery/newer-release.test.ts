import { head } from '@runledger/event-log/read/read-run';
import {
  assigned,
  failed,
  LATER_TYPE,
  queued,
  requeued,
  started,
  storeOfLaterType,
  succeeded,
} from '@runledger/testing/run-events';
import { redeliveryRequested } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { aReceiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type TestBed } from '../fixtures/test-bed.ts';

/** Why a notifier that begins there stops reading. */
const whyStopped = async (bed: TestBed): Promise<string> => {
  await using running = await bed.start();
  return await waitFor('the notifier to stop reading', () => {
    const state = running.notifier.state();
    return !state.ok && state.why;
  });
};

describe('a fact of a later release', () => {
  it('stops the notifier, which reports the reason', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`);
    const later = assigned(key, { data: { fact_versions: { RunSucceeded: 2 } } });
    await bed.happen(key, later, started(key), { ...succeeded(key), version: 2 });
    expect(await whyStopped(bed)).toContain('RunSucceeded in version 2, which this release cannot read');
    // A run's first fact, which says where its notifications go.
    await using another = await openTestBed();
    await another.happen(key, { ...queued(key), version: 2 });
    expect(await whyStopped(another)).toContain('RunQueued in version 2, which this release cannot read');
    expect(receiver.arrived).toEqual([]);
  });

  it('does not stop it when an executor wrote it that may not: the end behind it is notified, and those of others', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`, { webhook_intermediate_status: true });
    await bed.happen(key, assigned(key), started(key), { ...succeeded(key), version: 99 });
    await using running = await bed.start();
    const other = await bed.succeed(`${receiver.url}/hook`);
    await waitFor('the end of the other run', async () => (await bed.webhook(other))?.status === 'success');
    expect((await bed.webhook(key))?.status).not.toBe('success');
    await bed.happen(key, failed(key));
    await waitFor('its end', async () => (await bed.webhook(key))?.status === 'success');
    expect(running.notifier.state()).toEqual({ ok: true });
  });

  it('stops the notifier with a type that a service has added, and not with one that an executor made up', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`);
    await bed.happen(key, assigned(key), started(key));
    await storeOfLaterType(bed.log, succeeded(key), await head(bed.log, key));
    const other = await bed.succeed(`${receiver.url}/hook`);
    {
      await using running = await bed.start();
      await waitFor('the end of the other run', async () => (await bed.webhook(other))?.status === 'success');
      expect(running.notifier.state()).toEqual({ ok: true });
    }
    await storeOfLaterType(bed.log, requeued(key), await head(bed.log, key));
    expect(await whyStopped(bed)).toContain(`${LATER_TYPE} in version 1, which this release cannot read`);
  });

  it('stops the notifier when it is a redelivery request', async () => {
    await using bed = await openTestBed();
    await using receiver = await aReceiver();
    const key = await bed.succeed(`${receiver.url}/hook`);
    await bed.happenTo(key, { ...redeliveryRequested(key), version: 2 });
    expect(await whyStopped(bed)).toContain(
      'WebhookRedeliveryRequested in version 2, which this release cannot read',
    );
  });
});
