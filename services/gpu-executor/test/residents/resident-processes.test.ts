import { readdirSync } from 'node:fs';
import { onTestFinished, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { openResidentProcesses, type ResidentProcesses } from '../../src/residents/resident-processes.ts';
import type { Lease } from '../../src/residents/start-process.ts';
import { ownMark } from '../../src/supervision/stray-processes.ts';
import { openSupervisors } from '../../src/supervision/supervisors.ts';
import { limited } from '../fixtures/limited.ts';
import { processesOfRuns, supervisorsOf } from '../fixtures/marked-processes.ts';
import { halfOf, isolations, ORG_ID, OTHER_ORG_ID } from '../fixtures/isolations.ts';
import { temporaryFolder, writableFolder } from '../runners/program/run-a-program.ts';
import { ECHO, shellResident, type Shell } from './shell-resident.ts';

const SLOTS = [0, 1].map((index) => ({ index, gpu: 'A10G', device: String(index) }) as const);
const [SLOT] = SLOTS as [(typeof SLOTS)[number]];
const never = new AbortController().signal;

const until = (condition: () => boolean | Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 10 });

describe.each(halfOf(isolations, 0))('resident processes %s', (_, isolation) => {
  const open = async (): Promise<{ residents: ResidentProcesses; workFolder: string }> => {
    const workFolder = temporaryFolder();
    const mark = await ownMark(workFolder);
    const log = silentLogger;
    const supervisors = openSupervisors({
      ...limited,
      isolation,
      mark,
      path: process.env.PATH ?? '',
      workFolder,
      log,
    });
    onTestFinished(() => supervisors[Symbol.dispose]());
    const residents = openResidentProcesses({
      env: process.env,
      supervisors,
      mark,
      stopGraceMs: 300,
      log,
    });
    return { residents, workFolder };
  };

  const leased = async (
    shells: ReturnType<typeof residentsOf>,
    slot: (typeof SLOTS)[number] = SLOT,
    org_id = ORG_ID,
    workflow_version_id = 'version',
  ): Promise<Lease<Shell>> => {
    const acquired = await shells.acquire({ slot, org_id, workflow_version_id }, never);
    if (acquired.kind !== 'ready') throw new Error(JSON.stringify(acquired));
    return acquired.lease;
  };
  const residentsOf = (residents: ResidentProcesses, ...spec: Parameters<typeof shellResident>) =>
    residents.open(shellResident(...spec), SLOTS);

  /** What the process of a lease responds. */
  const responseTo = async ({ connection }: Lease<Shell>, line: string): Promise<string | undefined> => {
    const { length } = connection.lines;
    connection.say(line);
    await until(() => connection.lines.length > length);
    return connection.lines.at(-1);
  };

  it('serve the runs of a slot one after the other, and load once', async () => {
    const shells = residentsOf((await open()).residents, 'echo', `sleep 0.2; ${ECHO}`);
    const first = await leased(shells);
    expect(first.loadingMs).toBeGreaterThanOrEqual(200);
    const response = await responseTo(first, 'hello');
    first.release();
    const second = await leased(shells);
    expect(second.loadingMs).toBe(0);
    expect(await responseTo(second, 'hello')).toBe(response);
    // Each slot has its own.
    expect((await leased(shells, SLOTS[1])).connection).not.toBe(second.connection);
  });

  it('say which versions they executed last, as long as they live', async () => {
    const { residents } = await open();
    const shells = residentsOf(residents, 'echo', ECHO);
    let changes = 0;
    residents.onLoadedChange(() => (changes += 1));
    expect(residents.loaded()).toEqual([]);
    const first = await leased(shells, SLOT, ORG_ID, 'one');
    const other = await leased(shells, SLOTS[1], ORG_ID, 'two');
    const loaded = (slot: (typeof SLOTS)[number] | undefined, workflow_version_id: string) => ({
      slot: slot?.index,
      workflow_version_id,
    });
    expect(residents.loaded()).toEqual([loaded(SLOT, 'one'), loaded(SLOTS[1], 'two')]);
    first.release();
    (await leased(shells, SLOT, ORG_ID, 'three')).release();
    expect(residents.loaded()).toEqual([loaded(SLOT, 'three'), loaded(SLOTS[1], 'two')]);
    const before = changes;
    await other.discard();
    expect(residents.loaded()).toEqual([loaded(SLOT, 'three')]);
    expect(changes).toBeGreaterThan(before);
    const another = residentsOf(residents, 'other', ECHO);
    const acquiring = leased(another, SLOT, ORG_ID, 'four');
    expect(residents.loaded()).toEqual([]);
    await acquiring;
    expect(residents.loaded()).toEqual([loaded(SLOT, 'four')]);
  });

  it('count as loading only what the run waited for', async () => {
    const shells = residentsOf((await open()).residents, 'echo', `sleep 0.6; ${ECHO}`, { preload: true });
    const from = performance.now();
    const { loadingMs } = await leased(shells);
    expect(loadingMs).toBeGreaterThan(0);
    expect(loadingMs).toBeLessThanOrEqual(performance.now() - from);
  });

  it.each([
    ['ends', 'exit 3', { kind: 'ended', end: { kind: 'exited', code: 3 } }],
    ['cannot become ready', 'echo "no: no weights"; sleep 60', { kind: 'not_ready', why: 'no weights' }],
  ])('refuse the run when the process %s, and start it anew for the next', async (_what, script, why) => {
    const { residents } = await open();
    const folder = writableFolder();
    const again = `${folder}/again`;
    const onceBroken = `if test -e ${again}; then ${ECHO}; else touch ${again}; ${script}; fi`;
    const shells = residentsOf(residents, 'broken', onceBroken, {}, [folder]);
    expect(
      await shells.acquire({ slot: SLOT, org_id: ORG_ID, workflow_version_id: 'version' }, never),
    ).toMatchObject({
      kind: 'refused',
      why,
    });
    expect(
      await shells.acquire({ slot: SLOT, org_id: ORG_ID, workflow_version_id: 'version' }, never),
    ).toMatchObject({ kind: 'ready' });
  });

  it('refuse the run when the process is not ready in time', async () => {
    const { residents, workFolder } = await open();
    const shells = residentsOf(residents, 'slow', 'sleep 600', { startTimeoutMs: 300 });
    expect(
      await shells.acquire({ slot: SLOT, org_id: ORG_ID, workflow_version_id: 'version' }, never),
    ).toMatchObject({
      why: { kind: 'timeout', ms: 300 },
    });
    await until(async () => (await processesOfRuns(workFolder)).length === 0);
  });

  it('that crash end the lease of their run, and are started anew for the next one', async () => {
    const crashing = `echo ready; while read -r line; do kill -9 $$; done`;
    const shells = residentsOf((await open()).residents, 'crashing', crashing);
    const one = await leased(shells);
    one.connection.say('crash');
    expect(await one.ended).toMatchObject({ kind: 'exited', signal: 'SIGKILL' });
    const next = await leased(shells);
    expect(next.connection).not.toBe(one.connection);
    expect(next.loadingMs).toBeGreaterThan(0);
  });

  it('leave nothing behind when they are stopped, discarded or disposed', async () => {
    const { residents, workFolder } = await open();
    const stubborn = `trap '' TERM; echo ready; while :; do sleep 1; done`;
    const shells = residentsOf(residents, 'stubborn', stubborn);
    const lease = await leased(shells);
    await lease.discard();
    expect(await processesOfRuns(workFolder)).toEqual([]);
    (await leased(shells)).release();
    await residents[Symbol.asyncDispose]();
    expect(await processesOfRuns(workFolder)).toEqual([]);
    expect(readdirSync(workFolder)).toEqual([]);
  });

  it('have their standard streams, and no other descriptor of the executor', async () => {
    const script = `echo ready; while read -r line; do
      set --; for n in 0 1 2 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$n && set -- "$@" $n; done; echo "$*"; done`;
    const shells = residentsOf((await open()).residents, 'descriptors', script);
    expect(await responseTo(await leased(shells), 'which')).toBe('0 1 2');
  });

  it('have a supervisor each, which ends with them', async () => {
    const { residents, workFolder } = await open();
    const shells = residentsOf(residents, 'echo', ECHO);
    const lease = await leased(shells);
    const first = await supervisorsOf(workFolder);
    await leased(shells, SLOTS[1]);
    expect(await supervisorsOf(workFolder)).toHaveLength(2 * first.length);
    await lease.discard();
    await until(async () => (await supervisorsOf(workFolder)).length === first.length);
    expect(await supervisorsOf(workFolder)).not.toContain(first[0]);
  });

  it('give their slot to another one', async () => {
    const { residents, workFolder } = await open();
    const one = residentsOf(residents, 'one', ECHO);
    const other = residentsOf(residents, 'other', ECHO);
    (await leased(one)).release();
    const before = await processesOfRuns(workFolder);
    (await leased(other)).release();
    const now = await processesOfRuns(workFolder);
    expect(now).toHaveLength(1);
    expect(now).not.toEqual(before);
    expect((await leased(one)).loadingMs).toBeGreaterThan(0);
  });

  it.each([
    ['are started anew for a run of another organisation', false, false],
    ['serve several organisations when they are shared', true, true],
  ])('%s', async (_what, shared, isSame) => {
    const { residents } = await open();
    const shells = residents.open({ ...shellResident('echo', ECHO), shared }, SLOTS);
    const first = await leased(shells);
    first.release();
    const second = await leased(shells, SLOT, OTHER_ORG_ID);
    expect(second.connection === first.connection).toBe(isSame);
    second.release();
  });

  it('end after a while without a run, and after their last run', async () => {
    const { residents, workFolder } = await open();
    const brief = residentsOf(residents, 'brief', ECHO, { idleTimeoutMs: 100 });
    (await leased(brief)).release();
    await until(async () => (await processesOfRuns(workFolder)).length === 0);
    const few = residentsOf(residents, 'few', ECHO, { maxRuns: 2 });
    const used: Shell[] = [];
    for (let run = 0; run < 3; run += 1) {
      const lease = await leased(few);
      expect(await responseTo(lease, 'hello')).toMatch('hello');
      used.push(lease.connection);
      lease.release();
    }
    expect(used[1]).toBe(used[0]);
    expect(used[2]).not.toBe(used[0]);
  });

  it('are loaded before a run, and stay as long as they are kept, whatever their idle time is', async () => {
    const { residents, workFolder } = await open();
    const shells = residentsOf(residents, 'echo', ECHO, { idleTimeoutMs: 50 });
    const kept = { slot: SLOT, org_id: ORG_ID, workflow_version_id: 'version' };
    const keep = (ms: number) => shells.keep(kept, performance.now() + ms).state;
    expect(['off', 'loading']).toContain(keep(60_000));
    await until(() => keep(60_000) === 'loaded');
    expect(residents.loaded()).toEqual([{ slot: 0, workflow_version_id: 'version' }]);
    const lease = await leased(shells);
    expect(lease.loadingMs).toBe(0);
    lease.release();
    const brief = residentsOf(residents, 'brief', ECHO, { idleTimeoutMs: 50 });
    const keepBrief = () => brief.keep({ ...kept, slot: SLOTS[1] ?? SLOT }, performance.now() + 300).state;
    await until(() => keepBrief() === 'loaded');
    await until(() => residents.loaded().length === 1);
    expect(await processesOfRuns(workFolder)).toHaveLength(1);
  });

  it('that are kept make way for a run, and take the place of nothing but an earlier one of their name', async () => {
    const { residents } = await open();
    const [one, newer, other] = ['echo', 'echo', 'other'].map((name) => residentsOf(residents, name, ECHO));
    const keep = (which: typeof one, workflow_version_id: string) =>
      which?.keep({ slot: SLOT, org_id: ORG_ID, workflow_version_id }, performance.now() + 60_000).state;
    await until(() => keep(one, '1') === 'loaded');
    expect(keep(other, '9')).toBe('occupied');
    await until(() => keep(newer, '2') === 'loaded');
    expect(residents.loaded()).toEqual([{ slot: 0, workflow_version_id: '2' }]);
    if (other === undefined) throw new Error('there are three');
    const lease = await leased(other);
    expect(keep(newer, '2')).toBe('occupied');
    lease.release();
  });

  it('that are kept and cannot be loaded say why', async () => {
    const shells = residentsOf((await open()).residents, 'broken', 'echo "no: no weights"; sleep 60');
    const kept = { slot: SLOT, org_id: ORG_ID, workflow_version_id: 'version' };
    const keep = () => shells.keep(kept, performance.now() + 60_000);
    await until(() => keep().state === 'failed');
    expect(keep()).toMatchObject({ why: { kind: 'not_ready', why: 'no weights' } });
  });

  it('let a run go that is cancelled while they load, and go on loading', async () => {
    const shells = residentsOf((await open()).residents, 'slow', `sleep 0.3; ${ECHO}`);
    const cancelling = new AbortController();
    const acquired = shells.acquire(
      { slot: SLOT, org_id: ORG_ID, workflow_version_id: 'version' },
      cancelling.signal,
    );
    cancelling.abort();
    expect(await acquired).toEqual({ kind: 'cancelled' });
    await leased(shells);
  });
});
