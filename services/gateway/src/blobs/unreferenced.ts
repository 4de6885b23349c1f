import type { StoredBlob } from '@runledger/blob-store/store/blob-store';
import type { BlobStream } from '@runledger/contracts/blobs';
import type { OrgId } from '@runledger/contracts/ids';
import { ofCompleteViews, type CompleteViewsOptions } from '../projection/of-complete-views.ts';
import type { RunViews } from '../projection/run-views.ts';
import { byOrganisation, storedAfter } from './core/old-blobs.ts';

/**
 * Those of the blobs that nothing refers to, for certain; undefined while that is unknown. @throws {LogUnavailable}
 * @throws {ViewsUnavailable}
 */
export type FindUnreferenced = (blobs: readonly StoredBlob[]) => Promise<readonly StoredBlob[] | undefined>;

export interface RunReferencesOptions extends CompleteViewsOptions {
  readonly views: Pick<RunViews, 'position' | 'referredBlobs'>;
}

const without = async (
  blobs: readonly StoredBlob[],
  referred: (org_id: OrgId, hashes: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<StoredBlob[]> => {
  const free: StoredBlob[] = [];
  for (const [org_id, own] of byOrganisation(blobs)) {
    const kept = await referred(
      org_id,
      own.map(({ sha256 }) => sha256),
    );
    free.push(...own.filter(({ sha256 }) => !kept.has(sha256)));
  }
  return free;
};

/** What no run refers to. */
const withoutRuns =
  ({ views, fresh }: RunReferencesOptions, stream: BlobStream) =>
  (judged: (derivedFrom: string) => readonly StoredBlob[]): Promise<readonly StoredBlob[] | undefined> =>
    ofCompleteViews({ views, fresh }, ({ derived_from }) =>
      without(judged(derived_from), (org_id, hashes) => views.referredBlobs(org_id, stream, hashes)),
    );

/**
 * Inputs and lists of outputs that no run refers to. Views that were derived again lack the runs that the log no longer had, and
 * a copy of the views may bring them back. So blobs from before that time are not judged: they expire.
 */
export const unreferencedByRuns = (options: RunReferencesOptions): FindUnreferenced => {
  const find = withoutRuns(options, 'BLOBS');
  return (blobs) => find((derivedFrom) => storedAfter(blobs, new Date(derivedFrom)));
};

export interface WorkflowReferencesOptions extends RunReferencesOptions {
  /** The hashes of all versions of an organisation, with every acknowledged one. */
  readonly hashesOf: (org_id: OrgId) => Promise<ReadonlySet<string>>;
  /** When the bucket of the catalogue was created. What is older belongs to a catalogue that was lost. */
  readonly catalogueCreated: () => Promise<string>;
}

/** Workflows that no version has, and that no run needs which has not ended. */
export const unreferencedWorkflows = (options: WorkflowReferencesOptions): FindUnreferenced => {
  const find = withoutRuns(options, 'WORKFLOWS');
  return async (blobs) => {
    const judged = storedAfter(blobs, new Date(await options.catalogueCreated()));
    const free = await without(judged, options.hashesOf);
    return free.length === 0 ? [] : find(() => free);
  };
};
