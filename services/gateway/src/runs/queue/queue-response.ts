import type { RunId } from '@runledger/contracts/ids';
import type { Context } from 'koa';
import type { Caller } from '../../http/operation.ts';
import { notFound, Refused } from '../../http/refusal.ts';
import { requestOf } from '../../http/request-context.ts';
import { overQuota } from '../../quotas/over-quota.ts';
import type { Acceptance, QueueCaller } from './accept-run.ts';

/** Who requests a run, and with which request. */
export const queueCallerOf = (
  ctx: Context,
  { org_id, user_id }: Caller,
  headers: { readonly 'Idempotency-Key'?: string },
): QueueCaller => {
  const { request_id, traceparent } = requestOf(ctx);
  const idempotencyKey = headers['Idempotency-Key'];
  return { org_id, user_id, idempotencyKey, correlation_id: request_id, traceparent };
};

/** Why a deployment cannot be queued: the organisation does not have it, or has archived it. */
export type NoDeployment = 'no_deployment' | 'archived_deployment';

export const noDeployment = (why: NoDeployment): Refused =>
  why === 'no_deployment'
    ? notFound('Deployment')
    : new Refused({
        code: 'deployment_archived',
        why: 'The deployment is archived, so it accepts no runs: restore it, or name another one',
      });

/** The response to a client. @throws {Refused} when no run was accepted */
export const acceptedRun = (acceptance: Acceptance, onQueued: () => void): { run_id: RunId } => {
  switch (acceptance.kind) {
    case 'accepted':
      onQueued();
      return { run_id: acceptance.run_id };
    case 'accepted_before':
      return { run_id: acceptance.run_id };
    case 'key_taken':
      throw new Refused({
        code: 'idempotency_key_reused',
        why: 'The organisation used this Idempotency-Key for another request, so nothing was queued: send this request with a new key, or the first request again',
      });
    case 'key_of_deleted_run':
      throw new Refused({
        code: 'idempotency_key_of_deleted_run',
        why: 'The run of this Idempotency-Key was deleted, so nothing was queued: send the request with a new key to queue another run',
      });
    case 'log_nearly_full':
      throw new Refused({
        code: 'log_full',
        why: 'The log of runs has no room for a new run and what it may write later; accepted runs continue. Nothing was queued: try again when some of them have ended or old runs have expired. An operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS',
      });
    case 'outlives_log':
      throw new Refused({ code: 'run_outlives_log', why: `Nothing was queued: ${acceptance.why}` });
    case 'queue_full':
      throw new Refused({
        code: 'queue_full',
        why: 'The organisation has reached its limit of queued runs, so nothing was queued: try again when some of them have started, or cancel some',
      });
    case 'inputs_gone':
      throw new Refused({
        code: 'inputs_gone',
        why: 'The inputs of this run have expired or are damaged, so nothing was queued: send the inputs with the request',
      });
    case 'inputs_store_full':
      throw new Refused({
        code: 'blob_store_full',
        why: 'The store of large inputs is full, so nothing was queued: send inputs of at most 4 KiB, such as the URLs of files, or ask the operator to raise blobsMaxBytes in RUNLEDGER_LOG_SETTINGS',
      });
    case 'inputs_too_large':
      throw new Refused({
        code: 'inputs_too_large',
        why: `With the defaults of the workflow version, and with data URLs of inputs that it does not define as files, the inputs have more than ${acceptance.limit} bytes as JSON, so nothing was queued: send smaller ones`,
      });
    case 'inputs_over_quota':
      throw overQuota(
        `With these inputs the inputs and lists of outputs of the organisation would have more than its limit of ${acceptance.limit} bytes, so nothing was queued: send inputs of at most 4 KiB, such as the URLs of files, delete runs, or ask the operator for a higher RUNLEDGER_QUOTA_BLOB_BYTES`,
      );
    case 'views_unavailable':
      throw new Refused({
        code: 'views_unavailable',
        why: 'The store of older runs cannot be reached now, and it may have a run of this Idempotency-Key. Nothing was queued: try again with the same key',
      });
    case 'unreadable':
      throw new Refused({
        code: 'run_unreadable',
        why: `The run of this Idempotency-Key cannot be read now: ${acceptance.why}`,
      });
  }
};
