import type { DeliveryState } from '@runledger/contracts/deliveries';
import type { OrgId, RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects';
import type { Context, Middleware } from 'koa';
import { listedDelivery } from '../domain/delivery-response.ts';
import { WEBHOOK_STATUSES } from '../domain/webhook-status.ts';
import type { RunViews, WebhookQuery } from '../views/run-views.ts';
import type { Callers } from './callers.ts';
import { cursorAt, readCursor } from './page-cursor.ts';
import { invalid, Refused, type Invalid } from './problem.ts';
import { webhookFilter } from './webhook-filter.ts';

export interface ListDeliveriesRoute {
  readonly callers: Callers;
  readonly views: RunViews;
  /** Where the deliveries of several runs stand. @throws {LogUnavailable} */
  readonly states: (keys: readonly RunKey[]) => Promise<ReadonlyMap<RunId, DeliveryState>>;
}

const DEFAULT_LIMIT = 20;
const MOST = 100;

/** `GET /webhooks/deliveries`: the organisation's runs with a webhook, newest first. */
export const listDeliveriesRoute =
  ({ callers, views, states }: ListDeliveriesRoute): Middleware =>
  async (ctx) => {
    const { org_id } = await callers(ctx, 'runs:read');
    const query = readQuery(ctx, org_id);
    const { items, end } = await views.listWebhooks(query);
    const stored = await states(items);
    ctx.body = {
      deliveries: items.map((row) => listedDelivery(row, stored.get(row.run_id))),
      next_cursor: cursorAt(end),
    };
  };

const readQuery = (ctx: Context, org_id: OrgId): WebhookQuery => {
  const wrong: Invalid[] = [];
  const given = (name: string): string[] => [ctx.query[name] ?? []].flat();
  const member = (name: string): string | undefined =>
    // A status may be named several times; of anything else the last one counts.
    name === 'status' && given(name).length > 0 ? given(name).join(',') : given(name).at(-1);
  const filter = webhookFilter({ member, loc: ['query'], statuses: WEBHOOK_STATUSES }, wrong);
  const limit = readLimit(member('limit'), wrong);
  const behind = readCursor(member('cursor'), ['query', 'cursor'], wrong);
  if (wrong.length > 0) throw new Refused({ kind: 'invalid', problems: wrong });
  return { org_id, ...filter, limit, ...(behind ? { behind } : {}) };
};

const readLimit = (text: string | undefined, wrong: Invalid[]): number => {
  if (text === undefined) return DEFAULT_LIMIT;
  const loc = ['query', 'limit'];
  const limit = /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
  if (limit === undefined) {
    wrong.push(invalid(loc, 'int_parsing', 'Input should be a valid integer'));
  } else if (limit < 1) {
    wrong.push(invalid(loc, 'greater_than_equal', 'Input should be greater than or equal to 1'));
  } else if (limit > MOST) {
    wrong.push(invalid(loc, 'less_than_equal', `Input should be less than or equal to ${MOST}`));
  } else return limit;
  return DEFAULT_LIMIT;
};
