import type { AuditRecord } from '@runledger/contracts/audit/audit-record';

export interface AuditSelection {
  readonly key_id?: string | undefined;
  readonly user_id?: string | undefined;
  /** The id of a target. */
  readonly target?: string | undefined;
}

/** Whether a record is about these; what is left out does not matter. */
export const isOf =
  ({ key_id, user_id, target }: AuditSelection) =>
  ({ actor, target: { id } }: Pick<AuditRecord, 'actor' | 'target'>): boolean =>
    (key_id === undefined || (actor.kind === 'key' && actor.key_id === key_id)) &&
    (user_id === undefined ||
      ((actor.kind === 'key' || actor.kind === 'session') && actor.user_id === user_id)) &&
    (target === undefined || id === target);
