import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The position of the longest tests in the queue of their tier, from 0 to 1. vitest starts large files first, and these are small:
 * at the end of the queue they would run alone. They start apart, because each keeps a core busy.
 */
const LONGEST_FILES = [
  { path: 'services/gpu-executor/test/runners/program/resident-conformance.test.ts', startAt: 0 },
  { path: 'services/gpu-executor/test/runners/cog/cog-conformance.test.ts', startAt: 0.05 },
  { path: 'services/gpu-executor/test/runners/comfyui/comfyui-conformance.test.ts', startAt: 0.1 },
  { path: 'services/gpu-executor/test/runners/program/program-conformance.test.ts', startAt: 0.15 },
  { path: 'services/gpu-executor/test/runners/program/helper-packages.test.ts', startAt: 0.2 },
  { path: 'apps/soak/test/system/soak.test.ts', startAt: 0 },
  { path: 'apps/simulate/test/system/mutations/mutations.test.ts', startAt: 0.1 },
  { path: 'packages/event-log/test/system/migrate/migrate.test.ts', startAt: 0.2 },
  { path: 'apps/simulate/test/system/seeds.test.ts', startAt: 0.3 },
  { path: 'apps/standalone/test/system/pages/fresh-clone.test.ts', startAt: 0.3 },
  { path: 'apps/soak/test/system/soak-of-brokers.test.ts', startAt: 0.6 },
];

class LongestFilesEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    for (const { path, startAt } of LONGEST_FILES) {
      const index = sorted.findIndex(({ moduleId }) => moduleId.endsWith(`/${path}`));
      if (index >= 0) sorted.splice(Math.round(startAt * (sorted.length - 1)), 0, ...sorted.splice(index, 1));
    }
    return sorted;
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
    globalSetup: 'packages/testing/src/servers/global-setup.ts',
    // Far more than a test needs: on a shared machine a test may be slow, which is not a defect.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Tests of both tiers use real servers, leases and time limits of seconds, so a machine that stalls can fail one. CI tries it
    // once more; the end of the output names it, with what failed. What a property found is never tried again, because the next
    // try has another seed; neither is the soak.
    retry: process.env['CI'] === 'true' ? { count: 1, condition: /^(?!Property failed)/ } : 0,
    sequence: { sequencer: LongestFilesEarly },
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
