import type { ExecutorState } from '@runledger/contracts/requests/executors';
import { newUuid } from '@runledger/contracts/ids';
import { respondWithExecutors } from '@runledger/request-reply/executors';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';

const VERSION = newUuid();
const RUN = {
  org_id: newUuid(),
  run_id: newUuid(),
  attempt: 2,
  assigned_at: '2026-05-01T12:00:01.000Z',
  placement: { candidates: 1, choice: 'warm', waited_s: 2 } as const,
};

const anExecutor = (name: string, changes: Partial<ExecutorState> = {}): ExecutorState => ({
  executor_id: `${name}.boot1`,
  name,
  state: 'ready',
  drain: null,
  slots: [
    { slot: 0, gpu: 'A10G', loaded_workflow_version_id: null, run: null },
    { slot: 1, gpu: 'A10G', loaded_workflow_version_id: VERSION, run: RUN },
    { slot: 2, gpu: 'H100', loaded_workflow_version_id: null, run: null },
  ],
  machines: ['*'],
  machine_count: 1,
  programs: ['paint', 'print'],
  program_count: 102,
  labels: ['nvlink', 'zone:eu'],
  isolation: 'strong',
  isolation_gaps: [],
  limits: 'cgroup',
  software_version: '0.1.0',
  registered_at: '2026-05-01T12:00:00.000Z',
  last_heartbeat_at: '2026-05-01T12:00:02.000Z',
  ...changes,
});

const SHOWN_PLACEMENT = {
  ...RUN.placement,
  gpu_index: null,
  warm_wait_s: null,
  held_back_by: null,
  sentence: 'after 2 s, the only free slot, which has its version loaded',
};

/** As the API shows it. */
const shown = ({ slots, ...executor }: ExecutorState): unknown => ({
  ...executor,
  slots: slots.map((slot) => ({ ...slot, run: slot.run && { ...slot.run, placement: SHOWN_PLACEMENT } })),
});

let gateway: RealGateway;
/** What the leading scheduler responds with. Its drain follows the log. */
let east: ExecutorState;
/** The number of answered drain requests. */
let drainRequests = 0;
/** Whether another operator requests the opposite after each request. */
let overruled = false;
/** The sequence in FLEET of the last message that the stand-in has read. */
let read_up_to = 0;
const absent = anExecutor('west', {
  executor_id: null,
  state: 'absent',
  drain: { requested_at: '2026-05-01T12:00:00.000Z', requested_by: newUuid() },
  slots: [],
  machines: [],
  programs: [],
  program_count: 0,
  labels: [],
  isolation: null,
  isolation_gaps: [],
  limits: null,
  software_version: null,
  registered_at: null,
  last_heartbeat_at: null,
});
const opened = new AsyncDisposableStack();
beforeAll(async () => {
  gateway = opened.use(await aRealGateway());
  const { log } = gateway;
  opened.use(
    respondWithExecutors(log, ({ name, after, limit }) => {
      if (name === 'east' && east.drain !== null) drainRequests += 1;
      const named = [east, absent].filter((one) => name === null || one.name === name);
      const rest = named.slice(after === null ? 0 : 1);
      return { executors: rest.slice(0, limit), more: rest.length > limit, read_up_to };
    }),
  );
  log.nc.subscribe('fleet.>', {
    callback: (_error, { subject }) => {
      read_up_to += 1;
      if (overruled || !subject.startsWith('fleet.east.all.')) return;
      const drain = { requested_at: '2026-05-01T12:00:03.000Z', requested_by: newUuid() };
      east = subject.endsWith('drain_requested')
        ? { ...east, state: 'draining', drain }
        : { ...east, state: 'ready', drain: null };
    },
  });
  await log.nc.flush();
});
afterAll(() => opened.disposeAsync());
beforeEach(() => {
  east = anExecutor('east');
  drainRequests = 0;
  overruled = false;
});

const executors = (...args: string[]) => gateway.cli(['executors', ...args]);

describe('runledger executors list', () => {
  it('lists them in columns, with busy and free slots of each GPU, or as JSON', async () => {
    const { code, stdout } = await executors('list');
    const [head = '', first = '', second = ''] = stdout.split('\n');
    expect([code, head]).toEqual([
      0,
      expect.stringMatching(/^NAME +STATE +BUSY\/FREE +RUNS +VERSION +LAST HEARTBEAT +MACHINES$/),
    ]);
    expect(first.split(/ {2,}/)).toEqual([
      'east',
      'ready',
      'A10G 1/1, H100 0/1',
      '1',
      '0.1.0',
      '2026-05-01T12:00:02.000Z',
      '*',
    ]);
    expect(second).toMatch(/^west +absent +- +0 +- +-$/);
    const json = (await executors('list', '--json')).stdout.trim().split('\n');
    expect(json.map((line) => JSON.parse(line))).toEqual([shown(east), absent]);
    expect((await executors('list', '--limit', '1')).stderr).toContain('There are more than 1');
  });
});

describe('runledger executors show', () => {
  it('shows its slots with their runs, and its capabilities', async () => {
    const { stdout } = await executors('show', 'east');
    expect(stdout).toContain(
      'id              east.boot1\nstate           ready\nversion         0.1.0\nisolation       strong\nlimits          cgroup\n',
    );
    expect(stdout).toContain(
      'programs        paint, print and 100 more\nlabels          nvlink, zone:eu\nslot 0          A10G, free\n',
    );
    expect(stdout).toContain(
      `slot 1          A10G, run ${RUN.run_id} of organisation ${RUN.org_id}, attempt 2 since 2026-05-01T12:00:01.000Z, after 2 s, the only free slot, which has its version loaded; has workflow version ${VERSION} loaded\n`,
    );
    expect(JSON.parse((await executors('show', 'east', '--json')).stdout)).toEqual({
      name: 'east',
      executors: [shown(east)],
    });
    expect((await executors('show', 'west')).stdout).toMatch(/drained +2026-\S+Z with the key \S{36}\n$/);
  });

  it('names an unknown executor', async () => {
    expect(await executors('show', 'north')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(': Executor not found.'),
    });
  });
});

describe('runledger executors drain and resume', () => {
  it('show the new state, and which runs continue', async () => {
    expect(await executors('drain', 'east')).toEqual({
      code: 0,
      stdout: 'Executor east is drained. It gets no new runs, not even after a restart. 1 run continues.\n',
      stderr: 'Resume it with: runledger executors resume east\n',
    });
    expect(JSON.parse((await executors('drain', 'east', '--json')).stdout)).toEqual({
      name: 'east',
      draining: true,
      runs: 1,
    });
    expect((await executors('resume', 'east')).stdout).toBe(
      'Executor east is resumed. It gets new runs again.\n',
    );
    expect(east.drain).toBeNull();
  });

  it('report a later request that overrides them', async () => {
    overruled = true;
    expect(await executors('drain', 'east')).toMatchObject({
      code: 2,
      stderr: 'Executor east was resumed meanwhile. It gets new runs again.\n',
    });
    expect(await executors('resume', 'west')).toMatchObject({
      code: 2,
      stderr: 'Executor west was drained meanwhile. It gets no new runs.\n',
    });
  });

  it('can wait until the last run has ended', async () => {
    const draining = executors('drain', 'east', '--wait');
    await waitFor('the answer to the drain', () => drainRequests >= 1);
    east = { ...east, slots: [] };
    expect((await draining).stdout).toMatch(/1 run continues\.\nNo run is left\.\n$/);
  });

  it('stops waiting if the executor is resumed', async () => {
    const draining = executors('drain', 'east', '--wait', '--json');
    await waitFor('the command to read again', () => drainRequests >= 2);
    expect(await executors('resume', 'east')).toMatchObject({ code: 0 });
    expect(await draining).toMatchObject({
      code: 2,
      stderr: 'Executor east was resumed meanwhile. It gets new runs again.\n',
    });
  });
});
