import { describe, expect, it } from 'vitest';
import { isSettled, isUnsettled, evolveWebhook, roundOf, type Webhook } from '../../src/fold/webhook.ts';
import { isImpossible } from '../../src/fold/chain.ts';
import { evolveRun } from '../../src/fold/evolve-run.ts';
import { WEBHOOK_EVENT_TYPES, type WebhookEvent } from '../../src/events/webhook-event.ts';
import { anEvent, factOf, runAfter, timeOf } from '../fixtures/run-events.ts';
import { aWebhookEvent, webhookFactOf } from '../fixtures/webhook-events.ts';

const given = (...events: WebhookEvent[]): Webhook | undefined => {
  let webhook: Webhook | undefined;
  for (const [index, event] of events.entries()) {
    const next = evolveWebhook(webhook, webhookFactOf(event, index + 1));
    if ('impossible' in next) throw new Error(`the test's own history is impossible: ${next.impossible}`);
    webhook = next;
  }
  return webhook;
};

const started = aWebhookEvent('WebhookStarted');
const delivered = aWebhookEvent('WebhookDelivered');
const givenUp = aWebhookEvent('WebhookGivenUp');
const askedAgain = aWebhookEvent('WebhookRedeliveryRequested');

const begun = [
  anEvent('RunQueued', { webhook: 'https://hooks.example/done' }),
  anEvent('RunAssigned'),
  anEvent('RunStarted'),
];
const ended = [...begun, anEvent('RunSucceeded')];

const SITUATIONS = {
  'nothing was sent': [],
  'a delivery is under way': [started],
  'it was delivered': [started, delivered],
  'it was given up': [started, givenUp],
  'a redelivery is under way': [started, givenUp, askedAgain],
  'the redelivery was delivered': [started, givenUp, askedAgain, aWebhookEvent('WebhookDelivered', 2)],
  'the redelivery was given up': [started, delivered, askedAgain, aWebhookEvent('WebhookGivenUp', 2)],
} as const satisfies Record<string, readonly WebhookEvent[]>;

type Situation = keyof typeof SITUATIONS;

/** Everything that may follow, by event and round. All else is impossible. */
const FOLLOWS: Record<Situation, Readonly<Record<string, Webhook['status']>>> = {
  'nothing was sent': {
    'WebhookStarted 1': 'running',
    'WebhookDelivered 1': 'success',
    'WebhookGivenUp 1': 'failed',
    // The log has lost the facts of its rounds.
    'WebhookExpired 1': 'failed',
    'WebhookExpired 2': 'failed',
    'WebhookExpired 3': 'failed',
    'WebhookExpired 4': 'failed',
    'WebhookRedeliveryRequested 2': 'running',
  },
  'a delivery is under way': {
    'WebhookDelivered 1': 'success',
    'WebhookGivenUp 1': 'failed',
    'WebhookExpired 1': 'failed',
    'WebhookRedeliveryRequested 2': 'running',
  },
  'it was delivered': { 'WebhookRedeliveryRequested 2': 'running' },
  'it was given up': { 'WebhookRedeliveryRequested 2': 'running' },
  'a redelivery is under way': {
    'WebhookDelivered 2': 'success',
    'WebhookGivenUp 2': 'failed',
    'WebhookExpired 2': 'failed',
    'WebhookRedeliveryRequested 3': 'running',
  },
  'the redelivery was delivered': { 'WebhookRedeliveryRequested 3': 'running' },
  'the redelivery was given up': { 'WebhookRedeliveryRequested 3': 'running' },
};

const situations = Object.keys(SITUATIONS) as Situation[];
const cases = situations.flatMap((situation) =>
  WEBHOOK_EVENT_TYPES.flatMap((type) => [1, 2, 3, 4].map((round) => ({ situation, type, round }))),
);

describe('the next state in every situation', () => {
  it.each(cases)('$situation: $type of round $round', ({ situation, type, round }) => {
    const before = given(...SITUATIONS[situation]);
    const next = evolveWebhook(before, webhookFactOf(aWebhookEvent(type, round), 9));
    const outcome = 'impossible' in next ? 'impossible' : next.status;
    expect(outcome).toBe(FOLLOWS[situation][`${type} ${round}`] ?? 'impossible');
    expect('impossible' in next ? next.impossible : next.updated_at).toContain(
      'impossible' in next ? `${type} of round ${round}` : timeOf(9),
    );
    expect('impossible' in next || next.round === round).toBe(true);
  });
});

describe('a delivery', () => {
  it('is in its first round, and not settled, before anything is sent', () => {
    expect(roundOf(undefined)).toBe(1);
    expect(isSettled(undefined)).toBe(false);
  });

  it('is settled after success or giving up, until a redelivery is requested', () => {
    expect(isSettled(given(started))).toBe(false);
    expect(isSettled(given(started, delivered))).toBe(true);
    expect(isSettled(given(started, givenUp))).toBe(true);
    expect(isSettled(given(started, givenUp, askedAgain))).toBe(false);
  });

  it('is unsettled from the end of its run on, until it is settled', () => {
    const run = runAfter(...ended);
    expect(isUnsettled(runAfter(...begun), given(started))).toBe(false);
    expect(isUnsettled(run, undefined)).toBe(true);
    expect(isUnsettled(run, given(started))).toBe(true);
    expect(isUnsettled(run, given(started, delivered))).toBe(false);
    expect(isUnsettled(run, given(started, givenUp, askedAgain))).toBe(true);
  });

  it('is never unsettled without a webhook or after the deletion of its run', () => {
    const [, ...others] = ended;
    expect(isUnsettled(runAfter(anEvent('RunQueued'), ...others), undefined)).toBe(false);
    const deleted = evolveRun(runAfter(...ended), factOf(anEvent('RunDeleted'), 9));
    expect(!isImpossible(deleted) && isUnsettled(deleted, undefined)).toBe(false);
  });

  it('keeps the number of attempts', () => {
    expect(given(delivered)).toEqual({ status: 'success', round: 1, tries: 2, updated_at: timeOf(1) });
  });

  it('keeps the reason why it was given up', () => {
    expect(given(started, givenUp)).toEqual({
      status: 'failed',
      round: 1,
      tries: 13,
      reason: 'tries_used_up',
      last_reason: 'server_error',
      message: 'the receiver answered 503',
      updated_at: timeOf(2),
    });
  });

  it('drops this reason when a redelivery is requested', () => {
    expect(given(started, givenUp, askedAgain)).toEqual({
      status: 'running',
      round: 2,
      updated_at: timeOf(3),
    });
  });

  it('names an impossible fact and the state that it cannot follow', () => {
    const next = evolveWebhook(given(started, delivered), webhookFactOf(givenUp, 3));
    expect(next).toEqual({
      impossible: 'WebhookGivenUp of round 1 cannot follow a delivery that is success in round 1',
    });
  });
});
