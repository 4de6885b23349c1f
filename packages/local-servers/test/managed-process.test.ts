import { describe, expect, it } from 'vitest';
import { launchProcess } from '../src/managed-process.ts';

const script = (text: string) => ({ file: '/bin/sh', args: ['-c', text] });

describe('a launched process', () => {
  it('reports its lines, its last lines and its exit status', async () => {
    const lines: string[] = [];
    const launched = launchProcess({
      ...script('seq 1 20; exit 3'),
      onLine: (line) => void lines.push(line),
    });
    expect(launched.exit()).toBeUndefined();
    expect(await launched.exited).toEqual({ code: 3, signal: null });
    expect(launched.exit()).toEqual({ code: 3, signal: null });
    expect(lines).toHaveLength(20);
    expect(launched.tail()).toMatch(/^9\n[^]*\n20$/);
  });

  it('ends with the reason if it cannot start', async () => {
    const launched = launchProcess({ file: '/nowhere/at-all', args: [] });
    expect(await launched.exited).toMatchObject({ code: null, failure: expect.stringContaining('ENOENT') });
    expect(launched.pid).toBeUndefined();
    expect(await launched.stop()).toMatchObject({ failure: expect.any(String) });
  });

  it('is killed at the deadline of a stop if it ignores SIGTERM', async () => {
    const ready = Promise.withResolvers<void>();
    const launched = launchProcess({
      ...script('trap "" TERM; echo ready; while :; do sleep 0.01; done'),
      stopWithinMs: 50,
      onLine: () => ready.resolve(),
    });
    await ready.promise;
    expect(await launched.stop()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await launched.stop()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('ends at a stop, even while it is paused', async () => {
    const launched = launchProcess({ file: '/bin/sleep', args: ['60'] });
    await launched.pause();
    expect(await launched.stop()).toEqual({ code: null, signal: 'SIGTERM' });
    await launched.pause();
  });
});
