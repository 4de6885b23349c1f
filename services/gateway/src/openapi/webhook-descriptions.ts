import { WebhookPayload, WEBHOOK_PAYLOAD_VERSION } from '@runledger/contracts/deliveries/webhook-payload';
import type { Components, JsonSchema } from './components.ts';

const header = (name: string, description: string, schema: JsonSchema): JsonSchema => ({
  name,
  in: 'header',
  required: true,
  description,
  schema,
});

/** What the service sends to the webhook of a run. */
export const webhookDescriptions = (schemas: Components): JsonSchema => ({
  runNotification: {
    post: {
      operationId: 'receiveRunNotification',
      tags: ['Webhooks'],
      summary: 'A run tells where it is',
      description:
        'Sent at its end, and on the way if `webhook_intermediate_status` was asked for. Signed as Standard Webhooks prescribes. The final one is sent again until it is accepted or given up, always with the same `webhook-id`; nothing about a run follows it.',
      security: [],
      parameters: [
        header('webhook-id', 'The same in every try of a notification.', { type: 'string' }),
        header('webhook-timestamp', 'When this try was signed: seconds since 1970.', {
          type: 'string',
          pattern: '^\\d+$',
        }),
        header('webhook-signature', 'One or several signatures between spaces, each `v1,` and base64.', {
          type: 'string',
        }),
        header('runledger-webhook-version', 'Of the body.', {
          type: 'string',
          const: String(WEBHOOK_PAYLOAD_VERSION),
        }),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.of(WebhookPayload) } },
      },
      responses: {
        '2XX': { description: 'It is accepted, and not sent again.' },
        '410': { description: 'The receiver wants no more of it: it is given up.' },
        default: { description: 'It is sent again later.' },
      },
    },
  },
});
