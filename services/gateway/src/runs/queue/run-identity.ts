import { createHash } from 'node:crypto';
import { newUuid, runId, type OrgId, type RunId } from '@runledger/contracts/ids';
import { uuid8 } from '../../ids/uuid8.ts';
import { identityText, requestText, type RequestedRun } from './core/idempotency.ts';

export type RunIdentity =
  | { readonly kind: 'random'; readonly run_id: RunId }
  /** The same at every gateway for every request with the key. */
  | { readonly kind: 'of_key'; readonly run_id: RunId; readonly request_sha256: string };

/** The id of the run that a request asks for. With an idempotency key, it is made from the key. */
export const runIdentity = (org_id: OrgId, key: string | undefined, requested: RequestedRun): RunIdentity =>
  key === undefined
    ? { kind: 'random', run_id: runId(newUuid()) }
    : {
        kind: 'of_key',
        run_id: runIdOfKey(org_id, key),
        request_sha256: sha256(requestText(requested)).toString('hex'),
      };

/** The id of the run that a request with this idempotency key queues. */
export const runIdOfKey = (org_id: OrgId, key: string): RunId =>
  runId(uuid8(sha256(identityText(org_id, key))));

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
