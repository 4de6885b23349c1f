import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptMessage, EMPTY_HISTORY, type History, type StoredMessage } from '../../src/fold/chain.ts';
import { readChain } from '../../src/fold/read-chain.ts';
import { WEBHOOK_CHAIN, isSettled, type Webhook } from '../../src/fold/webhook.ts';
import { lifecycleFilter, runFilter } from '../../src/events/subjects.ts';
import { MAX_ROUNDS, WEBHOOK_EVENT_TYPES, type WebhookEventOf } from '../../src/events/webhook-event.ts';
import { anEvent, ORG, RUN, stored } from '../fixtures/run-events.ts';
import { aWebhookEvent, storedWebhook } from '../fixtures/webhook-events.ts';

const KEY = { org_id: ORG, run_id: RUN };
const started = storedWebhook(aWebhookEvent('WebhookStarted'), 14, 0);
const givenUp = storedWebhook(aWebhookEvent('WebhookGivenUp'), 17, 14);
const askedAgain = storedWebhook(aWebhookEvent('WebhookRedeliveryRequested'), 20, 17);
const delivered = storedWebhook(aWebhookEvent('WebhookDelivered', 2), 22, 20);
const chain = [started, givenUp, askedAgain, delivered];
const afterStart: History<Webhook> = {
  head: 14,
  state: { status: 'running', round: 1, updated_at: started.time },
};

describe('a whole chain of webhook facts', () => {
  it('folds to the outcome of the notifications, in any order of the messages', () => {
    expect(readChain(WEBHOOK_CHAIN, chain.toReversed())).toMatchObject({
      kind: 'whole',
      history: { head: 22, state: { status: 'success', round: 2 } },
      facts: chain.map(({ sequence }) => ({ sequence })),
      refused: [],
    });
  });

  it('without messages has head 0, which fences the first append', () => {
    const read = readChain(WEBHOOK_CHAIN, []);
    expect(read).toMatchObject({ kind: 'whole', facts: [] });
    expect(read.kind === 'whole' && read.history).toEqual(EMPTY_HISTORY);
  });
});

describe('an invalid message in a chain of webhook facts', () => {
  const forgeries: [string, string, Partial<StoredMessage>][] = [
    ['without a fence', 'forged_fence', { fence: null }],
    ['fenced on the lifecycle', 'forged_fence', { fence: lifecycleFilter(KEY) }],
    ['fenced on the whole run', 'forged_fence', { fence: runFilter(KEY) }],
    [
      'fenced on its own subject only',
      'forged_fence',
      { fence: `runs.${ORG}.${RUN}.webhook.given_up.notifier.1` },
    ],
    ['with a fence but no expected sequence', 'forged_fence', { expectedSequence: null }],
    [
      'under a subject of the lifecycle',
      'wrong_subject',
      { subject: stored(anEvent('RunQueued'), 1, 0).subject },
    ],
    [
      'under a subject with a token too many',
      'wrong_subject',
      { subject: `runs.${ORG}.${RUN}.webhook.given_up.notifier.1.more` },
    ],
    ['of another round than its subject', 'wrong_subject', { body: aWebhookEvent('WebhookGivenUp', 2) }],
    ['of another type than its subject', 'wrong_subject', { body: aWebhookEvent('WebhookDelivered') }],
    [
      'of another run than its subject',
      'wrong_subject',
      { body: { ...aWebhookEvent('WebhookGivenUp'), run_id: '01920000-0000-7000-8000-0000000000ff' } },
    ],
    [
      'of another organisation than its subject',
      'wrong_subject',
      { body: { ...aWebhookEvent('WebhookGivenUp'), org_id: '01920000-0000-7000-8000-0000000000ff' } },
    ],
    ['that is no event', 'invalid', { body: { hello: 'there' } }],
    ['that is no JSON', 'invalid', { body: undefined }],
    ['of a round that is none', 'invalid', { body: { ...aWebhookEvent('WebhookGivenUp'), round: 0 } }],
    [
      'of more rounds than there may be',
      'invalid',
      { body: { ...aWebhookEvent('WebhookGivenUp'), round: MAX_ROUNDS + 1 } },
    ],
    ['that misses a member', 'invalid', { body: { ...aWebhookEvent('WebhookGivenUp'), data: {} } }],
  ];

  it.each(forgeries)('%s is refused as %s, and becomes the head', (_what, refusal, forgery) => {
    const forged = { ...givenUp, ...forgery };
    const honest = storedWebhook(aWebhookEvent('WebhookDelivered'), 19, forged.sequence);
    expect(readChain(WEBHOOK_CHAIN, [started, forged, honest])).toMatchObject({
      kind: 'whole',
      history: { head: 19, state: { status: 'success', round: 1 } },
      refused: [{ refusal, message: { sequence: forged.sequence } }],
    });
  });

  it('is refused if it cannot follow', () => {
    const again = storedWebhook(aWebhookEvent('WebhookDelivered'), 19, 17);
    expect(readChain(WEBHOOK_CHAIN, [started, givenUp, again])).toMatchObject({
      kind: 'whole',
      history: { head: 19, state: { status: 'failed' } },
      refused: [{ refusal: 'impossible' }],
    });
  });
});

describe('a broken chain of webhook facts', () => {
  it('is reported if a fact is missing', () => {
    expect(readChain(WEBHOOK_CHAIN, [started, askedAgain])).toEqual({
      kind: 'gap',
      after: 14,
      expected: 17,
      sequence: 20,
    });
  });

  it('is reported if its beginning is missing', () => {
    expect(readChain(WEBHOOK_CHAIN, chain.slice(1))).toMatchObject({ kind: 'gap', after: 0, expected: 14 });
  });
});

describe('giving up a notification that the log has lost', () => {
  const lost = (round: number): WebhookEventOf<'WebhookGivenUp'> =>
    aWebhookEvent('WebhookGivenUp', round, { reason: 'log_expired' });
  const failed = (round: number): object => ({ status: 'failed', round, reason: 'log_expired' });

  it('ends the present round for a reader that has seen what the log lost', () => {
    expect(acceptMessage(WEBHOOK_CHAIN, afterStart, storedWebhook(lost(1), 30, 0))).toMatchObject({
      kind: 'accepted',
      history: { head: 30, state: failed(1) },
    });
    expect(acceptMessage(WEBHOOK_CHAIN, afterStart, storedWebhook(lost(2), 30, 0)).kind).toBe('refused');
  });

  it('is a whole history for a reader that has not', () => {
    for (const fence of [0, 14])
      expect(readChain(WEBHOOK_CHAIN, [storedWebhook(lost(3), 30, fence)])).toMatchObject({
        kind: 'whole',
        history: { head: 30, state: failed(3) },
      });
  });

  it('does not hide a fact that this reader has missed', () => {
    const message = storedWebhook(lost(1), 30, 17);
    expect(acceptMessage(WEBHOOK_CHAIN, afterStart, message).kind).toBe('gap');
  });
});

describe('a webhook message of a later release', () => {
  it('stops the reader if its version is newer', () => {
    const body = { ...aWebhookEvent('WebhookGivenUp'), version: 2 };
    expect(readChain(WEBHOOK_CHAIN, [started, { ...givenUp, body }])).toEqual({
      kind: 'newer_version',
      type: 'WebhookGivenUp',
      version: 2,
      sequence: 17,
    });
  });

  it('does not stop the reader under the subject of another type', () => {
    const claim = { ...aWebhookEvent('WebhookRedeliveryRequested'), version: 99 };
    expect(acceptMessage(WEBHOOK_CHAIN, afterStart, { ...givenUp, body: claim })).toMatchObject({
      kind: 'refused',
      refusal: 'wrong_subject',
    });
  });

  it('stops the reader if its type is new', () => {
    const paused = { ...givenUp, body: { type: 'WebhookPaused', version: 1 } };
    expect(readChain(WEBHOOK_CHAIN, [started, paused])).toEqual({
      kind: 'newer_version',
      type: 'WebhookPaused',
      version: 1,
      sequence: 17,
    });
  });

  it('is no run event under a webhook subject: that is refused', () => {
    const misplaced = { ...givenUp, body: anEvent('RunSucceeded') };
    expect(acceptMessage(WEBHOOK_CHAIN, afterStart, misplaced)).toMatchObject({
      kind: 'refused',
      refusal: 'wrong_subject',
      history: { head: 17 },
    });
  });
});

describe('a redelivered message', () => {
  it('changes nothing', () => {
    expect(acceptMessage(WEBHOOK_CHAIN, afterStart, started)).toEqual({ kind: 'known' });
  });
});

describe('any sequence of well-fenced webhook facts', () => {
  const anyEvent = fc
    .record({ type: fc.constantFrom(...WEBHOOK_EVENT_TYPES), round: fc.integer({ min: 1, max: 6 }) })
    .map(({ type, round }) => aWebhookEvent(type, round));

  it('leaves success or failed only by a redelivery, which alone begins a round', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        let soFar: History<Webhook> = EMPTY_HISTORY;
        for (const [index, event] of events.entries()) {
          const next = acceptMessage(WEBHOOK_CHAIN, soFar, storedWebhook(event, index + 1, index));
          if (next.kind === 'refused') {
            soFar = next.history;
            continue;
          }
          if (next.kind !== 'accepted') throw new Error(`unexpected ${next.kind}`);
          const asked = event.type === 'WebhookRedeliveryRequested';
          expect(asked || !isSettled(soFar.state)).toBe(true);
          // The first fact may say that the rounds before it are lost.
          const first = event.type === 'WebhookExpired' ? event.round : 1;
          expect(next.state.round).toBe((soFar.state?.round ?? first) + (asked ? 1 : 0));
          soFar = next.history;
        }
        expect(soFar.head).toBe(events.length);
      }),
    );
  });

  it('never throws for any message', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.option(fc.integer()), fc.string(), (body, expectedSequence, subject) => {
        const message = { ...started, body, expectedSequence, subject };
        expect(acceptMessage(WEBHOOK_CHAIN, { head: 0, state: undefined }, message).kind).toBe('refused');
      }),
    );
  });
});
