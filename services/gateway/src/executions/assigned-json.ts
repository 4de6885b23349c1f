import type { BlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { BlobDamaged, type BlobStore } from '@runledger/blob-store/store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { AssignedJson } from './fetch-route.ts';

/** The workflow that the run was queued with. */
export const workflowOf =
  ({ workflows }: Pick<BlobStores, 'workflows'>) =>
  async ({ org_id, request }: ExecutingRun): Promise<AssignedJson> =>
    (await find(workflows, org_id, request.workflow_sha256)) ?? {
      kind: 'gone',
      why: `The workflow of version ${request.workflow_version_id}, which this run was queued with, is lost or damaged. Create another version with the same workflow, and queue the run again.`,
    };

/** The inputs that the run was queued with. */
export const inputsOf =
  ({ blobs }: Pick<BlobStores, 'blobs'>) =>
  async ({ org_id, request }: ExecutingRun): Promise<AssignedJson> => {
    const inputs = readInlineOrBlob(request.inputs, request.inputs_blob);
    if (inputs.kind === 'inline') return { kind: 'found', text: jsonBlob(inputs.value) };
    return (
      (await find(blobs, org_id, inputs.ref.sha256)) ?? {
        kind: 'gone',
        why: 'The inputs of this run are lost or damaged. Queue it again, with its inputs.',
      }
    );
  };

/** Undefined when the blob is gone or damaged. @throws {LogUnavailable} */
const find = async (store: BlobStore, org_id: string, sha256: string): Promise<AssignedJson | undefined> => {
  try {
    const text = await store.get(org_id, sha256);
    return text && { kind: 'found', text };
  } catch (error) {
    if (error instanceof BlobDamaged) return undefined;
    throw error;
  }
};
