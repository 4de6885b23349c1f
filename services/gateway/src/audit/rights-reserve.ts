import { AUDIT_ACTIONS } from '@runledger/contracts/audit/audit-actions';
import { auditSubject } from '@runledger/contracts/audit/audit-record';
import { AUDIT_RINGS, RESERVE_AGE_MS } from '@runledger/contracts/audit/audit-rings';
import { ringUse } from '@runledger/event-log/audit/audit-ring';
import { AuditNotStored, type AuditedAction } from '@runledger/event-log/audit/record-action';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import pLimit, { type LimitFunction } from 'p-limit';
import { Refused } from '../http/refusal.ts';
import { reserveOf } from './core/reserve.ts';

export interface RightsReserveOptions {
  readonly log: EventLog;
  readonly now: () => Date;
  /** `ring`: that of one organisation. `used`: the part of its reserve that is used. */
  readonly onUse: (ring: string, used: number) => void;
}

/** Carries an action out once its ring has room. @throws {Refused} with how long to wait @throws {AuditNotStored} */
export type WithinReserve = <Result>(
  what: Pick<AuditedAction, 'action' | 'org_id'>,
  work: () => Promise<Result>,
) => Promise<Result>;

interface Ring {
  readonly limit: LimitFunction;
  /** Carried out, or waiting for that. */
  users: number;
  underway: number;
}

/** At this gateway, for one ring: no gateway knows what others carry out at this moment. */
const MAX_UNDERWAY = 16;

/** What gives rights can be done without end, and slowly: whoever hides an action behind many others waits, and is seen. */
export const rightsReserve = ({ log, now, onUse }: RightsReserveOptions): WithinReserve => {
  const rings = new Map<string, Ring>();
  const refuseWithoutRoom = async (
    what: Parameters<WithinReserve>[0],
    name: string,
    underway: number,
  ): Promise<void> => {
    const since = new Date(now().getTime() - RESERVE_AGE_MS);
    const { ring } = AUDIT_ACTIONS[what.action];
    const use = await ringUse(log, what.org_id, ring, since).catch((error: unknown) => {
      throw new AuditNotStored('It is not known how many audit records there are', { cause: error });
    });
    const { used, waitMs } = reserveOf({ ...use, underway }, now());
    onUse(name, used);
    if (waitMs > 0) throw tooOften(Math.ceil(waitMs / 1_000));
  };
  return async (what, work) => {
    const kind = AUDIT_ACTIONS[what.action].ring;
    if (!('hasReserve' in AUDIT_RINGS[kind])) return work();
    const name = auditSubject(what.org_id, kind);
    const ring = rings.get(name) ?? { limit: pLimit(MAX_UNDERWAY), users: 0, underway: 0 };
    rings.set(name, ring);
    ring.users += 1;
    try {
      return await ring.limit(async () => {
        const others = ring.underway;
        ring.underway += 1;
        try {
          await refuseWithoutRoom(what, name, others);
          return await work();
        } finally {
          ring.underway -= 1;
        }
      });
    } finally {
      ring.users -= 1;
      if (ring.users === 0) rings.delete(name);
    }
  };
};

const tooOften = (seconds: number): Refused =>
  new Refused({
    code: 'rights_changed_too_often',
    why: `The organisation has done this so often within a week that the records of it would leave the audit log. Nothing was done. Try again in ${seconds} seconds; keys, members and invitations can be revoked and removed at once`,
    headers: { 'Retry-After': String(seconds) },
  });
