// POST /api/hook: receives the webhooks of runs that were queued with this address as their `webhook`.
import { env } from 'node:process';
import { verifyWebhook, WebhookInvalid } from '@runledger/client';

export async function POST(request: Request): Promise<Response> {
  try {
    // While a secret is rotated, both are valid: separate them by a space.
    const secrets = (env['RUNLEDGER_WEBHOOK_SECRETS'] ?? '').split(' ');
    const { run_id, status, finished } = await verifyWebhook({
      body: await request.arrayBuffer(),
      headers: request.headers,
      secrets,
    });
    // Store it here: after a 2xx the notification is not sent again.
    return Response.json({ run_id, status, finished });
  } catch (error) {
    if (error instanceof WebhookInvalid) return Response.json({ detail: error.message }, { status: 400 });
    throw error;
  }
}
