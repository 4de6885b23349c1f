import type { Context } from 'koa';
import type { Requested } from './accept-run.ts';
import type { Caller } from '../../http/operation.ts';
import { requestOf } from '../../http/request-context.ts';

/** Who asks for a run, and by which request. */
export const requestedBy = (
  ctx: Context,
  { org_id, user_id }: Caller,
  headers: { readonly 'Idempotency-Key'?: string },
): Requested => {
  const { request_id, traceparent } = requestOf(ctx);
  const idempotencyKey = headers['Idempotency-Key'];
  return { org_id, user_id, idempotencyKey, correlation_id: request_id, traceparent };
};
