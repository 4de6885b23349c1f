import { newUuid } from '@runledger/contracts/ids';
import { evolveWebhook, type Webhook } from '@runledger/contracts/fold/webhook';
import { MAX_ROUNDS } from '@runledger/contracts/events/webhook-event';
import { assigned, aRun, cancelRequested, failed, queued, started } from '@runledger/testing/run-events';
import { webhookDelivered, webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { redeliver } from '../../../src/runs/redeliver.decide.ts';
import { folded, foldedWebhook, timeOf } from '../../fixtures/runs/folded-runs.ts';

const key = aRun();
const user_id = newUuid();
const envelope = {
  event_id: newUuid(),
  ...key,
  time: '2026-01-01T00:00:00.000Z',
  writer: { service: 'gateway', instance: 'one' },
  traceparent: null,
};
const webhook = 'https://hooks.example/';
const ended = folded(queued(key, { webhook }), assigned(key), started(key), failed(key));
const decide = (run = ended, present?: Webhook) => redeliver(run, present, { user_id }, envelope);

describe('a redelivery', () => {
  it.each([
    ['no notification was sent yet', []],
    ['it is under way', [webhookStarted(key)]],
    ['it was accepted', [webhookDelivered(key)]],
    ['it was given up', [webhookStarted(key), webhookGivenUp(key)]],
  ])('is stored when %s', (_name, facts) => {
    const present = foldedWebhook(10, ...facts).state;
    const decision = decide(ended, present);
    if (decision.kind !== 'append') throw new Error(decision.because);
    const { event } = decision;
    expect(event).toMatchObject({ round: 2, data: { user_id }, correlation_id: 'request-1' });
    const next = evolveWebhook(present, { event, sequence: 11, time: timeOf(11) });
    expect(next).toMatchObject({ status: 'running', round: 2 });
  });

  it('is allowed for a cancelled run, as for any other that has ended', () => {
    const run = folded(queued(key, { webhook }), cancelRequested(key));
    expect(decide(run)).toMatchObject({ kind: 'append' });
  });

  it('is refused without a webhook, before the end, and beyond the last round', () => {
    expect(decide(folded(queued(key), cancelRequested(key)))).toEqual({
      kind: 'refused',
      because: 'no_webhook',
    });
    expect(decide(folded(queued(key, { webhook }), assigned(key)))).toEqual({
      kind: 'refused',
      because: 'not_ended',
    });
    const at = (round: number): Webhook => ({ status: 'running', round, updated_at: timeOf(9) });
    expect(decide(ended, at(MAX_ROUNDS - 1))).toMatchObject({ kind: 'append', event: { round: MAX_ROUNDS } });
    expect(decide(ended, at(MAX_ROUNDS))).toEqual({ kind: 'refused', because: 'rounds_used_up' });
  });
});
