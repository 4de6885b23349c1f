import { QueuesPage, QueuesQuery } from '@runledger/contracts/http/queues';
import { parseGpuModel, type GpuModel } from '@runledger/contracts/gpu';
import { seenOrganisation } from '../../door/caller.ts';
import { operation, route, type Route } from '../../door/operation.ts';
import { cursorAt, checkCursor, decodeCursor, DEFAULT_LIMIT } from '../../door/pagination.ts';
import type { SchedulerClient } from './scheduler-client.ts';

const queuesOperation = operation({
  id: 'listQueues',
  method: 'GET',
  path: '/queues',
  tag: 'Executors',
  summary: 'List queues',
  description:
    'By GPU model: slots, and the runs that wait for them and hold them, by organisation and deployment, as the leading scheduler knows them. With the scope `operator` of all organisations, and all models that executors have, unless `organisation` is given; with another key only the runs of its own organisation, in the models that it uses, and the slots of the executors that can take them.',
  scope: 'runs:read',
  orScope: 'operator',
  request: { query: QueuesQuery },
  response: { status: 200, description: 'A page of them.', body: QueuesPage },
});

/** Who waits for which slots, for operators, and for an organisation about itself. */
export const queuesRoute = (scheduler: SchedulerClient): Route =>
  route(
    queuesOperation,
    async ({ query }, caller) => {
      const { gpu = null, limit = DEFAULT_LIMIT, cursor } = query;
      const after = modelIn(cursor);
      const page = await scheduler.pools({
        org_id: seenOrganisation(caller, query.organisation) ?? null,
        gpu,
        after,
        limit,
      });
      return { pools: page.pools, next_cursor: cursorAt(page.more ? page.pools.at(-1)?.gpu : undefined) };
    },
    checkCursor(isModel),
  );

const isModel = (text: string): boolean => parseGpuModel(text) === text;

const modelIn = (cursor: string | undefined): GpuModel | null =>
  cursor === undefined ? null : (parseGpuModel(decodeCursor(cursor)) ?? null);
