import { ReceiversQuery, WebhookReceivers } from '@runledger/contracts/http/webhooks/receivers';
import { operation, route, type Route } from '../http/operation.ts';
import type { ReadReceivers } from './read-receivers.ts';

const listReceiversOperation = operation({
  id: 'listReceivers',
  method: 'GET',
  path: '/webhooks/receivers',
  tag: 'Webhooks',
  summary: 'List the receivers of webhooks',
  description:
    'Each origin to which the organisation has or had webhooks lately, as the notifier that sends them knows it: whether its circuit breaker is open and when the next attempt is let through, how much waits, what holds it up, and what became of the last attempts. What a notifier knows of attempts begins when it starts or takes the receiver over. Numbers are those of the organisation only. It responds within two seconds: when a notifier has not responded by then, `complete` is false.',
  scope: 'runs:read',
  request: { query: ReceiversQuery },
  response: { status: 200, description: 'The receivers.', body: WebhookReceivers },
  refusals: [],
});

export const receiversRoute = (read: ReadReceivers): Route =>
  route(listReceiversOperation, ({ query }, caller) => read(caller.org_id, query.host?.toLowerCase()));
