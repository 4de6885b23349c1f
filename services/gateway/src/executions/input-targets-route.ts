import { inputTargets } from '@runledger/contracts/catalogue/input-targets';
import type { WorkflowVersion } from '@runledger/contracts/catalogue/records';
import type { OrgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Middleware } from 'koa';
import { Refused } from '../http/refusal.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';

export type FindVersion = (org_id: OrgId, id: string) => Promise<Pick<WorkflowVersion, 'inputs'> | undefined>;

/** `GET /executions/{org_id}/{run_id}/{attempt}/input-targets`: which nodes of the workflow take the inputs of the run. */
export const inputTargetsRoute =
  (log: EventLog, find: FindVersion): Middleware =>
  async (ctx) => {
    const { run } = await permittedRun(log, ctx, namedAttempt(ctx));
    const { workflow_version_id } = run.request;
    const version = await find(run.org_id, workflow_version_id);
    if (!version) {
      const why = `The workflow version ${workflow_version_id}, which this run was queued with, is deleted. Create another one, and queue the run again.`;
      throw new Refused({ code: 'assigned_version_deleted', why });
    }
    ctx.set('Cache-Control', 'no-store');
    ctx.body = inputTargets(version.inputs);
  };
