import { setTimeout as pause } from 'node:timers/promises';
import {
  MAX_LISTED_EXECUTORS,
  type ExecutorState,
  type ExecutorsResponse,
  type ExecutorsRequest,
} from '@runledger/contracts/requests/executors';
import type { FleetRequest } from '@runledger/contracts/events/fleet-event';
import {
  Draining,
  ExecutorPage,
  ExecutorPath,
  ExecutorsQuery,
  NamedExecutors,
  type Executor,
} from '@runledger/contracts/http/executors';
import { placementResponse } from '@runledger/contracts/http/runs/run-response';
import { newUuid } from '@runledger/contracts/ids';
import type { Kit } from '../../kit.ts';
import { appendFleet } from '@runledger/event-log/append/append-fleet';
import { operation, route, type Route } from '../../door/operation.ts';
import { cursorAt, checkCursor, decodeCursor, DEFAULT_LIMIT } from '../../door/pagination.ts';
import { notFound, Refused } from '../../door/refusal.ts';
import type { SchedulerClient } from './scheduler-client.ts';

const shared = { tag: 'Executors', scope: 'operator' } as const;

const listOperation = operation({
  ...shared,
  id: 'listExecutors',
  method: 'GET',
  path: '/executors',
  summary: 'List executors',
  description:
    'All executors that the leading scheduler knows, with runs of all organisations in their slots, and the drained names without an executor.',
  request: { query: ExecutorsQuery },
  response: { status: 200, description: 'A page of them.', body: ExecutorPage },
});

const showOperation = operation({
  ...shared,
  id: 'getExecutor',
  method: 'GET',
  path: '/executors/{name}',
  summary: 'Read an executor',
  request: { path: ExecutorPath },
  response: { status: 200, description: 'All executors with the name.', body: NamedExecutors },
  refusals: [404],
});

const drainOperation = operation({
  ...shared,
  id: 'drainExecutor',
  method: 'POST',
  path: '/executors/{name}/drain',
  summary: 'Drain an executor',
  description:
    'The executor gets no new runs until it is resumed, also after a restart. Its present runs continue. Repeating the request changes nothing. Of a drain and a resume at the same time, the one that was stored last holds, and both responses show it.',
  audit: { action: 'executor.drained', target: 'name', installation: true },
  request: { path: ExecutorPath },
  response: {
    status: 200,
    description:
      'The state once the scheduler has read the request: no new runs, unless `draining` is false.',
    body: Draining,
  },
  refusals: [404],
});

const resumeOperation = operation({
  ...shared,
  id: 'resumeExecutor',
  method: 'POST',
  path: '/executors/{name}/resume',
  summary: 'Resume an executor',
  description:
    'The executor gets runs again, unless it is stopping. Of a drain and a resume at the same time, the one that was stored last holds, and both responses show it.',
  audit: { action: 'executor.resumed', target: 'name', installation: true },
  request: { path: ExecutorPath },
  response: {
    status: 200,
    description:
      'What holds, once the scheduler has read the request: runs again, unless `draining` is true.',
    body: Draining,
  },
  refusals: [404],
});

const READ_WITHIN_MS = 5_000;
const POLL_EVERY_MS = 50;

/** What operators do with the fleet, which no organisation owns, as the leading scheduler knows it. */
export const executorRoutes = ({ log, now, clock }: Kit, scheduler: SchedulerClient): Route[] => {
  /** None for a name that has no executor and is not drained. */
  const named = (name: string): Promise<ExecutorsResponse> =>
    scheduler.executors({ name, after: null, limit: MAX_LISTED_EXECUTORS });
  const executorsOf = async (name: string): Promise<ExecutorsResponse['executors']> => {
    const { executors } = await named(name);
    if (executors.length === 0) throw notFound('Executor');
    return executors;
  };
  /**
   * The request is stored each time, also when the name is drained already. Otherwise an older request, whose response was
   * lost, could reach the scheduler last and win.
   */
  const request = async (
    type: FleetRequest['type'],
    name: string,
    requested_by: string,
  ): Promise<Draining> => {
    await executorsOf(name);
    const fleetRequest = {
      type,
      version: 1,
      event_id: newUuid(),
      executor_name: name,
      requested_by,
    } as const;
    const stored = await appendFleet(log, { ...fleetRequest, time: now().toISOString() });
    const deadline = clock() + READ_WITHIN_MS;
    for (;;) {
      const { executors, read_up_to } = await named(name);
      // A later request may have changed it again. A resumed name without an executor is not listed at all.
      const draining = executors.some(({ drain }) => drain !== null);
      if (read_up_to >= stored) return { name, draining, runs: runsOn(executors) };
      if (clock() >= deadline)
        throw new Refused({
          code: 'scheduler_behind',
          why: 'The request is stored and holds once the scheduler has read it, unless a later request replaces it. Read the executor to see its state',
        });
      await pause(POLL_EVERY_MS);
    }
  };
  return [
    route(
      listOperation,
      async ({ query: { limit = DEFAULT_LIMIT, cursor } }) => {
        const page = await scheduler.executors({ name: null, after: sortKeyIn(cursor), limit });
        const last = page.more ? page.executors.at(-1) : undefined;
        return {
          executors: page.executors.map(executorResponse),
          next_cursor: cursorAt(last && textOf(last)),
        };
      },
      checkCursor(isExecutorSortKey),
    ),
    route(showOperation, async ({ path: { name } }): Promise<NamedExecutors> => {
      return { name, executors: (await executorsOf(name)).map(executorResponse) };
    }),
    route(drainOperation, ({ path: { name } }, { key }) => request('ExecutorDrainRequested', name, key.id)),
    route(resumeOperation, ({ path: { name } }, { key }) => request('ExecutorResumeRequested', name, key.id)),
  ];
};

const executorResponse = (executor: ExecutorState): Executor => ({
  ...executor,
  slots: executor.slots.map(({ run, ...slot }) => ({
    ...slot,
    run: run && { ...run, placement: placementResponse(run.placement) },
  })),
});

const textOf = ({ name, executor_id }: ExecutorState): string => `${name} ${executor_id ?? ''}`;

const SORT_KEY = /^([A-Za-z0-9_-]{1,64}) ((?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?)?)$/;
const isExecutorSortKey = (text: string): boolean => text.length <= 130 && SORT_KEY.test(text);

/** The executor behind which a page begins. */
const sortKeyIn = (cursor: string | undefined): ExecutorsRequest['after'] => {
  if (cursor === undefined) return null;
  const [, name = '', executor_id = ''] = SORT_KEY.exec(decodeCursor(cursor)) ?? [];
  return { name, executor_id: executor_id === '' ? null : executor_id };
};

const runsOn = (executors: readonly ExecutorState[]): number =>
  executors.flatMap(({ slots }) => slots).filter(({ run }) => run !== null).length;
