import { describe, expect, it } from 'vitest';
import { aConfig } from '../../fixtures/gateway/a-kit.ts';

const MiB = 1024 ** 2;
const text = (mebibytes: number): string => String(mebibytes * MiB);

const PAIRS = [
  ['RUNLEDGER_OUTPUT_RUN_MAX_BYTES', 'RUNLEDGER_QUOTA_OUTPUT_BYTES'],
  ['RUNLEDGER_FILE_MAX_BYTES', 'RUNLEDGER_QUOTA_FILE_BYTES'],
] as const;

describe.each(PAIRS)('%s and %s', (one, all) => {
  it('are as they are by default', () => {
    expect(aConfig()[one]).toBeLessThanOrEqual(aConfig()[all]);
  });

  it('follow a lower quota', () => {
    const config = aConfig({ [all]: text(10) });
    expect([config[one], config[all]]).toEqual([10 * MiB, 10 * MiB]);
  });

  it('follow a higher limit of one', () => {
    const config = aConfig({ [one]: text(4_096) });
    expect([config[one], config[all]]).toEqual([4_096 * MiB, 4_096 * MiB]);
  });

  it('stay as they are set, when they fit', () => {
    const config = aConfig({ [one]: text(5), [all]: text(10) });
    expect([config[one], config[all]]).toEqual([5 * MiB, 10 * MiB]);
  });

  it('are refused when they are set against each other, and both are named', () => {
    expect(() => aConfig({ [one]: text(20), [all]: text(10) })).toThrow(
      new RegExp(`${one} is ${20 * MiB}, .* at most ${all} \\(${10 * MiB}\\), or not set`),
    );
  });
});
