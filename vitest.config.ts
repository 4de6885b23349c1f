import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These take minutes, mostly waiting. Begun last, they would run alone for as long; vitest begins large files first. */
const LONGEST_FIRST = [
  'apps/soak/test/soak.test.ts',
  'scripts/fresh-clone.test.ts',
  'apps/standalone/test/kill.test.ts',
  'apps/soak/test/survival/survival.test.ts',
  'apps/standalone/test/webhook-kill.test.ts',
  'services/notifier/test/kill.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST_FIRST.findIndex((path) => moduleId.endsWith(`/${path}`));
      return at < 0 ? LONGEST_FIRST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['{packages,services,apps}/*/test/**/*.test.ts', 'scripts/*.test.ts'],
    globalSetup: 'packages/testing/src/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Most of the time of these tests is waiting for what real processes do: two cores have room for a third.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
});
