import { BlobStoreFull } from '@runledger/blob-store/store/blob-store';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobRef } from '@runledger/contracts/blobs';
import { RunOutputs, type StoredFile } from '@runledger/contracts/events/run-event-data';
import { isNestedAtMost, type JsonValue } from '@runledger/contracts/json';
import { MAX_EVENT_NESTING, MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Middleware } from 'koa';
import { Value } from 'typebox/value';
import type { BlobQuota } from '../quotas/blob-quota.ts';
import { invalid, invalidRequest, Refused } from '../http/refusal.ts';
import { jsonBody } from '../server/json-body.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';
import { isOutputKeyOf } from './output-keys.ts';

export interface OutputListRoute {
  readonly log: EventLog;
  readonly blobs: BlobQuota;
}

/** `PUT /executions/{org_id}/{run_id}/{attempt}/output-list`: stores a list that is too large for the event that ends the run. */
export const outputListRoute = ({ log, blobs }: OutputListRoute): Middleware => {
  const body = jsonBody(MAX_OUTPUTS_BYTES);
  return async (ctx) => {
    const named = namedAttempt(ctx);
    const { token } = await permittedRun(log, ctx, named);
    const list = await body(ctx);
    if (!filesIn(list).every((file) => isOutputKeyOf(token, file))) {
      throw refused('Value error, the list names a file that this attempt did not store');
    }
    const ref = await blobs.put(named.run.org_id, jsonBlob(list ?? null)).catch(refuseFullBlobs);
    if (ref === 'over_quota') throw overQuota(blobs.limit);
    ctx.body = ref satisfies BlobRef;
    ctx.status = 201;
  };
};

/** The files in a list of outputs. @throws {Refused} for anything else */
const filesIn = (list: JsonValue | undefined): StoredFile[] => {
  if (!Value.Check(RunOutputs, list) || !isNestedAtMost(MAX_EVENT_NESTING, list)) {
    throw refused('Value error, the body is not a list of outputs');
  }
  return list.flatMap(({ data }) =>
    Object.values(data).flatMap((items) =>
      items.filter((item): item is StoredFile => typeof item !== 'string'),
    ),
  );
};

const refused = (msg: string): Refused => invalidRequest(invalid(['body'], 'value_error', msg));

/** It ends the attempt. */
const overQuota = (limit: number): Refused =>
  new Refused({
    code: 'storage_quota_reached',
    why: `With this list of outputs the inputs and lists of outputs of the organisation would have more than its quota of ${limit} bytes. Delete runs, or an operator has to raise RUNLEDGER_QUOTA_BLOB_BYTES of the gateway`,
  });

const refuseFullBlobs = (error: unknown): never => {
  throw error instanceof BlobStoreFull ? new Refused({ code: 'blob_store_full', why: error.message }) : error;
};
