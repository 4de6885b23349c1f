// What a run of a program costs: the runners of programs beside a bare spawn of the same program. See README.md.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { sleep } from '@runledger/resilience/abort';
import { processorTime } from '@runledger/testing/measuring';
import { openResidentProcesses } from '../src/residents/resident-processes.ts';
import { programRunner } from '../src/runners/program/program-runner.ts';
import { residentRunner } from '../src/runners/program/resident-runner.ts';
import type { Runner } from '../src/runners/runner.ts';
import { chooseIsolation, noIsolation } from '../src/isolation/choose-isolation.ts';
import { openUsers } from '../src/isolation/users.ts';
import { probeContainment, type Isolation } from '../src/isolation/isolation.ts';
import { ownMark } from '../src/supervision/stray-processes.ts';
import { openSupervisors } from '../src/supervision/supervisors.ts';
import { limited } from '../test/fixtures/limited.ts';
import { NO_CODE } from '../test/fixtures/no-code.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const [runs = 200, rounds = 3] = process.argv.slice(2).map(Number);
/** A fork copies the page tables of its process, and an executor has about so much memory more than this bench. */
const EXECUTOR_BYTES = 64 * 1024 * 1024;

const bare = async (): Promise<void> => {
  const program = spawn('/bin/true', { detached: true, stdio: 'pipe' });
  program.stdin.on('error', () => undefined).end('{}');
  program.stdout.resume();
  program.stderr.resume();
  await once(program, 'close');
};

const runOnce = async (runner: Runner, folder: string): Promise<void> => {
  const [inputDir, outputDir] = [join(folder, newUuid()), join(folder, newUuid())];
  const result = await runner.run(
    {
      org_id: ORG_ID,
      run_id: newUuid(),
      workflow: {},
      inputs: {},
      gpu: 'A10G',
      attempt: 1,
      choice: { kind: 'program', program: 'nothing' },
      slot: SLOT,
      inputDir,
      outputDir,
      fileInputs: [],
      secrets: {},
      secretInputs: [],
      inputTargets: [],
      deployment_id: null,
      workflow_version_id: 'version',
      fetchCode: NO_CODE,
      fetchKeptModel: NO_CODE,
      traceparent: null,
    },
    { begin: async () => true, progress: () => undefined, log: () => undefined, masked: (text) => text },
    new AbortController().signal,
  );
  if (result.outcome !== 'succeeded') throw new Error(`a run has not succeeded: ${JSON.stringify(result)}`);
};

const measure = async (what: string, one: () => Promise<void>): Promise<number> => {
  await one();
  const [before, begin] = [processorTime(), performance.now()];
  for (let run = 0; run < runs; run += 1) await one();
  const wall = (performance.now() - begin) / runs;
  const each = (processorTime() - before) / runs;
  print(`  ${what.padEnd(24)} ${each.toFixed(2).padStart(7)} ms of processor time, ${wall.toFixed(1)} ms`);
  return each;
};

/** The time of a supervisor that ends counts where it is waited for. */
const untilNoChild = async (): Promise<void> => {
  const children = `/proc/self/task/${process.pid}/children`;
  while (readFileSync(children, 'utf8').trim() !== '') await sleep(20);
};

const ORG_ID = newUuid();
const SLOT = { index: 0, gpu: 'A10G', device: '0' } as const;
const LIMITS = { startTimeoutMs: 60_000, idleTimeoutMs: null, maxRuns: null, preload: false };
/** Reads nothing but the id of a run, so that it takes next to nothing itself. */
const RESIDENT = `echo '{"type":"ready","makes_output_dir":true}'; while IFS='"' read -r _ _ _ _ _ _ _ run_id _; do
  echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; done`;

const measureRunner = async (
  [name, isolation]: readonly [string, Isolation],
  mode: 'once' | 'resident',
): Promise<number> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-programs-'));
  const mark = await ownMark(folder.path);
  const warn = (fields: object, message: string): void => print(`${message} ${JSON.stringify(fields)}`);
  const log = { ...silentLogger, warn };
  const workFolder = folder.path;
  using supervisors = openSupervisors({
    ...limited,
    isolation,
    mark,
    path: process.env['PATH'] ?? '',
    workFolder,
    log,
  });
  const processes = { env: process.env, workFolder, supervisors, mark, log };
  await using residents = openResidentProcesses({ ...processes, stopGraceMs: 10_000 });
  const host = {
    ...processes,
    executorName: 'bench',
    residents,
    fetchModel: NO_CODE,
    slots: [SLOT],
    cancelGraceMs: 10_000,
  };
  const runner =
    mode === 'once'
      ? programRunner({
          ...host,
          programs: new Map([['nothing', { command: '/bin/true', args: [], env: {} }]]),
        })
      : residentRunner(host, 'nothing', {
          command: '/bin/sh',
          args: ['-c', RESIDENT],
          env: {},
          limits: LIMITS,
        });
  return await measure(`${mode}, ${name}`, () => runOnce(runner, folder.path));
};

const WHY = 'chosen by the bench';
const users = await openUsers(undefined);
const isolations: [string, Isolation][] = [['group', noIsolation(WHY)]];
const containment = await probeContainment(users);
if (containment.kind === 'namespace')
  isolations.unshift(['namespace', { kind: 'none', containment, why: WHY, users, unfiltered: WHY }]);
for (const path of [process.env['PATH'] ?? '', '']) {
  const chosen = await chooseIsolation({ isWanted: true, path, hidden: [], users });
  if (chosen.kind !== 'none') isolations.unshift([chosen.kind, chosen]);
}
print(`${runs} runs of /bin/true in each line; the first one in a small process`);
const program = await measure('bare spawn', bare);
const asLarge = Buffer.alloc(EXECUTOR_BYTES, 1);
for (let round = 1; round <= rounds; round += 1) {
  print(`round ${round}, in a process with ${asLarge.length / 1024 / 1024} MiB more`);
  await measure('bare spawn', bare);
  for (const isolation of isolations) {
    const each = await measureRunner(isolation, 'once');
    await untilNoChild();
    print(
      `    beyond the first bare spawn: ${(each - program).toFixed(2)} ms, ratio ${(each / program).toFixed(2)}`,
    );
    await measureRunner(isolation, 'resident');
    await untilNoChild();
  }
}
