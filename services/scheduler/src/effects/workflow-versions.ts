import { createHash } from 'node:crypto';
import { WorkflowVersion } from '@runledger/contracts/catalogue/records';
import type { JsonValue } from '@runledger/contracts/json';
import { openBucket, InvalidRecord } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';

/** Names an immutable workflow version, as a run's request does. */
interface VersionName {
  readonly org_id: string;
  readonly workflow_version_id: string;
  readonly workflow_sha256: string;
}

type FoundVersion =
  | { readonly kind: 'found'; readonly workflow: JsonValue }
  | { readonly kind: 'missing'; readonly why: string }
  | { readonly kind: 'damaged'; readonly why: string };

type Read = FoundVersion & { readonly bytes: number };

export interface WorkflowVersions {
  /** @throws {LogUnavailable} */
  get(name: VersionName): Promise<FoundVersion>;
}

/** Workflow versions from the catalogue. Caches up to `maxBytes` of JSON, and evicts the least recently used version first. */
export const workflowVersions = (log: EventLog, maxBytes: number): WorkflowVersions => {
  const catalogue = openBucket(log, 'CATALOGUE', WorkflowVersion);
  const kept = new Map<string, Read>();
  const reads = new Map<string, Promise<Read>>();
  let bytes = 0;

  const keep = (key: string, read: Read): void => {
    if (read.kind !== 'found' || read.bytes > maxBytes || kept.has(key)) return;
    kept.set(key, read);
    bytes += read.bytes;
    for (const [oldest, { bytes: freed }] of kept) {
      if (bytes <= maxBytes) break;
      kept.delete(oldest);
      bytes -= freed;
    }
  };
  const read = async ({ org_id, workflow_version_id, workflow_sha256 }: VersionName): Promise<Read> => {
    const entry = await catalogue.get(`workflow_versions.${org_id}.${workflow_version_id}`);
    if (!entry) return { kind: 'missing', bytes: 0, why: missing(workflow_version_id) };
    const text = JSON.stringify(entry.value.workflow);
    const sha256 = createHash('sha256').update(text).digest('hex');
    if (sha256 !== workflow_sha256) {
      return { kind: 'damaged', bytes: 0, why: changed(workflow_version_id, workflow_sha256, sha256) };
    }
    return { kind: 'found', workflow: entry.value.workflow, bytes: Buffer.byteLength(text) };
  };

  return {
    get: async (name) => {
      const key = `${name.org_id} ${name.workflow_version_id} ${name.workflow_sha256}`;
      const known = kept.get(key);
      if (known) {
        kept.delete(key);
        kept.set(key, known);
        return known;
      }
      const reading = reads.get(key) ?? read(name).finally(() => reads.delete(key));
      reads.set(key, reading);
      try {
        const found = await reading;
        keep(key, found);
        return found;
      } catch (error) {
        if (!(error instanceof InvalidRecord)) throw error;
        return {
          kind: 'damaged',
          why: `Workflow version ${name.workflow_version_id} cannot be read: ${error.message}`,
        };
      }
    },
  };
};

const missing = (id: string): string =>
  `Workflow version ${id}, which this run was queued with, is no longer in the catalogue. ` +
  'Deploy the workflow again, and queue the run on the new deployment.';

const changed = (id: string, expected: string, found: string): string =>
  `Workflow version ${id} is not what this run was queued with: its SHA-256 should be ${expected} and is ${found}. ` +
  'Versions are immutable, so the catalogue was damaged; create a new version, and queue the run on it.';
