import { gpuModel } from '@runledger/contracts/gpu';
import type { ExecutorsRequest, ExecutorState } from '@runledger/contracts/requests/executors';
import type { Pool, PoolsRequest } from '@runledger/contracts/requests/pools';
import { WAIT_SUBJECT, type WaitReason } from '@runledger/contracts/requests/queue-position';
import { aRun } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { respondWithExecutors, requestExecutors } from '../src/executors.ts';
import { requestPools, respondWithPools } from '../src/pools.ts';
import { respondWithWaitReasons, requestWaitReason } from '../src/wait-reason.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import {
  requesterAndResponder,
  responding,
  type RequesterAndResponder,
} from './fixtures/requester-and-responder.ts';

let test: RequesterAndResponder;
let log: EventLog;
let responder: EventLog;
beforeAll(async () => {
  test = await requesterAndResponder();
  ({ log, responder } = test);
});
afterAll(() => test[Symbol.asyncDispose]());

const WITHIN_MS = 10_000;

const WAIT: WaitReason = {
  ahead: 3,
  capacity: 'busy',
  eta: null,
  no_eta: 'no_durations',
  gpu: 'A10G',
  executors: { serving: 2, busy_slots: 2, free_slots: 0, draining: 1 },
};

describe('the reason why a run waits', () => {
  it('is given, and null for a run that does not wait', async () => {
    const [one, other] = [aRun(), aRun()];
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondWithWaitReasons(responder, ({ run_id }) => (run_id === one.run_id ? WAIT : null)),
      ),
    );
    expect(await requestWaitReason(log, one, WITHIN_MS)).toEqual({ wait: WAIT });
    expect(await requestWaitReason(log, other, WITHIN_MS)).toEqual({ wait: null });
  });

  it('is unknown at once while no scheduler leads', async () => {
    expect(await requestWaitReason(log, aRun(), 600_000)).toBeUndefined();
  });

  it('still comes after invalid requests and after one whose handler threw', async () => {
    let handled = 0;
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondWithWaitReasons(responder, () => {
          handled += 1;
          if (handled === 1) throw new Error('not today');
          return WAIT;
        }),
      ),
    );
    for (const wrong of ['', 'no json', JSON.stringify({ ...aRun(), org_id: 'everybody' })]) {
      log.nc.publish(WAIT_SUBJECT, wrong);
    }
    expect(await requestWaitReason(log, aRun(), 50)).toBeUndefined();
    await waitFor('the request to arrive', () => handled === 1);
    expect(await requestWaitReason(log, aRun(), WITHIN_MS)).toEqual({ wait: WAIT });
  });
});

const executor = (name: string, machines: string[] = ['*']): ExecutorState => ({
  executor_id: `${name}.0a1b2c3d4e5f`,
  name,
  state: 'ready',
  drain: null,
  slots: [{ slot: 0, gpu: 'A10G', loaded_workflow_version_id: null, run: null }],
  machines,
  machine_count: machines.length,
  programs: ['render'],
  program_count: 1,
  labels: ['nvlink'],
  isolation: null,
  isolation_gaps: [],
  limits: null,
  software_version: '0.1.0',
  registered_at: '2026-01-01T00:00:00.000Z',
  last_heartbeat_at: null,
});
const FIRST: ExecutorsRequest = { name: null, after: null, limit: 200 };

describe('the executors', () => {
  it('come page by page', async () => {
    const handled: ExecutorsRequest[] = [];
    const page = { executors: [executor('a'), executor('b')], more: true, read_up_to: 7 };
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondWithExecutors(responder, (request) => {
          handled.push(request);
          return page;
        }),
      ),
    );
    const request = { name: 'box', after: { name: 'a', executor_id: null }, limit: 2 };
    expect(await requestExecutors(log, request, WITHIN_MS)).toEqual(page);
    expect(handled).toEqual([request]);
  });

  it('come on a smaller page when they do not fit into a message', async () => {
    const machines = Array.from({ length: 100 }, (_, machine) => `${machine}`.padStart(128, 'ä'));
    const executors = Array.from({ length: 200 }, (_, number) => executor(`box-${number}`, machines));
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondWithExecutors(responder, () => ({ executors, more: false, read_up_to: 7 })),
      ),
    );
    const page = await requestExecutors(log, FIRST, WITHIN_MS);
    expect(page?.more).toBe(true);
    expect(page?.executors.length).toBeGreaterThan(10);
    expect(page?.executors).toEqual(executors.slice(0, page?.executors.length));
  });

  it('are unknown when the response does not match its schema', async () => {
    await using open = new AsyncDisposableStack();
    const asleep = { ...executor('a'), state: 'asleep' } as unknown as ExecutorState;
    open.use(
      await responding(
        responder,
        respondWithExecutors(responder, () => ({ executors: [asleep], more: false, read_up_to: 7 })),
      ),
    );
    expect(await requestExecutors(log, FIRST, WITHIN_MS)).toBeUndefined();
  });
});

const flow = { waiting: 3, delayed: 0, running: 1, oldest_queued_at: '2026-01-01T00:00:00.000Z' };
const pool = (gpu: Pool['gpu'], deployments = 1): Pool => ({
  gpu,
  slots: 4,
  busy_slots: 1,
  ...flow,
  starts_per_minute: 0.4,
  organisations: Array.from({ length: deployments }, () => ({
    org_id: aRun().org_id,
    ...flow,
    starts_per_minute: 0.4,
    deployments: Array.from({ length: deployments }, () => ({ deployment_id: aRun().run_id, ...flow })),
    more_deployments: 0,
  })),
  more_organisations: 0,
});
const POOLS: PoolsRequest = { org_id: null, gpu: null, after: 'A10G', limit: 100 };

describe('the pools', () => {
  it('come page by page', async () => {
    const handled: PoolsRequest[] = [];
    const page = { pools: [pool('H100'), pool('L4')], more: true };
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondWithPools(responder, (request) => {
          handled.push(request);
          return page;
        }),
      ),
    );
    expect(await requestPools(log, POOLS, WITHIN_MS)).toEqual(page);
    expect(handled).toEqual([POOLS]);
  });

  it('come on a smaller page when they do not fit into a message', async () => {
    const pools = Array.from({ length: 100 }, (_, number) => pool(gpuModel(`H${number}`), 20));
    await using open = new AsyncDisposableStack();
    open.use(
      await responding(
        responder,
        respondWithPools(responder, () => ({ pools, more: false })),
      ),
    );
    const page = await requestPools(log, POOLS, WITHIN_MS);
    expect(page?.more).toBe(true);
    expect(page?.pools.length).toBeGreaterThan(2);
    expect(page?.pools).toEqual(pools.slice(0, page?.pools.length));
  });

  it('are unknown at once while no scheduler leads', async () => {
    expect(await requestPools(log, POOLS, 600_000)).toBeUndefined();
  });
});
