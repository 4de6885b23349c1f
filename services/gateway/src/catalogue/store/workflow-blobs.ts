import { jsonBlob, readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/store/blob-store';
import type { WorkflowVersion } from '@runledger/contracts/catalogue/records';
import type { JsonValue } from '@runledger/contracts/json';

/** A version with its workflow, before it is stored. */
export type NewVersion = Omit<WorkflowVersion, 'number' | 'sha256' | 'bytes'> & {
  readonly workflow: JsonValue;
};

/** The workflows of versions, which their records only name. Every method may throw LogUnavailable. */
interface WorkflowBlobs {
  /** Stores the workflow, and gives the record of the version. @throws {BlobStoreFull} */
  put(version: NewVersion): Promise<Omit<WorkflowVersion, 'number'>>;
  /** Undefined when the workflow is lost, or damaged. */
  of(version: Pick<WorkflowVersion, 'org_id' | 'sha256'>): Promise<JsonValue | undefined>;
}

export const workflowBlobs = (store: BlobStore): WorkflowBlobs => ({
  put: async ({ workflow, ...version }) => ({
    ...version,
    ...(await store.put(version.org_id, jsonBlob(workflow))),
  }),
  of: async ({ org_id, sha256 }) => {
    const read = await readJsonBlob(store, org_id, sha256);
    return read.kind === 'found' ? read.value : undefined;
  },
});
