import type { AuditDetails, AuditActor } from '@runledger/contracts/audit-record';
import type { RecordAction, AuditedAction } from '@runledger/event-log/streams/record-action';
import type { Context } from 'koa';
import type { AuditAction } from '@runledger/contracts/audit-actions';
import {
  keptOf,
  targetOf,
  requestOf,
  type Caller,
  type CheckedRequest,
  type RequestSchemas,
} from '../../door/operation.ts';
import { own } from '../../door/compiled.ts';
import type { Serving } from '../../door/serve-operation.ts';

/** Carries out a request, between two audit records where its operation has them. */
export const recordOperation =
  (record: RecordAction): Serving['audited'] =>
  async (operation, request, work) => {
    const {
      audit,
      request: { body },
    } = operation;
    const { given, caller, ctx } = request;
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

export const actorOf = ({
  key,
  address,
  session,
}: Pick<Caller, 'key' | 'address' | 'session'>): AuditActor => {
  const { id: key_id, user_id, org_id } = key;
  return session
    ? { kind: 'session', session_id: session.id, user_id, org_id, address }
    : { kind: 'key', key_id, user_id, org_id, address };
};

const IPV4 = /^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}$/;
const GROUPS = 8;
const OF_NETWORK = 4;

/** The network of an address: the first 24 bits of an IPv4 address, the first 64 of an IPv6 address. */
export const networkOf = (address: string | undefined): string => {
  if (address === undefined) return 'unknown';
  const [, prefix] = IPV4.exec(address) ?? [];
  if (prefix !== undefined) return `${prefix}.0/24`;
  const [before = '', after] = address.split('::');
  const [head, tail] = [groups(before), groups(after ?? '')];
  const zeros = after === undefined ? 0 : Math.max(0, GROUPS - head.length - tail.length);
  const all = [...head, ...Array.from({ length: zeros }, () => '0'), ...tail];
  return `${all.slice(0, OF_NETWORK).join(':')}::/64`;
};

const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
