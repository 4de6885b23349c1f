import { RotateSecretRequest, WebhookSecret } from '@runledger/contracts/http/webhooks';
import type { SigningSecrets } from '@runledger/webhooks/signing/signing-secrets';
import { operation, route, type Route } from '../http/operation.ts';

const showOperation = operation({
  id: 'getWebhookSecret',
  method: 'GET',
  path: '/webhooks/secret',
  tag: 'Webhooks',
  summary: 'Read the signing secret',
  description: "Receivers verify the organisation's webhooks with it.",
  scope: 'admin',
  audit: { action: 'secret.read' },
  request: {},
  response: { status: 200, description: 'The secret.', body: WebhookSecret, holdsSecret: true },
  refusals: [],
});

const rotateOperation = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/secret',
  tag: 'Webhooks',
  summary: 'Rotate the signing secret',
  description: 'The previous secret also signs for a while, so that receivers can change over.',
  scope: 'admin',
  audit: { action: 'secret.rotated' },
  request: { body: RotateSecretRequest },
  bodyOptional: true,
  response: { status: 200, description: 'The new secret.', body: WebhookSecret, holdsSecret: true },
  refusals: [],
});

export const webhookSecretRoutes = (secrets: SigningSecrets): Route[] => [
  route(showOperation, async (_given, { org_id }) => secrets.current(org_id)),
  route(rotateOperation, async ({ body }, { org_id }) =>
    // The body may be missing, which its type does not say.
    secrets.rotate(org_id, { overlap_s: (body as typeof body | undefined)?.overlap_s ?? undefined }),
  ),
];
