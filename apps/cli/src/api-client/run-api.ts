import {
  DeleteOutputsResponse,
  DeleteRunResponse,
  Tombstone,
} from '@runledger/contracts/http/runs/delete-run';
import { CreateRunResponse } from '@runledger/contracts/http/runs/queue-run';
import { CancelRunResponse } from '@runledger/contracts/http/runs/run';
import { RedeliverResponse, RunRedelivery, WebhookSecret } from '@runledger/contracts/http/webhooks';
import type { Static } from 'typebox';
import { ANSWER_WITHIN_MS, at } from './api-call.ts';
import type { ApiCall } from './api-call.ts';
import type { ApiConnection } from './connection.ts';
import { runEvents } from './run-events.ts';
import type { RunEvents } from './run-events.ts';
import { followRunLogs, readRunLogs, type FollowRunLogs, type ReadRunLogs } from './run-logs.ts';
import { DeliveriesPage, RunDeliveries } from './delivery-responses.ts';
import { ShownHistory } from './history-responses.ts';
import { RunInputs, ShownRun } from './run-responses.ts';
import { textResponse } from './streamed-response.ts';

export type Cancel = Static<typeof CancelRunResponse>;
type Queued = Static<typeof CreateRunResponse>;
export type Secret = Static<typeof WebhookSecret>;

/** A filter of runs with a webhook, for JSON bodies and queries. */
export interface DeliveryFilter {
  readonly status?: string | undefined;
  readonly host?: string | undefined;
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
}

/** The position of a fact in the log, or a time. */
export type PastMoment = { readonly at_seq: number } | { readonly at: string };
/** How many seconds to wait for the end of the run, or which moment of it to show. */
type GetRunQuery = { readonly wait?: number | undefined } | PastMoment;

type Request = Readonly<Record<string, unknown>>;

export interface RunApi {
  /** Requests with the same key queue one run. */
  queue(request: Request, idempotencyKey: string): Promise<Queued>;
  rerun(run: string, request: Request, idempotencyKey: string): Promise<Queued>;
  get(run: string, query?: GetRunQuery): Promise<ShownRun>;
  /** `logLines`: of the beginning and of the end of each log; undefined for the service's default. */
  history(run: string, options?: { readonly logLines: number }): Promise<ShownHistory>;
  /** As SVG. */
  historyPicture(run: string): Promise<string>;
  inputsOf(run: string): Promise<RunInputs>;
  cancel(run: string): Promise<Cancel>;
  delete(run: string): Promise<Static<typeof DeleteRunResponse>>;
  deleteOutputs(run: string): Promise<Static<typeof DeleteOutputsResponse>>;
  tombstone(run: string): Promise<Tombstone>;
  readonly events: RunEvents;
  readonly logs: ReadRunLogs;
  readonly followLogs: FollowRunLogs;
  webhookSecret(): Promise<Secret>;
  /** `overlap_s`: undefined for the service's default. */
  rotateWebhookSecret(overlap_s: number | undefined): Promise<Secret>;
  deliveries(run: string): Promise<RunDeliveries>;
  /** At most `limit`, starting at `cursor`. */
  listDeliveries(
    filter: DeliveryFilter & { readonly limit: number; readonly cursor: string | undefined },
  ): Promise<DeliveriesPage>;
  redeliver(run: string): Promise<Static<typeof RunRedelivery>>;
  /** One page, starting at `cursor`. */
  redeliverMany(request: {
    readonly filter: DeliveryFilter;
    readonly dry_run: boolean;
    readonly cursor: string | undefined;
  }): Promise<Static<typeof RedeliverResponse>>;
}

export const runApi = (connection: ApiConnection, call: ApiCall): RunApi => ({
  queue: (body, key) =>
    call(CreateRunResponse, { method: 'POST', path: '/run/deployment/queue', body, headers: once(key) }),
  rerun: (run, body, key) =>
    call(CreateRunResponse, { method: 'POST', path: at`/run/${run}/rerun`, body, headers: once(key) }),
  get: (run, query = {}) =>
    call(ShownRun, {
      method: 'GET',
      path: at`/run/${run}`,
      query: { ...query },
      ...('at' in query || 'at_seq' in query
        ? { answerWithinMs: ANSWER_WITHIN_MS }
        : { waitsMs: (query.wait ?? 0) * 1_000 }),
    }),
  history: (run, { logLines }: { readonly logLines?: number } = {}) =>
    call(ShownHistory, {
      method: 'GET',
      path: at`/run/${run}/history`,
      query: { log_lines: logLines },
      answerWithinMs: ANSWER_WITHIN_MS,
    }),
  historyPicture: (run) => textResponse(connection, { method: 'GET', path: at`/run/${run}/history.svg` }),
  inputsOf: (run) => call(RunInputs, { method: 'GET', path: at`/run/${run}`, query: { include: 'inputs' } }),
  cancel: (run) => call(CancelRunResponse, { method: 'POST', path: at`/run/${run}/cancel` }),
  delete: (run) => call(DeleteRunResponse, { method: 'DELETE', path: at`/run/${run}` }),
  deleteOutputs: (run) => call(DeleteOutputsResponse, { method: 'DELETE', path: at`/run/${run}/outputs` }),
  tombstone: (run) => call(Tombstone, { method: 'GET', path: at`/run/${run}/tombstone` }),
  events: runEvents(connection),
  logs: readRunLogs(connection),
  followLogs: followRunLogs(connection),
  webhookSecret: () => call(WebhookSecret, { method: 'GET', path: '/webhooks/secret' }),
  rotateWebhookSecret: (overlap_s) =>
    call(WebhookSecret, { method: 'POST', path: '/webhooks/secret', body: { overlap_s } }),
  deliveries: (run) => call(RunDeliveries, { method: 'GET', path: at`/run/${run}/deliveries` }),
  listDeliveries: (query) =>
    call(DeliveriesPage, {
      method: 'GET',
      path: '/webhooks/deliveries',
      query: { ...query },
      answerWithinMs: ANSWER_WITHIN_MS,
    }),
  redeliver: (run) => call(RunRedelivery, { method: 'POST', path: at`/run/${run}/redeliver` }),
  redeliverMany: (body) => call(RedeliverResponse, { method: 'POST', path: '/webhooks/redeliver', body }),
});

const once = (key: string) => ({ 'idempotency-key': key });
