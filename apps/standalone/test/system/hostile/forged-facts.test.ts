import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import type { ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import { errorOf } from '@runledger/contracts/events/run-error';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { executorId, newUuid, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import { logSubject } from '@runledger/contracts/run-logs';
import { lifecycleFilter, runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { contract } from '@runledger/gpu-executor/contract';
import { sendHeartbeat } from '@runledger/coordination/heartbeats';
import { appendOwn } from '@runledger/event-log/append/append';
import { appendFleet } from '@runledger/event-log/append/append-fleet';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { readRun } from '@runledger/event-log/read/read-run';
import { cancelled, failed, runEvent, started, succeeded, uploading } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { createOrganisation, OPERATOR_SCOPES } from '../../../src/records/create-organisation.ts';
import { startGuardedServices, type GuardedServices } from '../../access/guarded-services.ts';

const A = executorId('a.000000000001');
const WITHIN = { withinMs: 60_000 };
const FORGED = 'forged by a';

/** It works until its run has a file in the folder. */
const programsFor = (folder: string): string => {
  const untilFile = `until [ -e '${folder}'/"$RUNLEDGER_RUN_ID" ]; do sleep 0.1; done`;
  const script = `read -r work; echo 'b at work' >&2; echo '{"progress": 0.5, "live_status": "half"}'; ${untilFile}
    printf 'made by b' >"$RUNLEDGER_OUTPUT_DIR/result.txt"; echo '{"output": {"text": ["done by b"]}}'`;
  return JSON.stringify({ 'render-image': { command: '/bin/sh', args: ['-c', script], readable: [folder] } });
};

/** What a client sees of an attempt of a run, without what differs from run to run. */
const seenBy =
  (call: Call) =>
  async ({ run_id }: RunKey, attempt: number) => {
    const { status, progress, live_status, outputs } = Object(
      await (await call('GET', `/run/${run_id}`)).json(),
    );
    const data: unknown[] = outputs.map((output: object) => Object(output).data);
    const urls = data.flatMap((one) => Object(one).files).map((file) => String(Object(file).url));
    const files = await Promise.all(urls.map(async (url) => (await fetch(url)).text()));
    const log = (await (await call('GET', `/run/${run_id}/logs?attempt=${attempt}`)).text()).trim();
    const lines = log === '' ? [] : log.split('\n').map((line): unknown => Object(JSON.parse(line)).line);
    return { status, progress, live_status, texts: data.map((one) => Object(one).text), files, lines };
  };

const RUNNING = {
  status: 'running',
  progress: 0.5,
  live_status: 'half',
  texts: [],
  files: [],
  lines: ['b at work'],
};
const ENDED = {
  status: 'success',
  progress: 1,
  live_status: null,
  texts: [['done by b']],
  files: ['made by b'],
  lines: ['b at work'],
};

type Call = (method: string, path: string, body?: object) => Promise<Response>;

/** A run of which the first attempt was that of the hostile executor, and the second one is another executor's. */
const aVictim = async (services: GuardedServices, folder: string) => {
  const { operator } = services;
  const owner = await createOrganisation(operator, 'owner', () => new Date(), OPERATOR_SCOPES);
  const call: Call = (method, path, body) =>
    fetch(`${services.url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${owner.api_key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const queue = async (): Promise<RunKey> => {
    const { deployment_id } = owner;
    const queued = await call('POST', '/run/deployment/queue', { deployment_id, inputs: {} });
    return { org_id: orgId(owner.org_id), run_id: runId(Object(await queued.json()).run_id) };
  };
  const read = async (run: RunKey) => {
    const found = await readRun(operator, run);
    return found.kind === 'found' ? found : { facts: [], refused: [] };
  };
  const fact = (run: RunKey, type: RunEvent['type'], attempt: number) =>
    waitFor(
      `${type} of attempt ${attempt}`,
      async () => {
        const { facts } = await read(run);
        return facts.find(({ event }) => event.type === type && event.attempt === attempt)?.event;
      },
      WITHIN,
    );
  const headOf = async (run: RunKey): Promise<number> =>
    (await lastMessage(operator, 'RUNS', lifecycleFilter(run)))?.seq ?? 0;

  const hostile = await services.open('executor-a');
  const keys = await newAttemptKeys();
  await appendFleet(hostile, { ...registration(keys.publicKey) });
  await sendHeartbeat(hostile, { executor_id: A, count: 1, draining: false, runs: [] }, 60_000);
  const run = await queue();
  await fact(run, 'RunAssigned', 1);
  expect(await appendOwn(hostile, started(run, 1, A), await headOf(run))).toMatchObject({ kind: 'appended' });
  // An operator drains it, and it says that it leaves. Its run goes to the other one.
  expect((await call('POST', '/executors/a/drain')).ok).toBe(true);
  await appendFleet(hostile, fleetFact('ExecutorLeft', A));
  await services.startExecutor('executor-b', {
    EXECUTOR_GPUS: 'A10G:2',
    EXECUTOR_PROGRAMS: programsFor(folder),
  });
  const { executor_id } = await fact(run, 'RunStarted', 2);
  const other = await queue();
  await fact(other, 'RunStarted', 1);
  return {
    hostile,
    keys,
    run,
    other,
    victim: executorId(String(executor_id)),
    seen: seenBy(call),
    read,
    fact,
    headOf,
  };
};
type Victim = Awaited<ReturnType<typeof aVictim>>;

const fleetFact = (type: 'ExecutorLeft' | 'ExecutorDraining', executor_id: ExecutorId) => ({
  type,
  version: 1 as const,
  event_id: newUuid(),
  time: new Date().toISOString(),
  executor_id,
});

const registration = (public_key: string): ExecutorRegistered => ({
  ...fleetFact('ExecutorLeft', A),
  type: 'ExecutorRegistered',
  slots: [{ slot: 0, gpu: 'A10G' }],
  machines: ['*'],
  programs: ['render-image'],
  dedicated: {},
  public_key,
  software_version: '1',
});

/** Valid facts of every type that it may write, but for their attempt and executor. */
const factsToForge = (run: RunKey): readonly RunEvent[] => [
  started(run),
  uploading(run),
  runEvent('RunAttemptFailed', run, {
    data: { error: errorOf('program_exit', FORGED), retry_after_s: 0 },
  }),
  succeeded(run, [
    {
      id: newUuid(),
      output_id: 'render-image',
      node_id: null,
      node_meta: null,
      type: null,
      data: { text: [FORGED] },
    },
  ]),
  failed(run),
  cancelled(run),
];

/** Each about both attempts, with and without a good fence, in its own name and in the other's. Returns their number. */
const forgeFacts = async ({ hostile, run, victim, headOf }: Victim): Promise<number> => {
  let stored = 0;
  const send = async (subject: string, body: string, fenced: boolean): Promise<void> => {
    const lastSubjectSequenceSubject = lifecycleFilter(run);
    const fence = { lastSubjectSequence: await headOf(run), lastSubjectSequenceSubject };
    await hostile.js.publish(subject, body, fenced ? { expect: fence } : {});
    stored += 1;
  };
  expect(
    factsToForge(run)
      .map(({ type }) => type)
      .toSorted(),
  ).toEqual([...contract.writes.runs].toSorted());
  for (const fact of factsToForge(run)) {
    for (const attempt of [1, 2]) {
      const subject = runEventSubject({ ...fact, attempt, executor_id: A });
      for (const executor_id of [A, victim]) {
        const body = JSON.stringify({ ...fact, event_id: newUuid(), attempt, executor_id });
        await send(subject, body, false);
        await send(subject, body, true);
      }
      await send(subject, FORGED, true);
    }
  }
  return stored;
};

/** More messages about its earlier attempt than a run can have, each fenced on the one before. */
const flood = async ({ hostile, run, headOf }: Victim): Promise<void> => {
  const subject = runEventSubject({ ...started(run, 1, A) });
  let head = await headOf(run);
  for (let n = 0; n < 2_010; n += 1) {
    const expect = { lastSubjectSequence: head, lastSubjectSequenceSubject: lifecycleFilter(run) };
    head = (await hostile.js.publish(subject, FORGED, { expect })).seq;
  }
};

/** Everything else that it may write, as far as it can name the other's attempt there. */
const forgeTheRest = async ({ hostile, run, victim }: Victim): Promise<void> => {
  const send = (subject: string, body: object) => hostile.js.publish(subject, JSON.stringify(body));
  const report = { progress: 0.99, live_status: FORGED, time: new Date().toISOString() };
  await send(`activity.${run.org_id}.${run.run_id}.2.${A}.progress`, report);
  const line = [Date.now(), 'stdout', FORGED, false] as const;
  for (const first of [0, 1]) {
    const chunk = { first, before: 0, bytes: 9, lines: [[...line]] };
    await send(logSubject({ ...run, attempt: 2, executor_id: A }, first), chunk);
  }
  await send(`fleet.${A}.left`, fleetFact('ExecutorLeft', victim));
  await send(`fleet.${A}.draining`, fleetFact('ExecutorDraining', victim));
  await send(`fleet.${A}.registered`, { ...registration('none'), executor_id: victim });
  await send(`$KV.EXECUTORS.${A}`, { executor_id: victim, count: 10 ** 6, draining: true, runs: [] });
  await send('dead_letters.RUNS.executor-a.executor.a', { reason: FORGED });
};

const REQUESTS = [
  ['PUT', 'outputs?filename=result.txt'],
  ['PUT', 'log'],
  ['PUT', 'output-list'],
  ['GET', 'assignment'],
] as const;

/** Every request of an attempt, with the tokens that it can sign. Each with the response's status. */
const replayTokens = async ({ url }: GuardedServices, { keys, run, other }: Victim): Promise<string[]> => {
  const outcomes: string[] = [];
  for (const [name, of, attempt] of [
    ['its earlier attempt', run, 1],
    ['the attempt of the other', run, 2],
    ['another run', other, 1],
  ] as const) {
    for (const token of [await signAttempt(keys, run, 1), await signAttempt(keys, of, attempt)]) {
      for (const [method, what] of REQUESTS) {
        const at = `${url}/executions/${of.org_id}/${of.run_id}/${attempt}/${what}`;
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' };
        const response = await fetch(at, { method, headers, ...(method === 'PUT' && { body: FORGED }) });
        outcomes.push(`${name}: ${response.status}`);
      }
    }
  }
  return [...new Set(outcomes)];
};
/** `409`: the token is good, and the attempt is over. */
const REFUSED = ['its earlier attempt: 409', 'the attempt of the other: 401', 'another run: 401'];

it('a hostile executor that was drained changes nothing of a run of another one, nor once it is removed', async () => {
  await using open = new AsyncDisposableStack();
  const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-hostile-'))).path;
  // Programs of an executor may have another user.
  await chmod(folder, 0o755);
  const services = open.use(await startGuardedServices(folder));
  const victim = await aVictim(services, folder);
  const { hostile, run, other, seen, read, fact } = victim;
  await waitFor('what b does', async () => (await seen(run, 2)).lines.length > 0, WITHIN);
  expect(await seen(run, 2)).toEqual(RUNNING);

  const forged = await forgeFacts(victim);
  await forgeTheRest(victim);
  expect(forged).toBeGreaterThan(0);
  await flood(victim);
  expect(await read(run)).toMatchObject({ run: { status: 'running', attempt: { number: 2 } } });
  expect(await replayTokens(services, victim)).toEqual(REFUSED);
  expect(await seen(run, 2)).toEqual(RUNNING);

  await services.remove('executor-a');
  await waitFor('it to be disconnected', () => !hostile.connected());
  expect(await replayTokens(services, victim)).toEqual(REFUSED);
  expect(await seen(run, 2)).toEqual(RUNNING);

  for (const { run_id } of [run, other]) await writeFile(join(folder, run_id), '');
  await fact(run, 'RunSucceeded', 2);
  await fact(other, 'RunSucceeded', 1);
  for (const [ended, attempt] of [
    [run, 2],
    // Nobody forged anything about this one.
    [other, 1],
  ] as const) {
    await waitFor(
      'the view of the end',
      async () => (await seen(ended, attempt)).status !== 'running',
      WITHIN,
    );
    expect(await seen(ended, attempt)).toEqual(ENDED);
  }
  const types = (await read(run)).facts.map(({ event }) => `${event.type} ${event.attempt}`);
  expect(types).toEqual([
    'RunQueued 0',
    'RunAssigned 1',
    'RunStarted 1',
    'RunRequeued 1',
    'RunAssigned 2',
    'RunStarted 2',
    'RunUploading 2',
    'RunSucceeded 2',
  ]);
  for (const service of ['gateway', 'scheduler'] as const) {
    const errors = (await services.linesOf(service)).filter((line) => line.includes('became a dead letter'));
    expect(errors.length).toBeGreaterThan(0);
    // One a minute for each executor and consumer, and it may go over the end of a minute.
    expect(errors.length).toBeLessThanOrEqual(3);
  }
}, 240_000);
