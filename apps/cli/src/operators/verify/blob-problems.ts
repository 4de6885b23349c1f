import { BlobDamaged, type BlobStore } from '@runledger/blob-store/store/blob-store';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import type { BlobRef } from '@runledger/contracts/blobs';
import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';

/** What is wrong with the blobs that a run refers to, in words. @throws {LogUnavailable} */
export type BlobProblems = (run: RunState) => Promise<readonly string[]>;

/** Many runs have the same workflow, and the same inputs. */
const REMEMBERED = 100_000;

/** Reads each blob once, and compares its SHA-256. */
export const blobProblems = (stores: BlobStores): BlobProblems => {
  const known = new LRUCache<string, Promise<string | null>>(atMost(REMEMBERED));
  const look = (
    store: Pick<BlobStore, 'get'>,
    org_id: string,
    { what, sha256 }: Referred,
  ): Promise<string | null> => {
    const name = `${org_id} ${sha256}`;
    const looking = known.get(name) ?? problemOf(store, org_id, sha256);
    known.set(name, looking);
    return looking.then((problem) => problem && `its ${what}, the blob ${sha256}, ${problem}`);
  };
  return async (run) => {
    const found = await Promise.all(
      referredBy(run).map((referred) => look(stores[referred.in], run.org_id, referred)),
    );
    return found.filter((problem) => problem !== null);
  };
};

interface Referred {
  readonly what: string;
  readonly in: keyof BlobStores;
  readonly sha256: string;
}

/** A deleted run refers to nothing, and an ended one no longer to its workflow. */
const referredBy = (run: RunState): Referred[] => {
  if (isDeleted(run)) return [];
  const { inputs_blob, workflow_sha256 } = run.request;
  const ofBlob = (what: string, blob: BlobRef | null | undefined): Referred[] =>
    blob ? [{ what, in: 'blobs', sha256: blob.sha256 }] : [];
  return [
    ...ofBlob('inputs', inputs_blob),
    ...ofBlob('log', run.log_blob),
    ...(isEnded(run)
      ? ofBlob('list of outputs', run.outputs_blob)
      : [{ what: 'workflow', in: 'workflows' as const, sha256: workflow_sha256 }]),
  ];
};

const problemOf = async (
  store: Pick<BlobStore, 'get'>,
  org_id: string,
  sha256: string,
): Promise<string | null> => {
  try {
    return (await store.get(org_id, sha256)) ? null : 'is not in the store';
  } catch (error) {
    if (error instanceof BlobDamaged) return 'is damaged: its bytes have another hash';
    throw error;
  }
};
