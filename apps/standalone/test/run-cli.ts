import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../cli/bin/runledger.mjs', import.meta.url));

/** Runs `runledger` as a person would beside a standalone, and gives what it said. Any exit code but 0 throws. */
export const runCli = async (
  args: readonly string[],
  dataFolder: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> => {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [command, ...args], {
    env: { PATH, HOME, RUNLEDGER_DATA_DIR: dataFolder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(`runledger ${args.join(' ')} ended with ${String(code)}: ${stderr}`);
  return { stdout, stderr };
};
