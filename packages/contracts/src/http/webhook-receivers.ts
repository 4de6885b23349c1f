import { Type, type Static } from 'typebox';
import { MAX_LISTED_RECEIVERS, ReceiverState } from '../deliveries/receivers.ts';
import { nullable, optional } from '../schemas.ts';
import { CreatedAt, time } from './fields.ts';

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

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

export const WebhookSecret = Type.Object(
  {
    secret: Type.String({
      description: 'The signing secret: `whsec_` and base64, as in Standard Webhooks.',
      examples: [SECRET],
    }),
    created_at: CreatedAt,
    previous: nullable(
      Type.Object(
        {
          secret: Type.String({ description: 'The previous secret.', examples: [SECRET] }),
          expires_at: time('Until when it also signs.'),
        },
        { description: 'The previous secret, which also signs until `expires_at`.' },
      ),
      'Null when there is none that still signs.',
    ),
  },
  { title: 'WebhookSecret', description: 'The secret that signs the notifications.' },
);

export const RotateSecretRequest = Type.Object(
  {
    overlap_s: optional(
      Type.Number({
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'Seconds for which the current secret also signs.',
        examples: [86_400],
      }),
    ),
  },
  {
    title: 'RotateSecretRequest',
    description: 'How long the current secret stays valid.',
    examples: [{ overlap_s: 86_400 }],
  },
);
