import type { JsonValue } from '@runledger/contracts/json';
import type { Middleware } from 'koa';
import type { RedeliverMany } from '../runs/redeliver-many.ts';
import type { Place } from '../views/place.ts';
import { bodyObject, isObject, member, refuse } from './body-object.ts';
import type { Callers } from './callers.ts';
import type { JsonBody } from './json-body.ts';
import { cursorAt, readCursor } from './page-cursor.ts';
import { invalid, type Invalid } from './problem.ts';
import { requestOf } from './request-context.ts';
import { webhookFilter, type WebhookFilter } from './webhook-filter.ts';

export interface RedeliverManyRoute {
  readonly callers: Callers;
  readonly body: JsonBody;
  readonly redeliverMany: RedeliverMany;
}

/** `POST /webhooks/redeliver`: all that a filter fits, page after page. */
export const redeliverManyRoute =
  ({ callers, body, redeliverMany }: RedeliverManyRoute): Middleware =>
  async (ctx) => {
    const { org_id, user_id } = await callers(ctx, 'runs:write');
    const { filter, behind, dryRun } = readRequest(await body(ctx));
    const { traceparent } = requestOf(ctx);
    const which = { org_id, ...filter, ...(behind ? { behind } : {}) };
    const { matched, requested, end } = await redeliverMany(which, { user_id, traceparent }, dryRun);
    ctx.body = { matched, requested, next_cursor: cursorAt(end) };
  };

const LOC = ['body', 'filter'];

interface RedeliverManyRequest {
  readonly filter: WebhookFilter;
  readonly behind: Place | undefined;
  readonly dryRun: boolean;
}

const readRequest = (body: JsonValue | undefined): RedeliverManyRequest => {
  if (body === undefined) refuse([invalid(['body'], 'missing', 'Field required')]);
  const fields = bodyObject(body);
  const wrong: Invalid[] = [];
  const filter = readFilter(member(fields, 'filter'), wrong);
  const behind = readCursor(member(fields, 'cursor'), ['body', 'cursor'], wrong);
  const dryRun = member(fields, 'dry_run') ?? false;
  if (typeof dryRun !== 'boolean') {
    wrong.push(invalid(['body', 'dry_run'], 'bool_type', 'Input should be a valid boolean'));
  }
  if (wrong.length > 0) refuse(wrong);
  return { filter, behind, dryRun: dryRun === true };
};

/** It has to be there, so that nothing is sent again by a body that was forgotten. */
const readFilter = (value: JsonValue | undefined, wrong: Invalid[]): WebhookFilter => {
  const given = value !== undefined && isObject(value) ? value : undefined;
  if (value === undefined) wrong.push(invalid(LOC, 'missing', 'Field required'));
  else if (!given) wrong.push(invalid(LOC, 'dict_type', 'Input should be a valid dictionary'));
  return webhookFilter(
    { member: (name) => given && member(given, name), loc: LOC, statuses: ['failed'] },
    wrong,
  );
};
