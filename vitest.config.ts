import { join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { keptSeconds } from './scripts/test-seconds.ts';

/** The slowest test files of each tier, slowest first: what a fresh clone knows before its first run. */
const KNOWN_SLOWEST: readonly string[] = [
  'services/gateway/test/views/run-views.test.ts',
  'services/gateway/test/views/rebuild/rebuilds.test.ts',
  'services/gateway/test/views/shared-views/replaced-views.test.ts',
  'services/gateway/test/door/server/every-operation.test.ts',
  'services/gateway/test/runs/facts/log-capacity.test.ts',
  'services/gateway/test/records/people/sign-in.test.ts',
  'services/gpu-executor/test/code/code-runner.test.ts',
  'services/gpu-executor/test/folders/program-cache.test.ts',
  'services/gateway/test/archive/archive.test.ts',
  'services/gpu-executor/test/runners/program/program-runner.test.ts',
  'services/gateway/test/records/keys/sealing-routes.test.ts',
  'services/gateway/test/errors/every-code.test.ts',
  'services/gateway/test/files/outputs/s3-store.test.ts',
  'services/gpu-executor/test/runners/program/resident-runner.test.ts',
  'apps/standalone/test/system/pages/fresh-clone.test.ts',
  'services/gateway/test/system/cluster/cut-off.test.ts',
  'apps/soak/test/system/survival.test.ts',
  'apps/simulate/test/system/seeds.test.ts',
  'apps/standalone/test/system/console/pages.test.ts',
  'scripts/test/system/nats-watchdog.test.ts',
  'apps/standalone/test/system/stop.test.ts',
  'services/gateway/test/system/records/catalogue/deletion.test.ts',
  'services/notifier/test/system/timers-full.test.ts',
  'services/gpu-executor/test/system/runners/cog/real-server.test.ts',
  'services/gpu-executor/test/system/service/stop.test.ts',
  'apps/standalone/test/system/hostile/forged-facts.test.ts',
  'packages/event-log/test/system/read/fresh-reads.test.ts',
  'services/gpu-executor/test/system/hostile/hostile-programs.test.ts',
  'apps/standalone/test/system/console/access.test.ts',
  'packages/event-log/test/system/read/leader-behind.test.ts',
  'apps/soak/test/system/separate-processes/waiting.test.ts',
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
        // Pure tests, and tests of one service: `npm test`. A third of their time is waiting, so two cores can serve six workers.
        test: {
          name: 'service',
          include: TEST_FILES,
          exclude: [...SYSTEM_TEST_FILES, ...NIGHTLY_TEST_FILES],
          isolate: false,
          maxWorkers: 6,
          // What a test makes lives longer than the 16 MiB for young objects last: copying it takes a tenth of the processor time. They have
          // 64 MiB from the start, and keep them while the worker waits for its servers, which V8 takes as a time to save memory.
          execArgv: ['--min-semi-space-size=64', '--max-semi-space-size=64', '--no-memory-reducer'],
        },
      },
      {
        extends: true,
        // Kills, pauses, clusters, many processes: `npm run test:system`. These tests mostly wait for processes: each of five workers
        // kept three tenths of a core busy, so two cores can serve six.
        test: {
          name: 'system',
          include: SYSTEM_TEST_FILES,
          isolate: false,
          maxWorkers: 6,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        // Mutations, long soaks, orders, benches, pictures, most pages, the client for Python: `npm run test:nightly`. One after the other, as each brings its own load.
        // The same command runs both other tiers with every combination and more random cases (packages/testing/src/random/cases.ts).
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
