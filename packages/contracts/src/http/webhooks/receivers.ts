import { Type, type Static } from 'typebox';
import { MAX_LISTED_RECEIVERS, ReceiverState } from '../../requests/receivers.ts';

const Host = {
  examples: ['hooks.example.com'],
  description: 'Its host, with the port unless it is the default port: the `host` of its deliveries.',
};

const WebhookReceiver = Type.Object(
  { host: Type.String(Host), ...ReceiverState.properties },
  {
    title: 'WebhookReceiver',
    description: 'One origin to which the organisation has webhooks, as its notifier knows it.',
  },
);

export const ReceiversQuery = Type.Object({
  host: Type.Optional(
    Type.String({
      minLength: 1,
      examples: ['hooks.example.com'],
      description: 'Only receivers at this host, with the port unless it is the default port.',
    }),
  ),
});

export const WebhookReceivers = Type.Object(
  {
    complete: Type.Boolean({
      description:
        'Whether the notifiers of all receivers responded in time. If not, receivers may be missing: a notifier is starting, takes over from another one, or is down.',
      examples: [true],
    }),
    receivers: Type.Array(WebhookReceiver, {
      description:
        'Those with an open breaker first, then those that are probed, then those that fail; each in the order of their origins.',
    }),
    more: Type.Boolean({
      description: `Whether there are more than ${MAX_LISTED_RECEIVERS}. \`host\` finds each of them.`,
      examples: [false],
    }),
  },
  { title: 'WebhookReceivers', description: 'The receivers of the webhooks of an organisation.' },
);
export type WebhookReceivers = Static<typeof WebhookReceivers>;
