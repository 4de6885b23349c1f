import { describe, expect, it } from 'vitest';
import { DeliveryAttempt, DeliveryState } from '../../src/deliveries/delivery-attempts.ts';
import { compiledSchema } from '../../src/compiled-schema.ts';
import { parseWebhookEvent, WEBHOOK_EVENT_TYPES } from '../../src/events/webhook-event.ts';
import { NO_CONTENT } from '../../src/slices/slice.ts';
import { redactionOf } from '../../src/slices/redaction-rules.ts';
import {
  redactedDeliveryAttempt,
  redactedDeliveryState,
  redactedWebhookEvent,
} from '../../src/slices/redacted-events.ts';
import { ALL_CONTENT, pseudonym } from '../fixtures/slice-content.ts';
import { aWebhookEvent } from '../fixtures/webhook-events.ts';

const nothing = redactionOf(NO_CONTENT, pseudonym);
const all = redactionOf(ALL_CONTENT, pseudonym);
const PLANTED = 'planted';

const attempt: DeliveryAttempt = {
  version: 1,
  notification: 'final',
  webhook_id: 'msg_1',
  round: 1,
  try: 2,
  url: `https://${PLANTED}.example/hook?[hidden]`,
  started_at: '2026-01-01T00:00:00.000Z',
  phases: { dns: 0.1, connect: null, tls: null, wait: null, body: null },
  reason: 'server_error',
  message: PLANTED,
  status: 503,
  answer: PLANTED,
};
const state: DeliveryState = {
  version: 1,
  round: 1,
  state: 'retrying',
  tries: 2,
  next_try_at: '2026-01-01T00:00:00.000Z',
  last_reason: 'server_error',
  message: PLANTED,
  at: '2026-01-01T00:00:00.000Z',
};

describe('a webhook fact without content', () => {
  it.each(WEBHOOK_EVENT_TYPES)('%s matches its schema, and has no text', (type) => {
    const event = aWebhookEvent(type);
    const shown = redactedWebhookEvent(event, nothing);
    expect(parseWebhookEvent(shown)).toMatchObject({ kind: 'event' });
    expect(shown).toEqual({
      ...event,
      correlation_id: 'left_out',
      traceparent: null,
      data: { ...event.data, ...('message' in event.data && { message: '' }) },
    });
    expect(redactedWebhookEvent(event, all)).toEqual(event);
  });
});

describe('the outcome of a delivery attempt without content', () => {
  it('tells when which receiver answered what, and not where it is and what it said', () => {
    const shown = redactedDeliveryAttempt(attempt, nothing);
    const url = `https://${pseudonym(`https://${PLANTED}.example`)}.invalid/`;
    expect(shown).toEqual({ ...attempt, url, message: '', answer: null });
    expect(compiledSchema(DeliveryAttempt).Check(shown)).toBe(true);
    expect(redactedDeliveryAttempt(attempt, all)).toEqual(attempt);
  });

  it('has the state of the delivery, without its text', () => {
    const shown = redactedDeliveryState(state, nothing);
    expect(shown).toEqual({ ...state, message: null });
    expect(compiledSchema(DeliveryState).Check(shown)).toBe(true);
    expect(redactedDeliveryState(state, all)).toEqual(state);
  });
});
