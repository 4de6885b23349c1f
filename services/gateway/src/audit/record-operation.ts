import type { AuditDetails } from '@runledger/contracts/audit/audit-record';
import type { RecordAction } from '@runledger/event-log/audit/record-action';
import type { Context } from 'koa';
import type { Caller, CheckedRequest, Operation, RequestSchemas } from '../http/operation.ts';
import { own } from '../validation/node.ts';
import { keptOf, targetOf } from './core/audit-rule.ts';
import { requestedAction } from './requested-action.ts';

interface RecordedRequest {
  readonly record: RecordAction;
  readonly given: CheckedRequest<RequestSchemas>;
  readonly caller: Caller;
  readonly ctx: Context;
}

/** Carries out a request, between two audit records where its operation has them. */
export const recordOperation = async (
  { audit, request: { body } }: Operation,
  { record, given, caller, ctx }: RecordedRequest,
  work: () => Promise<unknown>,
): Promise<unknown> => {
  if (audit === undefined || !('action' in audit)) return work();
  const { action, target, keeps = [], installation } = audit;
  const requested = requestedAction(ctx, caller, {
    action,
    target: target === undefined ? null : own(given.path, target),
    installation,
    details: { ...(ctx.method === 'PATCH' ? changedMembers(given, body) : {}), ...audit.details?.(given) },
  });
  return record(requested, work, (response) => ({
    ...(target === undefined ? { target: targetOf(action, own(response, 'id')) } : {}),
    ...(keeps.length === 0 ? {} : { details: keptOf(response, keeps) }),
  }));
};

/** The names of what a request changes, of those that its description has. */
const changedMembers = (
  { body }: CheckedRequest<RequestSchemas>,
  schema: RequestSchemas['body'],
): AuditDetails => {
  const known = Object.keys(Object(own(schema, 'properties')));
  return { members: Object.keys(Object(body)).filter((name) => known.includes(name)) };
};
