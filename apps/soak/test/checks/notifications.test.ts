import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { webhookGivenUp, webhookStarted } from '@runledger/testing/events/webhook-events';
import { queued } from '@runledger/testing/events/run-events';
import { describe, expect, it } from 'vitest';
import { notifications } from '../../src/checks/notifications.ts';
import type { Received } from '../../src/clients/client-records.ts';
import { arrived, aSoak, EVENTS, INPUTS, RUN } from '../fixtures/a-soak.ts';

const untold = EVENTS.slice(0, 4);
const says = (
  received: readonly Received[],
  events: readonly (RunEvent | WebhookEvent)[] = EVENTS,
): string[] => notifications(aSoak({ events, records: { received } })).map((one) => one.says);

describe('notifications', () => {
  it('come in order, and the final one at least once', () => {
    expect(says([arrived(2, 1), arrived(4, 3), arrived(4.5, 4), arrived(5, 4)])).toEqual([]);
  });

  it('are delivered when the log says so', () => {
    const never = 'The log says that the end was delivered, and the receiver accepted no such notification.';
    expect(says([])).toEqual([never]);
    expect(says([arrived(4.5, 4, 500), arrived(5, 4, null)])).toEqual([never]);
  });

  it('are settled in the end', () => {
    expect(says([arrived(5, 4)], untold)).toEqual(['Its delivery is not settled: nothing was said of it.']);
    expect(says([], [...untold, webhookStarted(RUN)])).toEqual(['Its delivery is not settled: running.']);
  });

  it('are given up when the receiver says that it is gone', () => {
    const givenUp = [...untold, webhookGivenUp(RUN, 1, { reason: 'gone' })];
    expect(says([arrived(5, 4, 410)], givenUp)).toEqual([]);
    expect(says([arrived(5, 4, 500)], givenUp)).toEqual([
      'The log says that it was given up (gone), and the receiver never said that it is gone.',
    ]);
  });

  it('never tell an earlier state after a later one, and nothing after the final one', () => {
    expect(says([arrived(3, 3), arrived(3.5, 2), arrived(5, 4)])).toEqual([
      'After running (3) came started (2).',
    ]);
    expect(says([arrived(5, 4), arrived(6, 3)])).toEqual(['After success (4) came running (3).']);
  });

  it('tell one end', () => {
    expect(says([arrived(5, 4), { ...arrived(6, 4), webhookId: 'another' }])).toEqual([
      'Its end was told as 2 messages: final, another.',
    ]);
  });

  it('tell what was so', () => {
    const lie = arrived(3, 3);
    expect(says([{ ...lie, payload: { ...lie.payload, status: 'uploading' } }, arrived(5, 4)])).toEqual([
      'A notification says uploading at 3, where the log says running.',
    ]);
  });

  it('come of runs with a webhook alone', () => {
    const silent = [queued(RUN, { inputs: INPUTS }), ...untold.slice(1)];
    expect(says([], silent)).toEqual([]);
    expect(says([arrived(5, 4)], silent)).toEqual(['It has no webhook, and was notified of.']);
    const stray = arrived(5, 4);
    expect(says([arrived(5, 4), { ...stray, payload: { ...stray.payload, run_id: 'nobody' } }])).toEqual([
      '1 notifications came of a run that the log does not have.',
    ]);
  });
});
