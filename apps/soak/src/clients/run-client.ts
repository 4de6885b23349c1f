import { setTimeout as pause } from 'node:timers/promises';
import { catalogueClient, type CatalogueClient } from './catalogue-client.ts';
import {
  ANSWER_WITHIN_MS,
  contextOf,
  inputFileOf,
  QUEUE,
  queueBody,
  readRun,
  readUntilEnded,
  sendUntilAnswered,
  WAIT_S,
  type ClientContext,
  type ClientOptions,
} from './client-context.ts';
import { now } from '../cluster/clock.ts';
import { deleteRun } from './delete-run.ts';
import type { RunPlan } from './plan.ts';
import { streamRun } from './stream-run.ts';

export interface Clients extends CatalogueClient {
  /** Carries out a plan to its end. Never rejects. */
  readonly runPlan: (plan: RunPlan) => Promise<void>;
  /** Cancels all runs of the deployment that is for this. */
  readonly cancelInBulk: () => Promise<void>;
  /** Drains an executor name, and resumes it after a while. */
  readonly drainForAWhile: () => Promise<void>;
  /** Requests that the final notification of a run is sent again. */
  readonly redeliver: (run: string) => Promise<void>;
}

const DRAINED_FOR_MS = [2_000, 15_000] as const;

/** `mostRecords`: of the catalogue, that clients may have created at the same time. */
export const clientsOf = ({
  mostRecords,
  ...options
}: ClientOptions & { readonly mostRecords: number }): Clients => {
  const context = contextOf(options);
  return {
    ...catalogueClient(context, mostRecords),
    runPlan: async (plan) => {
      const run = await queueRun(context, plan);
      if (run === undefined) return;
      // A read after the answer finds the run, at any gateway.
      await readRun(context, run, plan.request);
      await Promise.all([
        followRun(context, run, plan),
        cancelRun(context, run, plan),
        reuseKey(context, plan),
        tryAsStranger(context, run, plan),
      ]);
      if (plan.rerun) await rerun(context, run, plan.request);
      await deleteRun(context, run, plan);
    },
    cancelInBulk: async () => {
      const body = { filter: { deployment_id: options.organisation.deployments.bulkCancelled } };
      const path = '/runs/cancel';
      const request = { kind: 'cancel_many', request: 0, run: null, method: 'POST', path, body } as const;
      await context.send({ ...request, gateway: context.gateway(), withinMs: ANSWER_WITHIN_MS * 2 });
    },
    drainForAWhile: () => drainForAWhile(context),
    redeliver: async (run) => {
      const path = `/run/${run}/redeliver`;
      await sendUntilAnswered(context, { kind: 'redeliver', request: 0, run, method: 'POST', path });
    },
  };
};

const queueRun = async (context: ClientContext, plan: RunPlan): Promise<string | undefined> => {
  const { send, gateway } = context;
  const { request, key, abortFirstAfterMs } = plan;
  await uploadInputFile(context, plan);
  const body = queueBody(context, plan);
  const queue = { kind: 'queue', request, run: null, key, method: 'POST', path: QUEUE, body } as const;
  // Without a key, a client cannot know whether a lost answer queued a run. It sends its request once.
  const answer =
    key === null
      ? await send({ ...queue, gateway: gateway(), withinMs: ANSWER_WITHIN_MS })
      : await sendUntilAnswered(context, queue, { firstWithinMs: abortFirstAfterMs });
  return answer?.kind === 'queued' ? answer.run : undefined;
};

/** A run whose file could not be uploaded has none. */
const uploadInputFile = async (context: ClientContext, { hasInputFile, request }: RunPlan): Promise<void> => {
  if (!hasInputFile) return;
  const upload = { kind: 'upload', request, run: null, method: 'POST', path: '/files' } as const;
  const answer = await sendUntilAnswered(context, { ...upload, body: inputFileOf(request) });
  if (answer?.kind === 'uploaded') context.files.set(request, answer.id);
};

const followRun = async (
  context: ClientContext,
  run: string,
  { follow, request }: RunPlan,
): Promise<void> => {
  const { organisation, gateway, signal, streams } = context;
  switch (follow) {
    case 'polls':
      return readUntilEnded(context, run, request, 0);
    case 'waits':
      return readUntilEnded(context, run, request, WAIT_S);
    case 'streams':
      streams.push(await streamRun({ run, apiKey: organisation.api_key, gateway, signal }));
      // No later read may show less than the stream.
      await readRun(context, run, request);
  }
};

const cancelRun = async (
  context: ClientContext,
  run: string,
  { cancelAfterMs, request }: RunPlan,
): Promise<void> => {
  if (cancelAfterMs === null) return;
  await context.rest(cancelAfterMs);
  const path = `/run/${run}/cancel`;
  await sendUntilAnswered(context, { kind: 'cancel', request, run, method: 'POST', path });
  await readRun(context, run, request);
};

/** A key stands for one request: another one with it is refused, at any gateway, as long as the run is kept. */
const reuseKey = async (context: ClientContext, plan: RunPlan): Promise<void> => {
  const { reusesKey, request, key } = plan;
  if (!reusesKey) return;
  const body = {
    ...queueBody(context, plan),
    inputs: { what: 'success', seconds: '0', request, other: true },
  };
  const queue = { kind: 'queue_other', request, run: null, key, method: 'POST', path: QUEUE, body } as const;
  await sendUntilAnswered(context, queue);
};

/** For another organisation there is no such run and no such deployment. */
const tryAsStranger = async (context: ClientContext, run: string, plan: RunPlan): Promise<void> => {
  const { isForeignTarget, request } = plan;
  if (!isForeignTarget) return;
  const { stranger, send, gateway } = context;
  const apiKey = stranger.api_key;
  const shared = { kind: 'foreign', request, run, apiKey, withinMs: ANSWER_WITHIN_MS } as const;
  const tries = [
    { method: 'GET', path: `/run/${run}` },
    { method: 'GET', path: `/run/${run}/events` },
    { method: 'GET', path: `/run/${run}/deliveries` },
    { method: 'POST', path: `/run/${run}/cancel` },
    { method: 'POST', path: `/run/${run}/rerun` },
    { method: 'DELETE', path: `/run/${run}/outputs` },
    { method: 'DELETE', path: `/run/${run}` },
    { method: 'POST', path: QUEUE, body: queueBody(context, plan) },
  ] as const;
  for (const one of tries) await send({ ...shared, ...one, gateway: gateway() });
};

const rerun = async (context: ClientContext, run: string, request: number): Promise<void> => {
  const key = `soak-${request}-again`;
  const path = `/run/${run}/rerun`;
  const body = { inputs: { what: 'success', seconds: '0.1', request, again: true } };
  const answer = await sendUntilAnswered(context, {
    kind: 'rerun',
    request,
    run,
    key,
    method: 'POST',
    path,
    body,
  });
  if (answer?.kind === 'queued') await readUntilEnded(context, answer.run, request, WAIT_S);
};

const drainForAWhile = async (context: ClientContext): Promise<void> => {
  const { random, executorNames, operatorKey, drains, rest } = context;
  const name = random.pick(executorNames);
  const shared = { request: 0, run: null, method: 'POST', apiKey: operatorKey } as const;
  const drained = await sendUntilAnswered(context, {
    ...shared,
    kind: 'drain',
    path: `/executors/${name}/drain`,
  });
  const drainedAt = now();
  await rest(random.integer(...DRAINED_FOR_MS));
  // From now on a gateway may resume it at any time.
  if (drained?.kind === 'drain_state' && drained.draining) drains.push({ name, drainedAt, resumedAt: now() });
  await sendUntilAnswered(context, { ...shared, kind: 'resume', path: `/executors/${name}/resume` });
};

/** Starts each plan at its time. Resolves when all clients are done or have given up. */
export const runPlans = async (
  { runPlan, cancelInBulk, drainForAWhile, createVersion, deployAndDelete }: Clients,
  plans: readonly RunPlan[],
): Promise<void> => {
  const begunAt = performance.now();
  const all: Promise<void>[] = [];
  // One after the other: of two for the same name, one would resume it too early.
  let draining = Promise.resolve();
  const others = [
    { at: 20_000, everyMs: 20_000, begin: () => void all.push(cancelInBulk()) },
    { at: 8_000, everyMs: 8_000, begin: () => void all.push(createVersion()) },
    { at: 12_000, everyMs: 24_000, begin: () => void all.push(deployAndDelete()) },
    { at: 30_000, everyMs: 30_000, begin: () => void (draining = draining.then(drainForAWhile)) },
  ];
  for (const plan of plans) {
    await pause(Math.max(0, begunAt + plan.at - performance.now()));
    all.push(runPlan(plan));
    for (const other of others.filter(({ at }) => plan.at >= at)) {
      other.at += other.everyMs;
      other.begin();
    }
  }
  await Promise.all([...all, draining]);
};
