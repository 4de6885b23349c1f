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
      summary: 'The status of a run',
      description:
        'Sent when the run ends and, with `webhook_intermediate_status`, also before. Signed as Standard Webhooks prescribes. The final notification is retried until it is accepted or given up, always with the same `webhook-id`. Nothing about a run follows it.',
      security: [],
      parameters: [
        header('webhook-id', 'The same in every delivery attempt of a notification.', {
          type: 'string',
          examples: ['msg_01a21460-ae48-7794-b9bb-ade918a387db'],
        }),
        header('webhook-timestamp', 'When this delivery attempt was signed: seconds since 1970.', {
          type: 'string',
          pattern: '^\\d+$',
          examples: ['1769851800'],
        }),
        header('webhook-signature', 'One or several signatures between spaces, each `v1,` and base64.', {
          type: 'string',
          examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
        }),
        header('runledger-webhook-version', 'The version of the body.', {
          type: 'string',
          const: String(WEBHOOK_PAYLOAD_VERSION),
        }),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.of(WebhookPayload) } },
      },
      responses: {
        '2XX': { description: 'The notification is accepted and not sent again.' },
        '410': { description: 'The receiver refuses the notification: it is given up.' },
        default: { description: 'The notification is sent again later.' },
      },
    },
  },
});
