import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { explainAnswer, explainSilence } from './api-problem.ts';
import { Explained } from './explained.ts';
import { DeliveriesPage, Redelivered, RedeliveredMany, RunDeliveries } from './shown-deliveries.ts';
import { ShownRun } from './shown-run.ts';
import type { ApiConnection } from './connection.ts';

const ANSWER_WITHIN_MS = 30_000;

const Queued = Type.Object({ run_id: Type.String() });
export const Cancel = Type.Object({
  run_id: Type.String(),
  status: Type.String(),
  outcome: Type.Enum(['cancelled', 'cancellation_requested', 'already_ended']),
});
export type Cancel = Static<typeof Cancel>;

const WebhookSecret = Type.Object({
  secret: Type.String(),
  created_at: Type.String(),
  previous: Type.Union([Type.Object({ secret: Type.String(), expires_at: Type.String() }), Type.Null()]),
});
export type WebhookSecret = Static<typeof WebhookSecret>;

/** Which runs with a webhook are meant; in JSON and as a query alike. */
export interface DeliveryFilter {
  readonly status?: string;
  readonly host?: string;
  readonly created_after?: string;
  readonly created_before?: string;
}

/** No answer, or one that asks for patience: the same request may succeed later. */
export class Unavailable extends Explained {}

export interface RunApi {
  queue(request: Readonly<Record<string, unknown>>): Promise<Static<typeof Queued>>;
  get(run: string): Promise<ShownRun>;
  cancel(run: string): Promise<Cancel>;
  webhookSecret(): Promise<WebhookSecret>;
  /** `overlap_s`: the usual time when it is undefined. */
  rotateWebhookSecret(overlap_s: number | undefined): Promise<WebhookSecret>;
  deliveries(run: string): Promise<RunDeliveries>;
  /** At most `limit`, from `cursor` on. */
  listDeliveries(
    filter: DeliveryFilter & { readonly limit: number; readonly cursor?: string },
  ): Promise<DeliveriesPage>;
  redeliver(run: string): Promise<Redelivered>;
  /** As many as the service does at once, from `cursor` on. */
  redeliverMany(request: {
    readonly filter: DeliveryFilter;
    readonly dry_run: boolean;
    readonly cursor?: string;
  }): Promise<RedeliveredMany>;
}

/** Answers other than 200 are thrown as Explained, those that may pass as Unavailable. */
export const runApi = (connection: ApiConnection): RunApi => {
  const call = async <Schema extends TSchema>(
    schema: Schema,
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
  ): Promise<Static<Schema>> => {
    const answer = await send(connection, method, path, body);
    if (answer.status === 200 && Value.Check(schema, answer.body)) return answer.body;
    if (answer.status === 200)
      throw new Explained(
        `${connection.url}${path} answered with something that this release does not understand. Use the same release of both.`,
      );
    const because = explainAnswer(connection, answer);
    throw answer.status === 429 || answer.status >= 500 ? new Unavailable(because) : new Explained(because);
  };
  return {
    queue: (request) => call(Queued, 'POST', '/run/deployment/queue', request),
    get: (run) => call(ShownRun, 'GET', `/run/${encodeURIComponent(run)}`),
    cancel: (run) => call(Cancel, 'POST', `/run/${encodeURIComponent(run)}/cancel`),
    webhookSecret: () => call(WebhookSecret, 'GET', '/webhooks/secret'),
    rotateWebhookSecret: (overlap_s) => call(WebhookSecret, 'POST', '/webhooks/secret', { overlap_s }),
    deliveries: (run) => call(RunDeliveries, 'GET', `/run/${encodeURIComponent(run)}/deliveries`),
    listDeliveries: (filter) => call(DeliveriesPage, 'GET', `/webhooks/deliveries?${queryOf(filter)}`),
    redeliver: (run) => call(Redelivered, 'POST', `/run/${encodeURIComponent(run)}/redeliver`),
    redeliverMany: (request) => call(RedeliveredMany, 'POST', '/webhooks/redeliver', request),
  };
};

const queryOf = (parameters: object): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
}

const send = async (
  connection: ApiConnection,
  method: string,
  path: string,
  body: unknown,
): Promise<Answer> => {
  try {
    const response = await fetch(`${connection.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${connection.apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const text = await response.text();
    return { status: response.status, body: parse(text), retryAfter: response.headers.get('retry-after') };
  } catch (error) {
    throw new Unavailable(explainSilence(connection, error));
  }
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
