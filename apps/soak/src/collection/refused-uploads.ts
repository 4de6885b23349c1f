import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Evidence } from '../evidence/evidence.ts';

/** What executors log about a file that they send again. Clients see nothing of it. */
export const refusedUploads = async (folder: string): Promise<Evidence['refusedUploads']> => {
  const logs = join(folder, 'logs');
  const names = (await readdir(logs)).filter((name) => name.startsWith('gpu-executor'));
  const texts = await Promise.all(names.map((name) => readFile(join(logs, name), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.includes('"storing a file again"'))
    .flatMap((line) => {
      const { run_id, why } = JSON.parse(line) as { readonly run_id?: string; readonly why?: string };
      return run_id === undefined || why === undefined ? [] : [{ run: run_id, why }];
    });
};
