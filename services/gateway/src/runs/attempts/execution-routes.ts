import { BlobStoreFull } from '@runledger/blob-store/blob-store';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobRef } from '@runledger/contracts/blobs';
import { RunOutputs, type StoredFile } from '@runledger/contracts/events/run-event-data';
import type { OrgId } from '@runledger/contracts/ids';
import { isNestedAtMost, type JsonValue } from '@runledger/contracts/json';
import { MAX_EVENT_NESTING, MAX_LOGS_BYTES, MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import { AttemptLog, type LoggedAttempt, type RetainedLogs } from '@runledger/contracts/run-logs';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readLog } from '@runledger/event-log/streams/logs';
import type { Context, Middleware } from 'koa';
import { Value } from 'typebox/value';
import { bytesOf, jsonBody, requestBody } from '../../door/json-body.ts';
import { invalid, invalidRequest, Refused } from '../../door/refusal.ts';
import { compressLogs, readCompressed, readStoredLogs } from '../../files/stored-logs.ts';
import type { Kit } from '../../kit.ts';
import type { BlobQuota } from '../../records/quotas/blob-quota.ts';
import { isOutputKeyOf } from './attempt-files.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';
import type { PlainRoute } from '../../door/operation.ts';
import type { Files } from '../../files/files.ts';
import type { Models } from '../../files/models.ts';
import type { OutputStore } from '../../files/output-store.ts';
import { admitUpload } from '../../records/quotas/quotas.ts';
import type { Runs } from '../runs.ts';
import {
  assignmentRoute,
  codeRoute,
  inputFileRoute,
  modelRoute,
  type AssignedRecords,
} from './assignment.ts';
import { uploadRoute } from './attempt-outputs.ts';

/** What attempts fetch, and where they store their outputs. */
interface StoredForAttempts {
  readonly files: Files;
  readonly store: OutputStore;
  readonly models: Models;
}

/** What the executor of an attempt requests, with the token of the attempt. */
export const executionRoutes = (
  kit: Kit,
  { quotas, secrets }: Runs,
  records: AssignedRecords,
  { files, store, models }: StoredForAttempts,
): PlainRoute[] => {
  const route = (method: PlainRoute['method'], name: string, serve: PlainRoute['serve']): PlainRoute => ({
    method,
    path: `/executions/:org_id/:run_id/:attempt/${name}`,
    serve,
    needsLog: true,
  });
  return [
    route('GET', 'assignment', assignmentRoute(kit, secrets, records)),
    route('GET', 'code', codeRoute(kit, records)),
    route('GET', 'models/:sha256', modelRoute(kit, records, models)),
    route('GET', 'files/:id', inputFileRoute(kit, files, store)),
    route('PUT', 'log', logRoute(kit, quotas.blob_bytes)),
    route('PUT', 'output-list', outputListRoute(kit.log, quotas.blob_bytes)),
    route('PUT', 'outputs', uploadRoute(kit, store, admitUpload(quotas))),
  ];
};

/** `PUT /executions/{org_id}/{run_id}/{attempt}/output-list`: stores a list that is too large for the event that ends the run. */
const outputListRoute = (log: EventLog, blobs: BlobQuota): Middleware => {
  const body = jsonBody(MAX_OUTPUTS_BYTES);
  return async (ctx) => {
    const named = namedAttempt(ctx);
    const { run, token } = await permittedRun(log, ctx, named);
    const list = await body(ctx);
    if (!filesIn(list).every((file) => isOutputKeyOf(token, file))) {
      throw wrongBody('The list names a file that this attempt did not store');
    }
    const counted = 'this list of outputs the inputs and lists of outputs';
    await answerBlob(ctx, blobs, run.org_id, jsonBlob(list ?? null), counted);
  };
};

/** The files in a list of outputs. @throws {Refused} for anything else */
const filesIn = (list: JsonValue | undefined): StoredFile[] => {
  if (!Value.Check(RunOutputs, list) || !isNestedAtMost(MAX_EVENT_NESTING, list)) {
    throw wrongBody('The body is not a list of outputs');
  }
  return list.flatMap(({ data }) =>
    Object.values(data).flatMap((items) =>
      items.filter((item): item is StoredFile => typeof item !== 'string'),
    ),
  );
};

/**
 * `PUT /executions/{org_id}/{run_id}/{attempt}/log`: keeps the log of an attempt that ends, with those of the earlier attempts of the
 * run, in one blob. The event that ends the attempt refers to it.
 */
const logRoute =
  ({ log, stores }: Kit, blobs: BlobQuota): Middleware =>
  async (ctx) => {
    const named = namedAttempt(ctx);
    const { run } = await permittedRun(log, ctx, named);
    const own = await readCompressed(AttemptLog, await bodyOf(ctx));
    if (!own) throw wrongBody('The body is not the compressed log of an attempt');
    const { org_id, run_id } = run;
    const kept = await readStoredLogs(stores.blobs, run);
    const before = kept.kind === 'found' ? kept.logs.attempts : [];
    const earlier = await Promise.all(
      run.earlier_attempts.map(async ({ number: attempt, executor_id }) => {
        const known = before.find((one) => one.attempt === attempt);
        return known ? [known] : logAtBrokers(log, { org_id, run_id, attempt, executor_id });
      }),
    );
    const logs = { attempts: [...earlier.flat(), { attempt: named.attempt, ...own }] };
    const bytes = await compressLogs(logs);
    await answerBlob(ctx, blobs, org_id, bytes, 'this log the inputs, lists of outputs and logs');
  };

/** As its executor left it when it was lost. */
const logAtBrokers = async (log: EventLog, of: LoggedAttempt): Promise<RetainedLogs['attempts']> => {
  const { chunks } = await readLog(log, of);
  const last = chunks.at(-1);
  if (!last) return [];
  const lines = last.first + last.lines.length;
  return [{ attempt: of.attempt, chunks: [...chunks], lines, bytes: last.before + last.bytes }];
};

/** @throws {Refused} when it is too large, or was interrupted */
const bodyOf = async (ctx: Context): Promise<Buffer> => {
  const isLarge = Number(ctx.get('content-length') || 0) > MAX_LOGS_BYTES;
  const bytes = isLarge ? undefined : await bytesOf(requestBody(ctx), MAX_LOGS_BYTES);
  if (bytes !== undefined) return bytes;
  throw new Refused({
    code: 'run_log_too_large',
    why: `A log may have at most ${MAX_LOGS_BYTES} bytes, compressed`,
  });
};

const wrongBody = (msg: string): Refused => invalidRequest(invalid(['body'], 'value_error', msg));

/** Stores the bytes, and answers with the reference. @throws {Refused} for a list it ends the attempt, which ends without its log */
const answerBlob = async (
  ctx: Context,
  blobs: BlobQuota,
  org_id: OrgId,
  bytes: Uint8Array,
  counted: string,
): Promise<void> => {
  const ref = await blobs.put(org_id, bytes).catch((error: unknown) => {
    if (!(error instanceof BlobStoreFull)) throw error;
    throw new Refused({ code: 'blob_store_full', why: error.message });
  });
  if (ref === 'over_quota')
    throw new Refused({
      code: 'storage_quota_reached',
      why: `With ${counted} of the organisation would have more than its quota of ${blobs.limit} bytes. Delete runs, or an operator has to raise RUNLEDGER_QUOTA_BLOB_BYTES of the gateway`,
    });
  ctx.body = ref satisfies BlobRef;
  ctx.status = 201;
};
