import type { Middleware } from 'koa';
import type { CancelRun } from '../runs/cancel-run.ts';
import type { Callers } from './callers.ts';
import { notFoundRun } from './not-found-run.ts';
import { Refused } from './problem.ts';
import { requestOf } from './request-context.ts';
import { runKeyOf } from './run-id.ts';

export interface CancelRoute {
  readonly callers: Callers;
  readonly cancel: CancelRun;
}

/** `POST /run/{run_id}/cancel` */
export const cancelRoute =
  ({ callers, cancel }: CancelRoute): Middleware =>
  async (ctx) => {
    const { org_id, user_id } = await callers(ctx, 'runs:write');
    const key = runKeyOf(ctx, org_id);
    const { traceparent } = requestOf(ctx);
    const cancellation = await cancel(key, { user_id, traceparent });
    switch (cancellation.kind) {
      case 'answered':
        ctx.body = { run_id: key.run_id, ...cancellation.answer };
        return;
      case 'too_busy':
        throw new Refused({
          kind: 'unavailable',
          why: 'The run changed again and again while its cancellation was stored. Try again',
        });
      case 'none':
      case 'views_away':
      case 'unreadable':
        throw notFoundRun(cancellation);
    }
  };
