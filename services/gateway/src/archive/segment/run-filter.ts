import { createHash } from 'node:crypto';

/** A Bloom filter: with 18 bits and 12 looks it says "perhaps" of an absent id once in six thousand times. */
const BITS_OF_RUN = 18;
const LOOKS = 12;

/** Says of a run id whether a segment may have it, in three characters for each run. In base64. */
export const runFilter = (ids: ReadonlySet<string>): string => {
  const bytes = Buffer.alloc(Math.max(Math.ceil((ids.size * BITS_OF_RUN) / 8), 1));
  for (const id of ids) {
    for (const bit of bitsOf(id, bytes.length * 8)) {
      bytes.writeUInt8(bytes.readUInt8(bit >> 3) | (1 << (bit & 7)), bit >> 3);
    }
  }
  return bytes.toString('base64');
};

/** False only when it has no such run. The filter is the bytes of that text. */
export const mayHaveRun = (filter: Buffer, id: string): boolean =>
  filter.length > 0 &&
  bitsOf(id, filter.length * 8).every((bit) => (filter.readUInt8(bit >> 3) & (1 << (bit & 7))) !== 0);

/**
 * Ids that are made of idempotency keys are in no order of time, and clients choose those keys: so ids are hashed. Two hashes make all
 * looks (Kirsch and Mitzenmacher, 2006).
 */
const bitsOf = (id: string, bits: number): number[] => {
  const hash = createHash('sha256').update(id).digest();
  const [one, other] = [hash.readUInt32BE(0), hash.readUInt32BE(4) | 1];
  return Array.from({ length: LOOKS }, (_, look) => (one + look * (other >>> 0)) % bits);
};
