import {
  ANSWER_WITHIN_MS,
  QUEUE,
  queueBody,
  readRun,
  sendUntilAnswered,
  SHORTAGES,
  type ClientContext,
} from './client-context.ts';
import type { RunPlan } from './plan.ts';

/** A run that has not ended, or whose notification is not settled, cannot be deleted yet. */
const NOT_YET = new Set([...SHORTAGES, 'conflict'] as const);

/** The views, other gateways and the files follow. */
const LOOK_AGAIN_AFTER_MS = [2_000, 15_000] as const;

/** Deletes a run, or its outputs, as soon as that is possible. From the answer on, no read and no other request may find it. */
export const deleteRun = async (context: ClientContext, run: string, plan: RunPlan): Promise<void> => {
  const { deletes, request } = plan;
  if (deletes === null) return;
  const created = (await readRun(context, run, request))?.created_at;
  const path = deletes === 'run' ? `/run/${run}` : `/run/${run}/outputs`;
  const kind = deletes === 'run' ? 'delete_run' : 'delete_outputs';
  const deletion = { kind, request, run, method: 'DELETE', path } as const;
  // The answer of the first request may have been lost: another one finds nothing then.
  if (!(await sendUntilAnswered(context, deletion, { until: NOT_YET }))) return;
  await lookAgain(context, run, plan, created);
  await context.rest(context.random.integer(...LOOK_AGAIN_AFTER_MS));
  await lookAgain(context, run, plan, created);
  if (deletes === 'run') await useKeyAgain(context, plan);
};

const lookAgain = async (
  context: ClientContext,
  run: string,
  { request, deletes }: RunPlan,
  created: string | undefined,
): Promise<void> => {
  const { gateway, send } = context;
  await readRun(context, run, request);
  if (created !== undefined) await listRun(context, run, request, created);
  if (deletes !== 'run') return;
  const about = { kind: 'after_deletion', request, run, withinMs: ANSWER_WITHIN_MS } as const;
  for (const path of ['events', 'deliveries', 'waiting'])
    await send({ ...about, method: 'GET', path: `/run/${run}/${path}`, gateway: gateway() });
  for (const path of ['cancel', 'rerun', 'redeliver'])
    await send({ ...about, method: 'POST', path: `/run/${run}/${path}`, gateway: gateway() });
  for (const path of ['', '/outputs'])
    await send({ ...about, method: 'DELETE', path: `/run/${run}${path}`, gateway: gateway() });
};

const listRun = async (
  { gateway, send }: ClientContext,
  run: string,
  request: number,
  created: string,
): Promise<void> => {
  const next = new Date(Date.parse(created) + 1).toISOString();
  const path = `/runs?created_after=${created}&created_before=${next}`;
  await send({
    kind: 'list',
    request,
    run,
    method: 'GET',
    path,
    gateway: gateway(),
    withinMs: ANSWER_WITHIN_MS,
  });
};

/** The same request, with the same key, queues no other run. */
const useKeyAgain = async (context: ClientContext, plan: RunPlan): Promise<void> => {
  const { key, request } = plan;
  if (key === null) return;
  const body = queueBody(context, plan);
  await sendUntilAnswered(context, {
    kind: 'queue_deleted',
    request,
    run: null,
    key,
    method: 'POST',
    path: QUEUE,
    body,
  });
};
