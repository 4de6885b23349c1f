import { readFile } from 'node:fs/promises';
import type { Part } from './part.ts';

/** The resident memory of each process, without those for which the kernel reports none. */
export const residentBytes = async (
  parts: readonly Pick<Part, 'name' | 'pid'>[],
): Promise<{ readonly part: string; readonly bytes: number }[]> => {
  const found = await Promise.all(
    parts.map(async ({ name, pid }) => {
      const status = await readFile(`/proc/${pid()}/status`, 'utf8').catch(() => '');
      const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
      return kibibytes === undefined ? [] : [{ part: name, bytes: Number(kibibytes) * 1024 }];
    }),
  );
  return found.flat();
};
