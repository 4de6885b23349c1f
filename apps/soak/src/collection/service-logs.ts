import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Evidence } from '../evidence/evidence.ts';

/** What executors log about a file that they send again. Clients see nothing of it. */
export const refusedUploads = async (folder: string): Promise<Evidence['refusedUploads']> =>
  (await linesOf(folder, 'gpu-executor', 'storing a file again')).flatMap((line) => {
    const { run_id, why } = line as { readonly run_id?: string; readonly why?: string };
    return run_id === undefined || why === undefined ? [] : [{ run: run_id, why }];
  });

/** How many messages left the log before gateways had archived them. */
export const unarchivedMessages = async (folder: string): Promise<number> =>
  (await linesOf(folder, 'gateway', 'messages left the log before they were archived')).reduce<number>(
    (sum, line) => sum + (line as { readonly messages: number }).messages,
    0,
  );

/** The lines with this message that processes of a service have logged. */
const linesOf = async (folder: string, service: string, message: string): Promise<unknown[]> => {
  const logs = join(folder, 'logs');
  const names = (await readdir(logs)).filter((name) => name.startsWith(service));
  const texts = await Promise.all(names.map((name) => readFile(join(logs, name), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.includes(JSON.stringify(message)))
    .map((line): unknown => JSON.parse(line));
};
