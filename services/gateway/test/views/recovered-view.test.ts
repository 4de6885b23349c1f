import { EMPTY_HISTORY, type StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import {
  lifecycleFilter,
  runEventSubject,
  webhookEventSubject,
  webhookFilter,
} from '@runledger/contracts/events/subjects';
import { aRun, assigned, deleted, expired, queued, started, succeeded } from '@runledger/testing/run-events';
import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { recoveredView } from '../../src/views/recovered-view.decide.ts';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { aView, folded, timeOf } from '../fixtures/runs/folded-runs.ts';

const key = aRun();
const HOOK = { webhook: 'https://hooks.example/done' };
const events = [queued(key, HOOK), assigned(key), started(key), succeeded(key, [anOutput])] as const;

const message = (sequence: number, expectedSequence: number, event: RunEvent): StoredMessage => ({
  subject: runEventSubject(event),
  sequence,
  time: timeOf(sequence),
  fence: lifecycleFilter(key),
  expectedSequence,
  body: event,
});
const webhookMessage = (sequence: number, expectedSequence: number, event: WebhookEvent): StoredMessage => ({
  subject: webhookEventSubject(event),
  sequence,
  time: timeOf(sequence),
  fence: webhookFilter(key),
  expectedSequence,
  body: event,
});

const life = events.map((event, at) => message(at + 1, at, event));
const running = aView(3, folded(...events.slice(0, 3)));
const ended = aView(4, folded(...events));

describe('the view of a run that was missed', () => {
  it('is made of all its messages, whatever the present one says', () => {
    const webhook = [webhookMessage(5, 0, webhookStarted(key)), webhookMessage(6, 5, webhookDelivered(key))];
    for (const present of [undefined, running, ended])
      expect(recoveredView(present, { life, webhook })).toMatchObject({
        head: 4,
        run: { status: 'success' },
        webhook: { head: 6, state: { status: 'success' } },
      });
  });

  it('goes on from the present one, when that has what archive and log have lost', () => {
    expect(recoveredView(running, { life: life.slice(3), webhook: [] })).toEqual(ended);
    expect(recoveredView(undefined, { life: life.slice(3), webhook: [] })).toBeUndefined();
  });

  it('has the end that is left behind facts that are lost for good, and what follows it', () => {
    const [waits, starts] = [1, 2].map((head) => aView(head, folded(...events.slice(0, head))));
    const webhook = [webhookMessage(5, 0, webhookStarted(key)), webhookMessage(6, 5, webhookDelivered(key))];
    expect(recoveredView(starts, { life: life.slice(3), webhook })).toMatchObject({
      head: 4,
      run: { status: 'success', outputs: [anOutput], started_at: null, attempt: { number: 1 } },
      webhook: { head: 6, state: { status: 'success' } },
    });
    expect(recoveredView(waits, { life: life.slice(3), webhook: webhook.slice(1) })).toMatchObject({
      head: 4,
      run: { status: 'success', outputs: [anOutput], attempt: null },
      webhook: EMPTY_HISTORY,
    });
    const deletion = message(7, 4, deleted(key));
    expect(recoveredView(waits, { life: [...life.slice(3), deletion], webhook: [] })).toMatchObject({
      head: 7,
      run: { status: 'deleted', to_erase: { outputs: [anOutput] } },
    });
    expect(recoveredView(waits, { life: life.slice(2, 3), webhook: [] })).toBeUndefined();
  });

  it('has the present state of notifications of which facts are lost', () => {
    const delivered = [webhookMessage(6, 5, webhookDelivered(key))];
    expect(recoveredView(running, { life, webhook: delivered })).toEqual({
      ...ended,
      webhook: EMPTY_HISTORY,
    });
  });

  it.each([
    ['behind the end', 4],
    ['when the log had nothing of the run any more', 0],
  ])('knows what a deletion erases, which was stored %s', (_when, expectedSequence) => {
    const deletion = [message(9, expectedSequence, deleted(key))];
    expect(recoveredView(ended, { life: deletion, webhook: [] })).toMatchObject({
      head: 9,
      run: { status: 'deleted', to_erase: { outputs: [anOutput] } },
    });
    expect(recoveredView(undefined, { life: deletion, webhook: [] })).toMatchObject({
      run: { status: 'deleted' },
    });
  });

  it('has the first end of a run that has an expiry behind it', () => {
    const second = message(9, 0, expired(key));
    expect(recoveredView(running, { life: [...life, second], webhook: [] })).toEqual({ ...ended, head: 9 });
    expect(recoveredView(ended, { life: [second], webhook: [] })).toEqual({ ...ended, head: 9 });
  });

  it('has expired when facts before the expiry are lost for good, unless an end is left of a run that is known', () => {
    const late = aView(1, folded(...events.slice(0, 1)));
    const expiry = message(9, 0, expired(key));
    const messages = { life: [...life.slice(3), expiry], webhook: [] };
    expect(recoveredView(undefined, messages)).toMatchObject({
      head: 9,
      run: { status: 'failed', end_reason: 'log_expired' },
    });
    expect(recoveredView(late, messages)).toMatchObject({ head: 9, run: { status: 'success' } });
    expect(recoveredView(late, { life: [...life.slice(2, 3), expiry], webhook: [] })).toMatchObject({
      head: 9,
      run: { status: 'failed', end_reason: 'log_expired' },
    });
  });

  it('has not expired when the archive and the log have nothing of the run', () => {
    expect(recoveredView(running, { life: [], webhook: [] })).toBeUndefined();
  });
});
