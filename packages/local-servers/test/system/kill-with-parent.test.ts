import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { killWithParent } from '../../src/kill-with-parent.ts';

const LAUNCHING = fileURLToPath(new URL('fixtures/launch-a-group.ts', import.meta.url));

describe('a process that dies with its parent', () => {
  it('takes its process group down when its parent is killed with -9', async () => {
    const parent = spawn(process.execPath, [LAUNCHING], { stdio: ['ignore', 'pipe', 'inherit'] });
    killWithParent(parent);
    const [line] = await once(parent.stdout, 'data');
    const grandchild = Number(line);
    expect(isRunning(grandchild)).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => isRunning(grandchild), { timeout: 10_000 }).toBe(false);
  });
});

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
