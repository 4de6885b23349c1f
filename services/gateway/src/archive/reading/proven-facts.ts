import type { ReceiptSegment } from '@runledger/contracts/http/receipts';
import { lifecycleFilter, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { merklePath } from '@runledger/event-log/archive/merkle';
import { readWholeSegment } from '../segment/read-segment.ts';
import { leafOfLine } from '../segment/segment-line.ts';
import { ArchiveUnavailable, type ArchiveObjects } from '../store/archive-objects.ts';
import { orDamaged, type ArchivedPart } from './archived-segments.ts';

/**
 * The paths from the lifecycle facts of a run to the Merkle roots of their segments. Each segment is read as a whole, since a path has hashes of
 * other messages. @throws {ArchiveUnavailable}
 */
export type ProveFacts = (key: RunKey, parts: readonly ArchivedPart[]) => Promise<ReceiptSegment[]>;

export const provenFacts =
  (objects: Pick<ArchiveObjects, 'find'>): ProveFacts =>
  async (key, parts) => {
    const proven: ReceiptSegment[] = [];
    for (const part of parts) {
      const { first_sequence, last_sequence, messages, root } = part.segment;
      const facts = await pathsOf(objects, key, part);
      if (facts.length > 0) proven.push({ first_sequence, last_sequence, messages, root, facts });
    }
    return proven;
  };

const pathsOf = async (
  objects: Pick<ArchiveObjects, 'find'>,
  key: RunKey,
  { segment, lines }: ArchivedPart,
): Promise<ReceiptSegment['facts']> => {
  const fence = lifecycleFilter(key);
  // Only what is fenced as a fact: a receipt says nothing of other messages.
  const wanted = new Set(lines.flatMap((line) => (line.fence === fence ? [line.sequence] : [])));
  if (wanted.size === 0) return [];
  const read = await objects.find(segment.object);
  if (!read) throw new ArchiveUnavailable(`The object ${segment.object} of a segment is missing.`);
  const all = await orDamaged(readWholeSegment(segment, read));
  const leaves = all.map(leafOfLine);
  return all.flatMap(({ sequence }, index) =>
    wanted.has(sequence) ? [{ sequence, index, path: merklePath(leaves, index) }] : [],
  );
};
