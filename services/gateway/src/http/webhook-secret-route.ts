import type { SigningSecrets } from '@runledger/webhooks/signing-secrets';
import type { Middleware } from 'koa';
import type { Callers } from './callers.ts';
import type { JsonBody } from './json-body.ts';
import { rotationRequest } from './rotation-request.ts';

export interface WebhookSecretRoute {
  readonly callers: Callers;
  readonly body: JsonBody;
  readonly secrets: SigningSecrets;
}

/** `GET /webhooks/secret`: what the caller's organisation verifies its webhooks with. */
export const showWebhookSecret =
  ({ callers, secrets }: Pick<WebhookSecretRoute, 'callers' | 'secrets'>): Middleware =>
  async (ctx) => {
    const { org_id } = await callers(ctx, 'admin');
    ctx.body = await secrets.current(org_id);
  };

/** `POST /webhooks/secret`: a new one, beside which the present one signs for a while. */
export const rotateWebhookSecret =
  ({ callers, body, secrets }: WebhookSecretRoute): Middleware =>
  async (ctx) => {
    const { org_id } = await callers(ctx, 'admin');
    ctx.body = await secrets.rotate(org_id, rotationRequest(await body(ctx)));
  };
