import { describe, expect, it } from 'vitest';
import { openPrograms } from '../runners/program/run-a-program.ts';

const MIB = 1024 ** 2;

describe('a run', () => {
  it('fails when a process of it takes more processor time than it may, and says what to do', async () => {
    const start = await openPrograms({ limits: { cpuSeconds: 2 } });
    expect(await start('while :; do :; done').result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'limit_exceeded',
        signal: 'SIGXCPU',
        message: expect.stringContaining('EXECUTOR_RUN_CPU_S'),
      },
    });
  });

  it('fails as out of memory when Python cannot have more than it may', async () => {
    const start = await openPrograms({ limits: { memoryBytes: 1_024 * MIB } });
    expect(await start(`exec python3 -c 'bytearray(${2_048 * MIB})'`).result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'out_of_memory',
        exit_code: 1,
        retryable: true,
        message: expect.stringContaining('The program script ran out of memory: MemoryError'),
      },
    });
  });

  it('fails when its folders have more than they may, and says what to do', async () => {
    const start = await openPrograms({ limits: { diskBytes: 8 * MIB } });
    const script = 'for i in 1 2 3; do head -c 4194304 /dev/zero >$TMPDIR/$i; done; exec sleep 60';
    expect(await start(script).result).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'limit_exceeded',
        retryable: false,
        message:
          'The program script was killed: its folders had more than the 8388608 bytes that its operator gives it (EXECUTOR_RUN_DISK_BYTES).',
      },
    });
  });
});
