import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'runledger-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

interface Surroundings {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

/** Where a service at this URL is known. */
export const at = (url: string): { env: Record<string, string> } => ({
  env: { RUNLEDGER_URL: url, RUNLEDGER_API_KEY: 'rl_key' },
});

/** Runs the command as a person does, in an empty folder unless `cwd` says otherwise, without a terminal. */
export const runCli = async (
  args: readonly string[],
  { env = {}, cwd = temporaryFolder() }: Surroundings = {},
): Promise<Result> => {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = await once(child, 'close');
  return { code: typeof code === 'number' ? code : null, stdout, stderr };
};
