import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Where in the queue the longest files stand, from 0 to 1. vitest begins large files first, and these are small: at its
 * end they would run alone for minutes. Not side by side either: each keeps a core busy.
 */
const LONGEST = [
  { path: 'apps/soak/test/system/soak.test.ts', at: 0 },
  { path: 'scripts/test/system/fresh-clone.test.ts', at: 0.4 },
];

class LongestNotLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    for (const { path, at } of LONGEST) {
      const found = sorted.findIndex(({ moduleId }) => moduleId.endsWith(`/${path}`));
      if (found >= 0) sorted.splice(Math.round(at * (sorted.length - 1)), 0, ...sorted.splice(found, 1));
    }
    return sorted;
  }
}

export default defineConfig({
  test: {
    include: ['{packages,services,apps}/*/test/**/*.test.ts', 'scripts/test/**/*.test.ts'],
    globalSetup: 'packages/testing/src/servers/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Most of the time of these tests is waiting for what real processes do: two cores have room for a third.
    maxWorkers: 3,
    // Where nobody is there to look again: on a machine that was short of time for seconds, a lease is lost or a wait is over
    // in a test that is about neither. What needed it is shown as "retry x1". The soak has none: each seed counts.
    retry: process.env['CI'] === 'true' ? 1 : 0,
    sequence: { sequencer: LongestNotLast },
  },
});
