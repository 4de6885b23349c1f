import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { OutputListing } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import pLimit from 'p-limit';
import type { OutputStore } from '../../outputs/store/output-store.ts';

export interface EraseFilesOptions {
  readonly store: Pick<OutputStore, 'remove'>;
  readonly lists: Pick<OutputLists, 'listed'>;
}

/**
 * Erases the files that are listed, and may be repeated. Nobody knows the files of an attempt that was lost: they expire.
 * @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
export type EraseFiles = (org_id: OrgId, outputs: OutputListing) => Promise<void>;

const MAX_CONCURRENT = 8;

export const eraseFiles =
  ({ store, lists }: EraseFilesOptions): EraseFiles =>
  async (org_id, outputs) => {
    const listed = await lists.listed(org_id, outputs);
    const files = listed
      .flatMap(({ data }) => Object.values(data).flat())
      .flatMap((item) => (typeof item === 'string' ? [] : [item.key]));
    const limit = pLimit(MAX_CONCURRENT);
    await limit.map(files, (file) => store.remove(file));
  };
