import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUN_EVENT_TYPES, RUN_EVENTS } from '@runledger/contracts/events/run-event';
import { executorId, newUuid, orgId, runId } from '@runledger/contracts/ids';
import { lifecycleFilter, type RunKey } from '@runledger/contracts/events/subjects';
import { sendHeartbeat } from '@runledger/coordination/heartbeats';
import { appendFleet } from '@runledger/event-log/append/append-fleet';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { readRun } from '@runledger/event-log/read/read-run';
import { listDeadLetters } from '@runledger/event-log/streams/dead-letters';
import { aReceiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { createOrganisation } from '../../../src/records/create-organisation.ts';
import { startGuardedServices, type GuardedServices } from '../../access/guarded-services.ts';

const A = executorId('a.000000000001');
const LATER_VERSION = /^Run\w+ is in version 99, and its writer may use 1 at most$/;
const LATER_TYPE = /^no assignment lets its writer store RunMadeUp$/;
const WITHIN = { withinMs: 60_000 };
/** A consumer keeps the last ones of an executor. */
const KEPT = 100;
const MORE_THAN_A_RUN_HAS = 2_010;
const PROGRAM = `read -r work; echo '{"output": {"text": ["done by b"]}}'`;
const PROGRAMS = JSON.stringify({ 'render-image': { command: '/bin/sh', args: ['-c', PROGRAM] } });

const anOrganisation = async ({ operator, url }: GuardedServices, name: string, webhook: string) => {
  const { org_id, api_key, deployment_id } = await createOrganisation(operator, name, () => new Date());
  const call = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  return {
    queue: async (): Promise<RunKey> => {
      const queued = await call('POST', '/run/deployment/queue', { deployment_id, inputs: {}, webhook });
      return { org_id: orgId(org_id), run_id: runId(Object(await queued.json()).run_id) };
    },
    /** The answer to a GET, and what the run is there. */
    seen: async ({ run_id }: RunKey): Promise<string> => {
      const response = await call('GET', `/run/${run_id}`);
      return `${response.status} ${Object(await response.json()).status}`;
    },
  };
};

/** An executor that is registered, and whose key is in the hands of somebody. */
const aHostileOne = async ({ operator, open }: GuardedServices) => {
  const log = await open('executor-a');
  const fleetFact = {
    version: 1,
    event_id: newUuid(),
    time: new Date().toISOString(),
    executor_id: A,
  } as const;
  await appendFleet(log, {
    ...fleetFact,
    type: 'ExecutorRegistered',
    slots: [{ slot: 0, gpu: 'A10G' }],
    machines: ['*'],
    programs: ['render-image'],
    dedicated: {},
    public_key: 'MCowBQYDK2VwAyEA',
    software_version: '1',
  });
  let count = 0;
  const beat = (): Promise<unknown> =>
    sendHeartbeat(log, { executor_id: A, count: (count += 1), draining: false, runs: [] }, 60_000);
  await beat();
  const beating = setInterval(() => void beat(), 1_000);
  const claims = [
    ...RUN_EVENT_TYPES.filter((type) => RUN_EVENTS[type].writer === 'executor').map((type) => ({
      fact: RUN_EVENTS[type].fact,
      body: { type, version: 99 },
    })),
    { fact: 'ended', body: { type: 'RunMadeUp', version: 1 } },
  ];
  return {
    leave: () => {
      clearInterval(beating);
      return appendFleet(log, { ...fleetFact, event_id: newUuid(), type: 'ExecutorLeft' });
    },
    [Symbol.dispose]: () => clearInterval(beating),
    /** A fact in version 99 of each type that it may write, and one of a type of its own, each on the condition that it comes next. Returns their number. */
    attack: async (run: RunKey): Promise<number> => {
      const filter = lifecycleFilter(run);
      for (const { fact, body } of claims) {
        const subject = `${filter.slice(0, -1)}${fact}.executor.1.${A}`;
        const head = (await lastMessage(operator, 'RUNS', filter))?.seq ?? 0;
        const expect = { lastSubjectSequence: head, lastSubjectSequenceSubject: filter };
        await log.js.publish(subject, JSON.stringify(body), { expect });
      }
      return claims.length;
    },
    /** More messages than a run can have, of which each is fenced on the one before, under many subjects. */
    flood: async (run: RunKey): Promise<void> => {
      const filter = lifecycleFilter(run);
      let head = (await lastMessage(operator, 'RUNS', filter))?.seq ?? 0;
      for (let n = 0; n < MORE_THAN_A_RUN_HAS; n += 1) {
        const subject = `${filter.slice(0, -1)}ended.executor.${n % 1_500}.${A}`;
        const expect = { lastSubjectSequence: head, lastSubjectSequenceSubject: filter };
        head = (await log.js.publish(subject, '{}', { expect })).seq;
      }
    },
    attackFleet: async (): Promise<void> => {
      for (const [type, fact] of [
        ['ExecutorRegistered', 'registered'],
        ['ExecutorDraining', 'draining'],
        ['ExecutorLeft', 'left'],
        ['ExecutorMadeUp', 'left'],
      ] as const)
        await log.js.publish(`fleet.${A}.${fact}`, JSON.stringify({ type, version: 99 }));
    },
  };
};

it('an executor that writes versions and types which nobody knows, and too much, stops no service, and no run of others', async () => {
  await using open = new AsyncDisposableStack();
  const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-versions-'))).path;
  const receiver = open.use(await aReceiver());
  const services = open.use(await startGuardedServices(folder));
  const { operator } = services;
  const [one, other] = await Promise.all(
    ['one', 'other'].map((name) => anOrganisation(services, name, `${receiver.url}/${name}`)),
  );
  if (!one || !other) throw new Error('there are two organisations');
  const typesOf = async (run: RunKey): Promise<string[]> => {
    const read = await readRun(operator, run);
    return read.kind === 'found' ? read.facts.map(({ event }) => event.type) : [read.kind];
  };

  const hostile = open.use(await aHostileOne(services));
  const own = await one.queue();
  await waitFor('its assignment', async () => (await typesOf(own)).includes('RunAssigned'), WITHIN);
  const waiting = await other.queue();
  await hostile.attackFleet();
  let stored = 0;
  while (stored < 1.5 * KEPT) stored += (await hostile.attack(own)) + (await hostile.attack(waiting));
  for (const consumer of ['scheduler', 'projection'])
    await waitFor(`dead letters of the ${consumer} that name a version and a type`, async () => {
      const letters = await listDeadLetters(operator, { consumer, stream: 'RUNS', limit: 10 * KEPT });
      return [LATER_VERSION, LATER_TYPE].every((one) => letters.some(({ reason }) => one.test(reason)));
    });
  await hostile.flood(waiting);
  expect([await one.seen(own), await other.seen(waiting)]).toEqual(['200 started', '200 queued']);

  await services.startExecutor('executor-b', { EXECUTOR_GPUS: 'A10G:1', EXECUTOR_PROGRAMS: PROGRAMS });
  await waitFor(
    'the notification of the run of others',
    () => receiver.of(waiting.run_id).length > 0,
    WITHIN,
  );
  expect(await other.seen(waiting)).toBe('200 success');
  expect(await services.notReady()).toEqual([]);
  await hostile.flood(waiting);
  const behind = await other.queue();
  await waitFor('the notification of a run behind it', () => receiver.of(behind.run_id).length > 0, WITHIN);
  expect(await other.seen(waiting)).toBe('200 success');

  await services.killAll();
  await hostile.attack(own);
  await hostile.attack(waiting);
  const later = await other.queue();
  await waitFor('the notification of a later run', () => receiver.of(later.run_id).length > 0, WITHIN);
  await hostile.leave();
  await waitFor('the notification of its own run', () => receiver.of(own.run_id).length > 0, WITHIN);
  expect(await one.seen(own)).toBe('200 success');
  expect(await services.notReady()).toEqual([]);

  const before = ['RunQueued', 'RunAssigned'];
  const end = ['RunStarted', 'RunSucceeded'];
  expect(await typesOf(own)).toEqual([...before, 'RunRequeued', 'RunAssigned', ...end]);
  expect(await typesOf(waiting)).toEqual([...before, ...end]);
  expect(receiver.arrived.map(({ payload }) => payload.status)).toEqual(
    Array.from({ length: 4 }, () => 'success'),
  );
  for (const consumer of ['scheduler', 'projection']) {
    const letters = await listDeadLetters(operator, { consumer, stream: 'RUNS', limit: 10 * KEPT });
    // The scheduler has stored some of FLEET, too.
    expect(letters.length).toBeGreaterThan(0.9 * KEPT);
    expect(letters.length).toBeLessThanOrEqual(KEPT);
  }
}, 240_000);
