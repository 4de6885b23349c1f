import type { ByteSpan } from '../../outputs/core/byte-range.ts';
import { OutputStoreUnavailable, type OutputStore } from '../../outputs/store/output-store.ts';
import { storedBytes, type Part } from './file-records.ts';

/** Bytes of the parts of a file, at the pace of the caller. Without a span, all of them. */
export async function* readParts(
  store: Pick<OutputStore, 'find' | 'read'>,
  parts: readonly Part[],
  { first, last }: ByteSpan = { first: 0, last: storedBytes(parts) - 1 },
): AsyncGenerator<Uint8Array> {
  let begin = 0;
  for (const { key, bytes } of parts) {
    const end = begin + bytes - 1;
    if (end >= first && begin <= last) {
      const stored = await store.find(key);
      if (stored?.bytes !== bytes)
        throw new OutputStoreUnavailable('A part of a file is no longer in the store.');
      yield* store.read(stored, {
        first: Math.max(first - begin, 0),
        last: Math.min(last - begin, bytes - 1),
      });
    }
    begin += bytes;
  }
}
