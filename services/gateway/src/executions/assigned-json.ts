import type { BlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { AssignedJson, LostCode } from './fetch-route.ts';

/** The workflow that the run was queued with. */
export const workflowOf =
  ({ workflows }: Pick<BlobStores, 'workflows'>) =>
  async ({ org_id, request }: ExecutingRun): Promise<AssignedJson> =>
    find(
      workflows,
      { org_id, sha256: request.workflow_sha256 },
      {
        what: `The workflow of version ${request.workflow_version_id}, which this run was queued with, is`,
        todo: 'Create another version with the same workflow, and queue the run again.',
        lost: 'assigned_workflow_lost',
        damaged: 'assigned_workflow_damaged',
      },
    );

/** The inputs that the run was queued with. */
export const inputsOf =
  ({ blobs }: Pick<BlobStores, 'blobs'>) =>
  async ({ org_id, request }: ExecutingRun): Promise<AssignedJson> => {
    const inputs = readInlineOrBlob(request.inputs, request.inputs_blob);
    if (inputs.kind === 'inline') return { kind: 'found', text: jsonBlob(inputs.value) };
    const { sha256 } = inputs.ref;
    return find(
      blobs,
      { org_id, sha256 },
      {
        what: 'The inputs of this run are',
        todo: 'Queue it again, with its inputs.',
        lost: 'assigned_inputs_lost',
        damaged: 'assigned_inputs_damaged',
      },
    );
  };

interface LostBlob {
  /** Begins the sentence about a blob that is lost or damaged. */
  readonly what: string;
  /** What to do then. */
  readonly todo: string;
  readonly lost: LostCode;
  readonly damaged: LostCode;
}

/** @throws {LogUnavailable} */
const find = async (
  store: Pick<BlobStore, 'get'>,
  { org_id, sha256 }: { readonly org_id: string; readonly sha256: string },
  { what, todo, lost, damaged }: LostBlob,
): Promise<AssignedJson> => {
  try {
    const text = await store.get(org_id, sha256);
    return text
      ? { kind: 'found', text }
      : { kind: 'lost', code: lost, why: `${what} no longer in the store. ${todo}` };
  } catch (error) {
    if (error instanceof BlobDamaged)
      return { kind: 'lost', code: damaged, why: `${what} damaged in the store. ${todo}` };
    throw error;
  }
};
