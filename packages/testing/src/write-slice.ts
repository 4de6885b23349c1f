import { writeFile } from 'node:fs/promises';
import { zstdCompressSync } from 'node:zlib';
import type { SliceLine } from '@runledger/contracts/slices/slice';

/** Writes a slice as `runledger capture` does: its header and what follows, and its end. */
export const writeSlice = (file: string, lines: readonly SliceLine[]): Promise<void> => {
  const facts = lines.filter(({ kind }) => kind === 'fact').length;
  const all: SliceLine[] = [...lines, { kind: 'end', facts }];
  return writeFile(file, zstdCompressSync(all.map((line) => `${JSON.stringify(line)}\n`).join('')));
};
