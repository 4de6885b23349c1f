import type { Schemas } from '../api/schemas.ts';

type Entry = Schemas['AuditEntry'];

/** An action with what its records say together. */
export interface AuditedAction extends Pick<
  Entry,
  'id' | 'action' | 'org_id' | 'actor' | 'target' | 'request_id' | 'time'
> {
  /** `requested`: only that record is known. It goes on, or the process ended before the outcome was stored. */
  readonly outcome: 'requested' | 'done' | 'refused' | 'unknown';
  readonly details: NonNullable<Entry['details']>;
}

/** One action for its records, in the order of the newest record of each. Records come newest first. */
export const auditedActions = (records: readonly Entry[]): readonly AuditedAction[] => {
  const byId = new Map<string, AuditedAction>();
  for (const { id, action, org_id, actor, target, outcome, request_id, details = {}, time } of records) {
    const newer = byId.get(id);
    byId.set(
      id,
      newer === undefined
        ? { id, action, org_id, actor, target, request_id, time, outcome: outcome ?? 'requested', details }
        : { ...newer, details: { ...details, ...newer.details } },
    );
  }
  return [...byId.values()];
};
