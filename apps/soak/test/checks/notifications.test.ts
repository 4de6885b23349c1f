import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { notifications } from '../../src/checks/notifications.ts';
import type { ReceivedNotification } from '../../src/clients/client-records.ts';
import { arrived, aSoak, EVENTS, INPUTS, RUN } from '../fixtures/a-soak.ts';

const notNotified = EVENTS.slice(0, 4);
const messagesOf = (
  received: readonly ReceivedNotification[],
  events: readonly (RunEvent | WebhookEvent)[] = EVENTS,
): string[] => notifications(aSoak({ events, records: { received } })).map((one) => one.message);

describe('notifications', () => {
  it('arrive in order, and the final one at least once', () => {
    expect(messagesOf([arrived(2, 1), arrived(4, 3), arrived(4.5, 4), arrived(5, 4)])).toEqual([]);
  });

  it('are delivered if the log has the fact of the delivery', () => {
    const never = 'The log says that the final notification was delivered, but the receiver accepted none.';
    expect(messagesOf([])).toEqual([never]);
    expect(messagesOf([arrived(4.5, 4, 500), arrived(5, 4, null)])).toEqual([never]);
  });

  it('are settled in the end', () => {
    expect(messagesOf([arrived(5, 4)], notNotified)).toEqual([
      'Its delivery is not settled: the log has no webhook fact.',
    ]);
    expect(messagesOf([], [...notNotified, webhookStarted(RUN)])).toEqual([
      'Its delivery is not settled: running.',
    ]);
  });

  it('fail when the receiver answers 410', () => {
    const givenUp = [...notNotified, webhookGivenUp(RUN, 1, { reason: 'gone' })];
    expect(messagesOf([arrived(5, 4, 410)], givenUp)).toEqual([]);
    expect(messagesOf([arrived(5, 4, 500)], givenUp)).toEqual([
      'The log says that the delivery failed (gone in round 1, after 13 attempts), but the receiver never answered 410.',
    ]);
  });

  it('never show an earlier state after a later one, and none follows the final one', () => {
    expect(messagesOf([arrived(3, 3), arrived(3.5, 2), arrived(5, 4)])).toEqual([
      'started (2) arrived after running (3).',
    ]);
    expect(messagesOf([arrived(5, 4), arrived(6, 3)])).toEqual(['running (3) arrived after success (4).']);
  });

  it('have one final message', () => {
    expect(messagesOf([arrived(5, 4), { ...arrived(6, 4), webhookId: 'another' }])).toEqual([
      'Its final notification has 2 ids: final, another.',
    ]);
  });

  it('agree with the log', () => {
    const lie = arrived(3, 3);
    expect(messagesOf([{ ...lie, payload: { ...lie.payload, status: 'uploading' } }, arrived(5, 4)])).toEqual(
      ['A notification says uploading at 3, but the log says running.'],
    );
  });

  it('arrive only for runs with a webhook', () => {
    const withoutWebhook = [queued(RUN, { inputs: INPUTS }), ...notNotified.slice(1)];
    expect(messagesOf([], withoutWebhook)).toEqual([]);
    expect(messagesOf([arrived(5, 4)], withoutWebhook)).toEqual([
      'It has no webhook, but a notification arrived.',
    ]);
    const stray = arrived(5, 4);
    expect(
      messagesOf([arrived(5, 4), { ...stray, payload: { ...stray.payload, run_id: 'unknown' } }]),
    ).toEqual(['1 notifications arrived for a run that the log does not have.']);
  });
});
