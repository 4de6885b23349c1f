import type { OutputLists } from '@runledger/blob-store/output-lists';
import { storedFiles } from '@runledger/contracts/events/run-event-data';
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
 * The result is the bytes of the files that were there. @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
export type EraseFiles = (org_id: OrgId, outputs: OutputListing) => Promise<number>;

const MAX_CONCURRENT = 8;

export const eraseFiles =
  ({ store, lists }: EraseFilesOptions): EraseFiles =>
  async (org_id, outputs) => {
    const files = storedFiles(await lists.listed(org_id, outputs));
    const limit = pLimit(MAX_CONCURRENT);
    const erased = await limit.map(files, async ({ key, bytes }) => ((await store.remove(key)) ? bytes : 0));
    return erased.reduce((sum, bytes) => sum + bytes, 0);
  };
