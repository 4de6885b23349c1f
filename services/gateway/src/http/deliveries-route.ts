import type { Deliveries } from '@runledger/event-log/deliveries';
import type { RunKey } from '@runledger/contracts/subjects';
import type { Middleware } from 'koa';
import { deliveriesResponse, NO_TRIES } from '../domain/delivery-response.ts';
import type { ReadCurrentRun } from '../runs/current-run.ts';
import type { Callers } from './callers.ts';
import { notFoundRun } from './not-found-run.ts';
import { runKeyOf } from './run-id.ts';

export interface DeliveriesRoute {
  readonly callers: Callers;
  readonly current: ReadCurrentRun;
  /** @throws {LogUnavailable} */
  readonly tries: (key: RunKey) => Promise<Deliveries>;
}

/** `GET /run/{run_id}/deliveries`: every try to notify of a run, and where its delivery stands. */
export const deliveriesRoute =
  ({ callers, current, tries }: DeliveriesRoute): Middleware =>
  async (ctx) => {
    const { org_id } = await callers(ctx, 'runs:read');
    const key = runKeyOf(ctx, org_id);
    const found = await current(key);
    if (found.kind !== 'found') throw notFoundRun(found);
    const { run, webhook } = found;
    const kept = run.request.webhook === null ? NO_TRIES : await tries(key);
    ctx.body = deliveriesResponse(run, webhook.webhook, kept);
  };
