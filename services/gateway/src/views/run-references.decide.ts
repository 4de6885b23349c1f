import type { BlobStream } from '@runledger/contracts/blobs';
import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import { outputsToErase } from './run-view.ts';

/** What a run refers to, as a database stores it: whatever is named here must not be erased. */
export interface RunReferences {
  readonly inputs_blob: string | null;
  readonly inputs_blob_bytes: number;
  readonly outputs_blob: string | null;
  readonly outputs_blob_bytes: number;
  readonly log_blob: string | null;
  readonly log_blob_bytes: number;
  /** Null once the run has ended: it then only shows these names. */
  readonly live_workflow_sha256: string | null;
  readonly live_workflow_version_id: string | null;
  readonly live_deployment_id: string | null;
  readonly live_machine_id: string | null;
}

export const referencesOf = (run: RunState): RunReferences => {
  const request = isDeleted(run) ? undefined : run.request;
  // The list of deleted outputs names the files that are to be erased.
  const outputs = (isEnded(run) ? run.outputs_blob : null) ?? outputsToErase(run)?.outputs_blob ?? null;
  const log = isDeleted(run) ? undefined : run.log_blob;
  const live = isEnded(run) ? undefined : request;
  return {
    inputs_blob: request?.inputs_blob?.sha256 ?? null,
    inputs_blob_bytes: request?.inputs_blob?.bytes ?? 0,
    outputs_blob: outputs?.sha256 ?? null,
    outputs_blob_bytes: outputs?.bytes ?? 0,
    log_blob: log?.sha256 ?? null,
    log_blob_bytes: log?.bytes ?? 0,
    live_workflow_sha256: live?.workflow_sha256 ?? null,
    live_workflow_version_id: live?.workflow_version_id ?? null,
    live_deployment_id: live?.deployment_id ?? null,
    live_machine_id: live?.machine_id ?? null,
  };
};

/** The members with the blobs whose bytes count. */
export const BLOB_FIELDS = [
  'inputs_blob',
  'outputs_blob',
  'log_blob',
] as const satisfies (keyof RunReferences)[];
type BlobField = (typeof BLOB_FIELDS)[number];

/** The member with the size of a blob. */
export const bytesField = (field: BlobField): `${BlobField}_bytes` => `${field}_bytes`;

export type LiveField = Extract<keyof RunReferences, `live_${string}`>;
export const LIVE_FIELDS = [
  'live_workflow_sha256',
  'live_workflow_version_id',
  'live_deployment_id',
  'live_machine_id',
] as const satisfies LiveField[];

/** The members that refer to the blobs of a store. */
export const REFERRING: Readonly<Record<BlobStream, readonly (BlobField | LiveField)[]>> = {
  BLOBS: BLOB_FIELDS,
  WORKFLOWS: ['live_workflow_sha256'],
};

/** A record that runs which have not ended were queued with. */
export interface UsedRecord {
  readonly kind: 'workflow_version' | 'deployment' | 'machine';
  readonly id: string;
}

export const liveFieldOf = ({ kind }: UsedRecord): LiveField => `live_${kind}_id`;
