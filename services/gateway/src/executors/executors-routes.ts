import type { ExecutorState } from '@runledger/contracts/requests/executor-state';
import type { FleetRequest } from '@runledger/contracts/events/fleet-request';
import {
  Draining,
  ExecutorPage,
  ExecutorPath,
  ExecutorsQuery,
  NamedExecutors,
} from '@runledger/contracts/http/executors';
import type { DrainExecutor } from './drain-executor.ts';
import type { Executors, ExecutorSortKey } from './executors.ts';
import { operation, route, type Route } from '../http/operation.ts';
import { cursorAt, cursorProblems, decodeCursor, DEFAULT_LIMIT } from '../http/pagination.ts';
import { Refused } from '../http/refusal.ts';
import { own } from '../validation/node.ts';

const shared = { tag: 'Executors', scope: 'operator' } as const;

const listOperation = operation({
  ...shared,
  id: 'listExecutors',
  method: 'GET',
  path: '/executors',
  summary: 'List executors',
  description:
    'All executors that the leading scheduler knows, whichever organisation the runs in their slots belong to, and the drained names without an executor.',
  request: { query: ExecutorsQuery },
  response: { status: 200, description: 'A page of them.', body: ExecutorPage },
  refusals: [],
});

const showOperation = operation({
  ...shared,
  id: 'getExecutor',
  method: 'GET',
  path: '/executors/{name}',
  summary: 'Read an executor',
  request: { path: ExecutorPath },
  response: { status: 200, description: 'All that bear the name.', body: NamedExecutors },
  refusals: [404],
});

const drainOperation = operation({
  ...shared,
  id: 'drainExecutor',
  method: 'POST',
  path: '/executors/{name}/drain',
  summary: 'Drain an executor',
  description:
    'It is given no new runs, also after a restart, until it is resumed; those that it has go on. Asking again changes nothing. When somebody resumes it at the same time, the request that was stored last holds, and both are answered with what holds then.',
  request: { path: ExecutorPath },
  response: {
    status: 200,
    description:
      'What holds, once the scheduler has read the request: no more runs, unless `draining` is false.',
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
    'It is given runs again. One that stops by itself stays without. When somebody drains it at the same time, the request that was stored last holds, and both are answered with what holds then.',
  request: { path: ExecutorPath },
  response: {
    status: 200,
    description:
      'What holds, once the scheduler has read the request: runs again, unless `draining` is true.',
    body: Draining,
  },
  refusals: [404],
});

export interface ExecutorRoutes {
  readonly executors: Executors;
  readonly drain: DrainExecutor;
}

/** What operators do with the fleet, which no organisation owns. */
export const executorRoutes = ({ executors, drain }: ExecutorRoutes): Route[] => {
  const ask = async (type: FleetRequest['type'], name: string, key_id: string): Promise<Draining> => {
    const drained = await drain(type, name, key_id);
    switch (drained.kind) {
      case 'read':
        return { name, draining: drained.draining, runs: drained.runs };
      case 'unknown':
        throw notFound();
      case 'not_read_yet':
        throw new Refused({
          kind: 'unavailable',
          why: 'It is stored and holds once the scheduler has read it, unless another request comes after it. Read the executor to see it',
        });
    }
  };
  return [
    route(
      listOperation,
      async ({ query: { limit = DEFAULT_LIMIT, cursor } }) => {
        const page = await executors.page(placeIn(cursor), limit);
        const last = page.more ? page.executors.at(-1) : undefined;
        return { executors: page.executors, next_cursor: cursorAt(last && textOf(last)) };
      },
      ({ query }) => cursorProblems(own(query, 'cursor'), 'query', isExecutorPlace),
    ),
    route(showOperation, async ({ path: { name } }): Promise<NamedExecutors> => {
      const { executors: named } = await executors.named(name);
      if (named.length === 0) throw notFound();
      return { name, executors: named };
    }),
    route(drainOperation, ({ path: { name } }, { key }) => ask('ExecutorDrainRequested', name, key.id)),
    route(resumeOperation, ({ path: { name } }, { key }) => ask('ExecutorResumeRequested', name, key.id)),
  ];
};

const notFound = (): Refused => new Refused({ kind: 'not_found', what: 'Executor' });

const textOf = ({ name, executor_id }: ExecutorState): string => `${name} ${executor_id ?? ''}`;

const PLACE = /^([A-Za-z0-9_-]{1,64}) ((?:[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?)?)$/;
const isExecutorPlace = (text: string): boolean => text.length <= 130 && PLACE.test(text);

const placeIn = (cursor: string | undefined): ExecutorSortKey | null => {
  if (cursor === undefined) return null;
  const [, name = '', executor_id = ''] = PLACE.exec(decodeCursor(cursor)) ?? [];
  return { name, executor_id: executor_id === '' ? null : executor_id };
};
