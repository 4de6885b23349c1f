import type { AuditActor, AuditDetails } from '@runledger/contracts/audit/audit-record';
import type { AuditAction } from '@runledger/contracts/audit/audit-actions';
import type { AuditedAction } from '@runledger/event-log/audit/record-action';
import type { Context } from 'koa';
import type { Caller } from '../http/operation.ts';
import { requestOf } from '../http/request-context.ts';
import { targetOf } from './core/audit-rule.ts';

interface Requested {
  readonly action: AuditAction;
  /** The id of what it is done to. */
  readonly target?: unknown;
  /** It concerns what no organisation owns. */
  readonly installation?: true | undefined;
  readonly details?: AuditDetails;
}

/** What a request is about to do, for its audit records. */
export const requestedAction = (
  ctx: Context,
  caller: Caller,
  { action, target, installation, details = {} }: Requested,
): AuditedAction => ({
  action,
  org_id: installation ? null : caller.org_id,
  actor: actorOf(caller),
  target: targetOf(action, target),
  request_id: requestOf(ctx).request_id,
  ...(Object.keys(details).length === 0 ? {} : { details }),
});

const actorOf = ({ org_id, user_id, key, address, session }: Caller): AuditActor =>
  session
    ? { kind: 'session', session_id: session.id, user_id, org_id, address }
    : { kind: 'key', key_id: key.id, user_id, org_id, address };
