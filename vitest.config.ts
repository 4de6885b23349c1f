import { join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { keptSeconds } from './scripts/test-seconds.ts';

/** The slowest test files of each tier, slowest first: what a fresh clone knows before its first run. */
const KNOWN_SLOWEST: readonly string[] = [
  'services/gpu-executor/test/runner/resident/resident-conformance.test.ts',
  'services/gpu-executor/test/runner/cog/cog-conformance.test.ts',
  'services/gpu-executor/test/runner/comfyui/comfyui-conformance.test.ts',
  'services/gpu-executor/test/runner/program/program-conformance.test.ts',
  'services/gpu-executor/test/runner/resident/helper-packages.test.ts',
  'apps/soak/test/system/soak.test.ts',
  'apps/simulate/test/system/mutations/mutations.test.ts',
  'packages/event-log/test/system/migrate/migrate.test.ts',
  'apps/simulate/test/system/seeds.test.ts',
  'apps/standalone/test/system/pages/fresh-clone.test.ts',
  'apps/soak/test/system/soak-of-brokers.test.ts',
];

/** A slow file that starts last runs alone, while the other cores wait. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const kept = keptSeconds();
    const secondsOf = ({ moduleId }: TestSpecification): number => {
      const file = relative(import.meta.dirname, moduleId);
      return kept[file]?.seconds ?? (KNOWN_SLOWEST.includes(file) ? 1_000 - KNOWN_SLOWEST.indexOf(file) : 1);
    };
    // Files that nobody knows keep the order of vitest: the largest first.
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => secondsOf(b) - secondsOf(a));
  }
}

const clientSource = (file: string): string => join(import.meta.dirname, 'packages/client/src', file);

const TEST_FILES = ['{packages,services,apps}/*/test/**/*.test.ts', 'scripts/test/**/*.test.ts'];
const SYSTEM_TEST_FILES = TEST_FILES.map((pattern) => pattern.replace('**', '**/system/**'));
const NIGHTLY_TEST_FILES = TEST_FILES.map((pattern) => pattern.replace('**', '**/nightly/**'));

export default defineConfig({
  // Its package is built when it is packed. Tests use the source, and one of them what is packed.
  resolve: {
    alias: [
      { find: /^@runledger\/client$/, replacement: clientSource('main.ts') },
      { find: '@runledger/client/node', replacement: clientSource('node.ts') },
    ],
  },
  test: {
    setupFiles: 'packages/testing/src/measuring/file-cost.ts',
    globalSetup: 'packages/testing/src/servers/global-setup.ts',
    // Far more than a test needs: on a shared machine a test may be slow, which is not a defect.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Tests of both tiers use real servers, leases and time limits of seconds, so a machine that stalls can fail one. CI tries it
    // once more; the end of the output names it, with what failed. What a property found is never tried again, because the next
    // try has another seed; neither is the soak.
    retry: process.env['CI'] === 'true' ? { count: 1, condition: /^(?!Property failed)/ } : 0,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        extends: true,
        // Pure tests, and tests of one service: `npm test`.
        test: {
          name: 'service',
          include: TEST_FILES,
          exclude: [...SYSTEM_TEST_FILES, ...NIGHTLY_TEST_FILES],
          isolate: false,
          maxWorkers: 4,
        },
      },
      {
        extends: true,
        // Kills, pauses, clusters, many processes: `npm run test:system`. These tests mostly wait for processes, so two cores
        // can serve five workers.
        test: {
          name: 'system',
          include: SYSTEM_TEST_FILES,
          maxWorkers: 5,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        // What takes an hour: `npm run test:nightly`. One after the other, as each brings its own load.
        test: {
          name: 'nightly',
          include: NIGHTLY_TEST_FILES,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
