import { readFile } from 'node:fs/promises';
import type { Part } from './part.ts';

/** The memory of each process, as the kernel tells it; left out where it does not. */
export const residentBytes = async (
  parts: readonly Pick<Part, 'name' | 'pid'>[],
): Promise<{ readonly part: string; readonly bytes: number }[]> => {
  const told = await Promise.all(
    parts.map(async ({ name, pid }) => {
      const status = await readFile(`/proc/${pid()}/status`, 'utf8').catch(() => '');
      const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
      return kibibytes === undefined ? [] : [{ part: name, bytes: Number(kibibytes) * 1024 }];
    }),
  );
  return told.flat();
};
