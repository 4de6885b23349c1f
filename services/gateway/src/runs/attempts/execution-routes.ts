import type { PlainRoute } from '../../door/operation.ts';
import type { OutputStore } from '../../files/output-store.ts';
import {
  inputsOf,
  workflowOf,
  inputTargetsRoute,
  inputFileRoute,
  secretInputsRoute,
} from './attempt-inputs.ts';
import { outputListRoute, uploadRoute } from './attempt-outputs.ts';
import type { Files } from '../../files/files.ts';
import { fetchRoute, namedAttempt, permittedRun } from './attempt-permission.ts';
import type { Kit } from '../../kit.ts';
import type { Runs } from '../runs.ts';
import { admitUpload } from '../../records/quotas/quotas.ts';
import type { CatalogueRecords } from '../../records/catalogue/catalogue.ts';
import { BlobStoreFull } from '@runledger/blob-store/blob-store';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import { AttemptLog, type RetainedLogs } from '@runledger/contracts/run-logs';
import { MAX_LOGS_BYTES } from '@runledger/contracts/limits';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readLog } from '@runledger/event-log/streams/logs';
import type { Context, Middleware } from 'koa';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { OrgId } from '@runledger/contracts/ids';
import { invalid, invalidRequest, Refused } from '../../door/refusal.ts';
import { requestBody } from '../../door/json-body.ts';
import { compressLogs, readCompressed, readKeptLogs } from '../../files/kept-logs.ts';
import type { BlobQuota } from '../../records/quotas/blob-quota.ts';

/** What the executor of an attempt requests, with the token of the attempt. */
export const executionRoutes = (
  kit: Kit,
  { quotas, secrets }: Runs,
  { deployments, versions }: CatalogueRecords,
  files: Files,
  store: OutputStore,
): PlainRoute[] => {
  const { log, stores } = kit;
  const route = (method: PlainRoute['method'], name: string, serve: PlainRoute['serve']): PlainRoute => ({
    method,
    path: `/executions/:org_id/:run_id/:attempt/${name}`,
    serve,
    needsLog: true,
  });
  return [
    route('GET', 'workflow', fetchRoute(log, workflowOf(stores))),
    route('GET', 'inputs', fetchRoute(log, inputsOf(stores))),
    route('GET', 'secret-inputs', secretInputsRoute(kit, secrets)),
    route(
      'GET',
      'input-targets',
      inputTargetsRoute(log, (org_id, id) => versions.getRecord(org_id, id)),
    ),
    route('GET', 'files/:id', inputFileRoute(kit, files, store)),
    route(
      'GET',
      'log-masks',
      logMasksRoute(log, (org_id, id) => deployments.get(org_id, id)),
    ),
    route('PUT', 'log', logRoute(kit, quotas.blob_bytes)),
    route('PUT', 'output-list', outputListRoute(log, quotas.blob_bytes)),
    route('PUT', 'outputs', uploadRoute(kit, store, admitUpload(quotas))),
  ];
};

/**
 * `PUT /executions/{org_id}/{run_id}/{attempt}/log`: keeps the log of an attempt that ends, with those of the earlier attempts of the
 * run, in one blob. The event that ends the attempt refers to it.
 */
const logRoute =
  ({ log, stores: { blobs } }: Kit, blobQuota: BlobQuota): Middleware =>
  async (ctx) => {
    const named = namedAttempt(ctx);
    const { run } = await permittedRun(log, ctx, named);
    const own = await readCompressed(AttemptLog, await bodyOf(ctx));
    if (!own) throw refused('Value error, the body is not the compressed log of an attempt');
    const kept = await readKeptLogs(blobs, run);
    const before = kept.kind === 'found' ? kept.logs.attempts : [];
    const earlier = await Promise.all(earlierAttempts(run).map((of) => logOfEarlier(log, before, of)));
    const logs = { attempts: [...earlier.flat(), { attempt: named.attempt, ...own }] };
    const bytes = await compressLogs(logs);
    const ref = await blobQuota.put(run.org_id, bytes).catch(refuseWhenFull);
    if (ref === 'over_quota') throw overQuota(blobQuota.limit);
    ctx.body = ref satisfies BlobRef;
    ctx.status = 201;
  };

type LoggedAttempts = RetainedLogs['attempts'];

const earlierAttempts = ({ org_id, run_id, earlier_attempts }: ExecutingRun) =>
  earlier_attempts.map(({ number, executor_id }) => ({ org_id, run_id, attempt: number, executor_id }));

/** As it was kept, or as its executor left it at the brokers when it was lost. */
const logOfEarlier = async (
  log: EventLog,
  before: LoggedAttempts,
  of: ReturnType<typeof earlierAttempts>[number],
): Promise<LoggedAttempts> => {
  const known = before.find(({ attempt }) => attempt === of.attempt);
  if (known) return [known];
  const { chunks } = await readLog(log, of);
  const last = chunks.at(-1);
  if (!last) return [];
  const lines = last.first + last.lines.length;
  return [{ attempt: of.attempt, chunks: [...chunks], lines, bytes: last.before + last.bytes }];
};

/** @throws {Refused} when it is too large, or was interrupted */
const bodyOf = async (ctx: Context): Promise<Buffer> => {
  if (Number(ctx.get('content-length') || 0) > MAX_LOGS_BYTES) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of requestBody(ctx)) {
    bytes += piece.byteLength;
    if (bytes > MAX_LOGS_BYTES) throw tooLarge();
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
};

const tooLarge = (): Refused =>
  new Refused({
    code: 'run_log_too_large',
    why: `A log may have at most ${MAX_LOGS_BYTES} bytes, compressed`,
  });

const refused = (msg: string): Refused => invalidRequest(invalid(['body'], 'value_error', msg));

/** The attempt ends without it. */
const overQuota = (limit: number): Refused =>
  new Refused({
    code: 'storage_quota_reached',
    why: `With this log the inputs, lists of outputs and logs of the organisation would have more than its quota of ${limit} bytes. Delete runs, or an operator has to raise RUNLEDGER_QUOTA_BLOB_BYTES of the gateway`,
  });

const refuseWhenFull = (error: unknown): never => {
  throw error instanceof BlobStoreFull ? new Refused({ code: 'blob_store_full', why: error.message }) : error;
};

/** A deployment that a run in progress uses exists. */
type FindDeployment = (org_id: OrgId, id: string) => Promise<Pick<Deployment, 'log_masks'> | undefined>;

/** `GET /executions/{org_id}/{run_id}/{attempt}/log-masks`: what the deployment masks in logs now. */
const logMasksRoute =
  (log: EventLog, find: FindDeployment): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(log, ctx, namedAttempt(ctx));
    const deployment = await find(run.org_id, run.request.deployment_id);
    ctx.set('Cache-Control', 'no-store');
    ctx.body = deployment?.log_masks ?? [];
  };
