import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isolationNamed, type IsolationName } from '../../fixtures/isolations.ts';
import { ownMark, killOrphans } from '../../../src/supervision/stray-processes.ts';
import { processesOf, processesOfRuns } from '../../fixtures/marked-processes.ts';
import { start, temporaryFolder } from '../../runners/program/run-a-program.ts';

const executor = fileURLToPath(new URL('../../fixtures/executor-process.ts', import.meta.url));
const ignoresSigterm = `trap '' TERM; echo '{"progress": 0.5, "live_status": "busy"}'; while :; do sleep 600; done`;
/** Two processes: one stays, one goes to a session of its own and outlives its parent. */
const leavesItsGroup = `setsid sleep 600 & setsid sh -c "trap '' TERM; sleep 600 & wait" & sleep 0.2
  echo '{"progress": 0.5, "live_status": "busy"}'; wait`;

/** Resident programs that ignore every request to end: one in a run, one between runs. */
const residents = {
  'in a run': `trap '' TERM; echo '{"type":"ready"}'; read -r run; run_id=$(echo "$run" | cut -d '"' -f 8)
    echo "{\\"type\\":\\"progress\\",\\"run_id\\":\\"$run_id\\",\\"progress\\":0.5}"; while :; do sleep 600; done`,
  'between runs': `trap '' TERM; echo '{"type":"ready"}'; read -r run; run_id=$(echo "$run" | cut -d '"' -f 8)
    echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; while :; do sleep 600; done`,
};

const until = (condition: () => Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 20 });

const executorWith = async (
  isolation: IsolationName,
  script: string,
  mode: 'once' | 'resident' = 'once',
  users: 'one user' | '' = '',
): Promise<{ workFolder: string; kill: () => Promise<void> }> => {
  const workFolder = temporaryFolder();
  const child = spawn(process.execPath, [executor, isolation, workFolder, script, mode, users], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  killWithParent(child);
  const kill = async (): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await killOrphans(await ownMark(workFolder));
  });
  await once(child.stdout, 'data');
  return { workFolder, kill };
};

const group = await isolationNamed('group');
const hasUsers = typeof group !== 'string' && group.users.kind === 'each';
const namespaces = typeof (await isolationNamed('namespace')) !== 'string';

describe('kill -9 of an executor', () => {
  it('ends a program in its process group that ignores SIGTERM', async () => {
    const { workFolder, kill } = await executorWith('group', ignoresSigterm);
    expect((await processesOf(workFolder)).length).toBeGreaterThan(1);
    await kill();
    await until(async () => (await processesOf(workFolder)).length === 0);
  });

  it.skipIf(!namespaces)(
    'ends everything in its PID namespace, also processes that left the process group',
    async () => {
      const { workFolder, kill } = await executorWith('namespace', leavesItsGroup);
      expect((await processesOf(workFolder)).length).toBeGreaterThan(3);
      await kill();
      await until(async () => (await processesOf(workFolder)).length === 0);
    },
  );

  it.each(Object.entries(residents))(
    'ends a resident program %s, with either isolation',
    async (_, script) => {
      for (const isolation of namespaces ? (['group', 'namespace'] as const) : (['group'] as const)) {
        const { workFolder, kill } = await executorWith(isolation, script, 'resident');
        expect((await processesOfRuns(workFolder)).length).toBeGreaterThan(0);
        await kill();
        await until(async () => (await processesOf(workFolder)).length === 0);
      }
    },
  );

  it.skipIf(!hasUsers)(
    'ends everything of the user of a program, also processes that left the process group',
    async () => {
      const { workFolder, kill } = await executorWith('group', leavesItsGroup);
      expect((await processesOf(workFolder)).length).toBeGreaterThan(3);
      await kill();
      await until(async () => (await processesOf(workFolder)).length === 0);
    },
  );

  it('leaves processes outside the process group to the next start, which finds them by their mark', async () => {
    const { workFolder, kill } = await executorWith('group', leavesItsGroup, 'once', 'one user');
    await kill();
    await until(async () => (await processesOf(workFolder)).length === 3);
    const left = await processesOf(workFolder);
    const { killed, survivors } = await killOrphans(await ownMark(workFolder));
    expect(new Set(killed)).toEqual(new Set(left));
    expect(survivors).toEqual([]);
    expect(await processesOf(workFolder)).toEqual([]);
  });
});

describe('the search for orphans', () => {
  it('skips the processes of a live executor and of another work folder', async () => {
    const mine = await executorWith('group', leavesItsGroup, 'once', 'one user');
    const before = await processesOf(mine.workFolder);
    expect(await killOrphans(await ownMark(mine.workFolder))).toEqual({ killed: [], survivors: [] });
    await mine.kill();
    const other = join(temporaryFolder(), 'other');
    mkdirSync(other);
    expect(await killOrphans(await ownMark(other))).toEqual({ killed: [], survivors: [] });
    expect(before.length).toBeGreaterThan(3);
    await until(async () => (await processesOf(mine.workFolder)).length === 3);
  });
});

describe('a run in a process group', () => {
  it('kills processes that left the group when it ends', async () => {
    const { result, workFolder } = await start('setsid sleep 600 & sleep 0.2; exit 0');
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(await processesOfRuns(workFolder)).toEqual([]);
  });

  it('fails and leaves no process when the program kills its supervisor', async () => {
    const { result, workFolder } = await start('kill -9 $PPID; sleep 600');
    expect(await result).toMatchObject({ outcome: 'failed', error: { kind: 'crashed' } });
    expect(await processesOf(workFolder)).toEqual([]);
  });

  it('is killed without its supervisor when the program stopped the supervisor', async () => {
    const { result, placeFolder, workFolder, cancel } = await start(
      'kill -STOP $PPID; touch "$RUNLEDGER_OUTPUT_DIR/stopped"; sleep 600',
      { graceMs: 100 },
    );
    await until(async () =>
      readdirSync(placeFolder, { encoding: 'utf8', recursive: true }).some((path) =>
        path.endsWith('/stopped'),
      ),
    );
    cancel();
    expect(await result).toMatchObject({ outcome: 'cancelled', forced: true });
    expect(await processesOf(workFolder)).toEqual([]);
  });
});
