import type { OutputStore } from '../../outputs/store/output-store.ts';
import type { Part } from './file-records.ts';

/** Those that are gone already count as removed. After a failure, what is left expires with the store's own age. */
export const removeParts = async (
  store: Pick<OutputStore, 'remove'>,
  parts: readonly Pick<Part, 'key'>[],
): Promise<void> => {
  for (const { key } of parts) await store.remove(key);
};
