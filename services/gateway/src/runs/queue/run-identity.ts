import { createHash } from 'node:crypto';
import { newUuid, runId, type OrgId, type RunId } from '@runledger/contracts/ids';
import { uuid8 } from '../../ids/uuid8.ts';
import {
  identityText,
  requestText,
  scheduledIdentityText,
  type RequestedRun,
  type ScheduledTime,
} from './core/idempotency.ts';

export type RunIdentity =
  | { readonly kind: 'random'; readonly run_id: RunId }
  /** Of a time of a schedule, whatever the schedule requests then. */
  | { readonly kind: 'of_schedule'; readonly run_id: RunId }
  /** The same at every gateway for every request with the key. */
  | { readonly kind: 'of_key'; readonly run_id: RunId; readonly request_sha256: string };

/** The id of the run that a request asks for. With an idempotency key, it is made from the key. */
export const runIdentity = (org_id: OrgId, key: string | undefined, requested: RequestedRun): RunIdentity => {
  if (requested.kind === 'schedule')
    return { kind: 'of_schedule', run_id: runIdOfSchedule(org_id, requested.schedule) };
  if (key === undefined) return { kind: 'random', run_id: runId(newUuid()) };
  const request_sha256 = sha256(requestText(requested)).toString('hex');
  return { kind: 'of_key', run_id: runIdOfKey(org_id, key), request_sha256 };
};

/** The id of the run of a time of a schedule. No client's key makes it. */
export const runIdOfSchedule = (org_id: OrgId, time: ScheduledTime): RunId =>
  runId(uuid8(sha256(scheduledIdentityText(org_id, time))));

/** The id of the run that a request with this idempotency key queues. */
export const runIdOfKey = (org_id: OrgId, key: string): RunId =>
  runId(uuid8(sha256(identityText(org_id, key))));

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
