import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  WEBHOOK_EVENTS,
  type WebhookEventOf,
  type WebhookEventType,
} from '@runledger/contracts/events/webhook-event';

/** Facts about a run's notifications as the services write them, for tests that append facts. */

const event = <Type extends WebhookEventType>(
  type: Type,
  { org_id, run_id }: RunKey,
  round: number,
  data: WebhookEventOf<Type>['data'],
): WebhookEventOf<Type> =>
  // The compiler does not see that an envelope with this type's data is this type's event.
  ({
    type,
    version: WEBHOOK_EVENTS[type].schema.properties.version.const,
    event_id: newUuid(),
    run_id,
    org_id,
    time: '2026-01-01T00:00:00.000Z',
    writer: { service: WEBHOOK_EVENTS[type].writer, instance: 'test' },
    correlation_id: 'request-1',
    causation_id: null,
    traceparent: null,
    round,
    data,
  }) as unknown as WebhookEventOf<Type>;

export const webhookStarted = (
  key: RunKey,
  notification: WebhookEventOf<'WebhookStarted'>['data']['notification'] = 'final',
): WebhookEventOf<'WebhookStarted'> => event('WebhookStarted', key, 1, { notification });

export const webhookDelivered = (
  key: RunKey,
  round = 1,
  data: Partial<WebhookEventOf<'WebhookDelivered'>['data']> = {},
): WebhookEventOf<'WebhookDelivered'> =>
  event('WebhookDelivered', key, round, {
    webhook_id: `msg_${key.run_id}`,
    tries: 1,
    status: 200,
    ...data,
  });

export const webhookGivenUp = (
  key: RunKey,
  round = 1,
  data: Partial<WebhookEventOf<'WebhookGivenUp'>['data']> = {},
): WebhookEventOf<'WebhookGivenUp'> =>
  event('WebhookGivenUp', key, round, {
    webhook_id: `msg_${key.run_id}`,
    tries: 13,
    reason: 'tries_used_up',
    last_reason: 'server_error',
    status: 503,
    message: 'the receiver answered 503',
    ...data,
  });

export const webhookExpired = (key: RunKey, round = 1): WebhookEventOf<'WebhookExpired'> =>
  event('WebhookExpired', key, round, { message: 'the log no longer holds the run' });

export const redeliveryRequested = (key: RunKey, round = 2): WebhookEventOf<'WebhookRedeliveryRequested'> =>
  event('WebhookRedeliveryRequested', key, round, { user_id: '01920000-0000-7000-8000-000000000001' });
