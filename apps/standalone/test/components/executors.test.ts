import { executorToken } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { executorsOf } from '../../src/components/executors.ts';

describe('the executors of a standalone', () => {
  it('are one with the given name', () => {
    expect(executorsOf('a box', 1, '/work')).toEqual([
      { process: 'gpu-executor', name: 'a-box', workFolder: '/work' },
    ]);
  });

  it('have a process, a name and a work folder of their own, and the first one keeps its own', () => {
    expect(executorsOf('a box', 3, '/work')).toEqual([
      { process: 'gpu-executor', name: 'a-box', workFolder: '/work' },
      { process: 'gpu-executor-2', name: 'a-box-2', workFolder: '/work-2' },
      { process: 'gpu-executor-3', name: 'a-box-3', workFolder: '/work-3' },
    ]);
  });

  it('have different tokens as names, however long the given one is', () => {
    const names = executorsOf('x'.repeat(60), 64, '/work').map(({ name }) => name);
    expect(new Set(names).size).toBe(64);
    expect(names.map(executorToken)).toEqual(names);
  });
});
