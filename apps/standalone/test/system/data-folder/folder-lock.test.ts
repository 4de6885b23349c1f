import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NOON, held, readHolder, refusal } from '../../fixtures/opened-folder.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const holdElsewhere = async (
  folder: string,
): Promise<{ pid: number | undefined; kill9: () => Promise<void> }> => {
  const program = fileURLToPath(new URL('./hold-folder.ts', import.meta.url));
  const child = spawn(process.execPath, ['--expose-gc', program, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithParent(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  expect(String(line)).toBe('holding\n');
  return {
    pid: child.pid,
    kill9: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
};

describe('the lock of a data folder', () => {
  it('holds between processes, and is free after a kill', async () => {
    const path = temporaryFolder();
    const other = await holdElsewhere(path);
    expect(await refusal(path)).toContain(`process ${other.pid} has held it since`);
    await other.kill9();
    expect(readHolder(path)).toMatchObject({ pid: other.pid });
    await held(path);
    expect(readHolder(path)).toMatchObject({ pid: process.pid, since: NOON });
  });
});
