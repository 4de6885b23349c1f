import { describe, expect, it } from 'vitest';
import { readOwnLimits } from '../../src/supervision/program-limits.ts';

describe('the resources of an entry', () => {
  it('replace those of the settings', () => {
    expect(readOwnLimits({})).toEqual({});
    expect(
      readOwnLimits({
        memory_bytes: 1024 ** 3,
        processes: 64,
        open_files: 128,
        disk_bytes: 1024 ** 2,
        cpus: 1.5,
      }),
    ).toEqual({ memoryBytes: 1024 ** 3, processes: 64, openFiles: 128, diskBytes: 1024 ** 2, cpus: 1.5 });
  });

  it.each([
    [[], 'are not an object'],
    [
      { memory: 1 },
      'have "memory", which is none of memory_bytes, processes, open_files, disk_bytes, cpus, cpu_s',
    ],
    [{ constructor: 1 }, 'have "constructor", which is none of'],
    [{ memory_bytes: 1024 }, 'memory_bytes in resources is not a number from 1073741824'],
    [{ processes: 64.5 }, 'processes in resources is not a number from 32'],
    [{ open_files: '1024' }, 'open_files in resources is not a number from 64'],
    [{ cpus: 0 }, 'cpus in resources is not a number from 0.01'],
    [{ disk_bytes: null }, 'disk_bytes in resources is not a number from 1048576'],
  ])('are refused when they are wrong: %j', (given, why) => {
    expect(readOwnLimits(given)).toContain(why);
  });
});
