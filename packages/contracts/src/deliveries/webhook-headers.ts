import { WEBHOOK_PAYLOAD_VERSION } from './webhook-payload.ts';

interface WebhookHeader {
  /** What docs/events.md says of it. */
  readonly is: string;
  /** What the OpenAPI document says of it. Left out of what any request over HTTP has. */
  readonly documented?: {
    readonly description: string;
    readonly schema: Readonly<Record<string, unknown>>;
  };
}

/**
 * Every header of a notification, once. The notifier sends these and no others, or it does not compile; docs/events.md, the OpenAPI document
 * and `runledger listen` are made from them.
 */
export const WEBHOOK_HEADERS = {
  'content-type': { is: '`application/json`' },
  'user-agent': { is: '`Runledger`' },
  'webhook-id': {
    is: 'the same on every retry and redelivery of a final notification; different for each intermediate notification',
    documented: {
      description: 'The same in every delivery attempt of a notification.',
      schema: { type: 'string', examples: ['msg_01a21460-ae48-7794-b9bb-ade918a387db'] },
    },
  },
  'webhook-timestamp': {
    is: 'the time of this delivery attempt, in whole seconds since 1970',
    documented: {
      description: 'When this delivery attempt was signed: seconds since 1970.',
      schema: { type: 'string', pattern: String.raw`^\d+$`, examples: ['1769851800'] },
    },
  },
  'webhook-signature': {
    is: '`v1,` and base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, one for each valid secret, separated by spaces',
    documented: {
      description: 'One or several signatures between spaces, each `v1,` and base64.',
      schema: { type: 'string', examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='] },
    },
  },
  'runledger-webhook-version': {
    is: `\`${WEBHOOK_PAYLOAD_VERSION}\``,
    documented: {
      description: 'The version of the body.',
      schema: { type: 'string', const: String(WEBHOOK_PAYLOAD_VERSION) },
    },
  },
} as const satisfies Readonly<Record<string, WebhookHeader>>;

export type WebhookHeaders = Readonly<Record<keyof typeof WEBHOOK_HEADERS, string>>;

/** Those that receivers read. */
export const DOCUMENTED_WEBHOOK_HEADERS = Object.entries<WebhookHeader>(WEBHOOK_HEADERS).flatMap(
  ([name, { documented }]) => (documented ? [{ name, ...documented }] : []),
);
