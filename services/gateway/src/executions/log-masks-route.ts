import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Middleware } from 'koa';
import type { Deployment } from '@runledger/contracts/catalogue/records';
import type { OrgId } from '@runledger/contracts/ids';
import { namedAttempt, permittedRun } from './attempt-permission.ts';

/** A deployment that a run in progress uses exists. */
export type FindDeployment = (
  org_id: OrgId,
  id: string,
) => Promise<Pick<Deployment, 'log_masks'> | undefined>;

/** `GET /executions/{org_id}/{run_id}/{attempt}/log-masks`: what the deployment masks in logs now. */
export const logMasksRoute =
  (log: EventLog, find: FindDeployment): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(log, ctx, namedAttempt(ctx));
    const deployment = await find(run.org_id, run.request.deployment_id);
    ctx.set('Cache-Control', 'no-store');
    ctx.body = deployment?.log_masks ?? [];
  };
