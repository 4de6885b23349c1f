import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Middleware } from 'koa';
import { Refused } from '../http/refusal.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';

/** The JSON text that an assignment names, or why nobody has it any more, for people. */
export type AssignedJson =
  | { readonly kind: 'found'; readonly text: Uint8Array }
  | { readonly kind: 'lost'; readonly code: LostCode; readonly why: string };

export type LostCode =
  | 'assigned_workflow_lost'
  | 'assigned_workflow_damaged'
  | 'assigned_inputs_lost'
  | 'assigned_inputs_damaged';

/** `GET /executions/{org_id}/{run_id}/{attempt}/…`: the executor of an attempt fetches what its assignment names. */
export const fetchRoute =
  (log: EventLog, read: (run: ExecutingRun) => Promise<AssignedJson>): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(log, ctx, namedAttempt(ctx));
    const json = await read(run);
    if (json.kind === 'lost') throw new Refused({ code: json.code, why: json.why });
    ctx.status = 200;
    ctx.set('Cache-Control', 'no-store');
    ctx.type = 'application/json';
    ctx.body = Buffer.from(json.text);
  };
