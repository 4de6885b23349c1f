import { UploadedFile } from '@runledger/contracts/http/files';
import { CreateRunResponse } from '@runledger/contracts/http/runs/queue-run';
import {
  CancelRunResponse,
  WorkflowRun,
  DeleteOutputsResponse,
  DeleteRunResponse,
} from '@runledger/contracts/http/runs/run';
import { CancelRunsResponse, RunPage } from '@runledger/contracts/http/runs/runs';
import { RunHistory } from '@runledger/contracts/http/runs/run-history';
import { RunRedelivery } from '@runledger/contracts/http/webhooks';
import { Draining } from '@runledger/contracts/http/executors';
import { Deployment } from '@runledger/contracts/http/catalogue/deployments';
import { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import { Type } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { now } from '../cluster/clock.ts';
import type { Caller } from '../cluster/organisation.ts';
import type { Answer, Exchange, RequestKind, RunResponse } from './client-records.ts';

const File = compiledSchema(UploadedFile);
const Created = compiledSchema(CreateRunResponse);
const Run = compiledSchema(WorkflowRun);
const Cancelled = compiledSchema(CancelRunResponse);
const CancelledMany = compiledSchema(CancelRunsResponse);
const Redelivered = compiledSchema(RunRedelivery);
const DrainState = compiledSchema(Draining);
const CreatedRecord = compiledSchema(Type.Union([WorkflowVersion, Deployment]));
const Deleted = compiledSchema(Type.Union([DeleteRunResponse, DeleteOutputsResponse]));
const Page = compiledSchema(RunPage);
const History = compiledSchema(RunHistory);

/** The reason in an answer is cut to this length. */
const MAX_REASON_LENGTH = 300;

interface Sent {
  readonly apiKey?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

/** @throws when nothing answers */
export const send = (
  url: string,
  { apiKey, method = 'GET', headers, body, signal }: Sent,
): Promise<Response> =>
  fetch(url, {
    method,
    headers: {
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal,
  });

/** The API key is that of the organisation, unless the request names another one. */
export interface Request {
  readonly apiKey?: string;
  readonly kind: RequestKind;
  readonly request: number;
  readonly run: string | null;
  readonly key?: string | null;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under the base path. */
  readonly path: string;
  readonly body?: unknown;
  readonly gateway: string;
  readonly withinMs: number;
}

/** Sends a request to a gateway, and records the answer and its time. Never rejects. */
export type SendRequest = (request: Request) => Promise<Answer>;

export const sendAndRecord =
  ({ org_id, api_key }: Caller, record: (exchange: Exchange) => void): SendRequest =>
  async ({ apiKey = api_key, kind, request, run, key = null, method, path, body, gateway, withinMs }) => {
    const sentAt = now();
    const answer = await answerOf(kind, async () => {
      const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key };
      const signal = AbortSignal.timeout(withinMs);
      const response = await send(`${gateway}${path}`, { apiKey, method, headers, body, signal });
      // A stream would not end.
      if (NEVER_ANSWERED.has(kind) && response.ok) return { status: response.status, text: '{}' };
      return { status: response.status, text: await response.text() };
    });
    const what = `${method} ${path}`;
    record({ kind, org_id, what, request, run, key, gateway, sentAt, seenAt: now(), answer });
    return answer;
  };

/** Whatever a client gets, it should not. */
const NEVER_ANSWERED: ReadonlySet<RequestKind> = new Set(['foreign', 'after_deletion']);

const STATUS_OF: Partial<Readonly<Record<RequestKind, number>>> = {
  upload: 201,
  create: 201,
  delete_record: 204,
};

const answerOf = async (
  kind: RequestKind,
  request: () => Promise<{ readonly status: number; readonly text: string }>,
): Promise<Answer> => {
  try {
    const { status, text } = await request();
    const start = text.slice(0, MAX_REASON_LENGTH);
    if (status !== (STATUS_OF[kind] ?? 200)) return { kind: 'refused', status, why: start };
    const answer = parseAnswer(kind, text === '' ? null : JSON.parse(text));
    return answer ?? { kind: 'refused', status, why: `unknown answer: ${start}` };
  } catch (error) {
    return { kind: 'lost', why: reasonOf(error) };
  }
};

/** Adds the cause, because `fetch failed` alone explains nothing. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
};

const parseAnswer = (kind: RequestKind, body: unknown): Answer | undefined => {
  switch (kind) {
    case 'upload':
      return File.Check(body) ? { kind: 'uploaded', id: body.id } : undefined;
    case 'queue':
    case 'queue_other':
    case 'queue_deleted':
    case 'rerun':
      return Created.Check(body) ? { kind: 'queued', run: body.run_id } : undefined;
    case 'get':
    case 'wait':
      return Run.Check(body) ? { kind: 'shown', shown: runResponse(body) } : undefined;
    case 'cancel':
      return Cancelled.Check(body) ? { kind: 'cancelled', outcome: body.outcome } : undefined;
    case 'cancel_many':
      return CancelledMany.Check(body) ? { kind: 'cancelled_many', body: JSON.stringify(body) } : undefined;
    case 'redeliver':
      return Redelivered.Check(body) ? { kind: 'redelivered', round: body.round } : undefined;
    case 'drain':
    case 'resume':
      return DrainState.Check(body) ? { kind: 'drain_state', draining: body.draining } : undefined;
    case 'create':
      return CreatedRecord.Check(body) ? { kind: 'created', id: body.id } : undefined;
    case 'archive':
    case 'delete_record':
      return { kind: 'done' };
    case 'delete_run':
    case 'delete_outputs':
      return Deleted.Check(body) ? { kind: 'deleted', outcome: body.outcome } : undefined;
    case 'list':
      return Page.Check(body)
        ? { kind: 'listed', runs: body.runs.map((run) => ({ run: run.id, shown: runResponse(run) })) }
        : undefined;
    case 'history':
      return History.Check(body) ? historyOf(body) : undefined;
    case 'after_deletion':
    case 'foreign':
      // Whatever it is, it was not for this caller.
      return undefined;
  }
};

const historyOf = ({ entries }: RunHistory): Answer => ({
  kind: 'history',
  facts: entries.flatMap((entry) => (entry.kind === 'fact' ? [`${entry.sequence} ${entry.type}`] : [])),
  hasGap: entries.some(({ kind }) => kind === 'gap'),
});

export const runResponse = (run: WorkflowRun): RunResponse => ({
  status: run.status,
  updated_at: run.updated_at,
  created_at: run.created_at,
  started_at: run.started_at,
  ended_at: run.ended_at,
  number: run.number,
  compute_function_call_id: run.compute_function_call_id,
  webhook_status: run.webhook_status,
  finished: run.finished,
  end_reason: run.end_reason,
  rerun_of: run.rerun_of,
  texts: run.outputs.flatMap(({ data }) => data['text'] ?? []).filter((item) => typeof item === 'string'),
  files: run.outputs
    .flatMap(({ data: { json, ...data } }) => (json === undefined ? Object.values(data).flat() : []))
    .flatMap((item) => (typeof item === 'string' ? [] : [item.url])),
  missing: run.missing_members.map(({ member, reason }) => `${member} ${reason}`),
});
