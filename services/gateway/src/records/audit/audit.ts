import { statusOf } from '@runledger/contracts/http/refusal-codes';
import { storeAuditRecord } from '@runledger/event-log/streams/audit-records';
import {
  actionRecorder,
  AuditNotStored,
  type RecordAction,
  type AuditedAction,
} from '@runledger/event-log/streams/record-action';
import { auditSubject, type AuditRecord } from '@runledger/contracts/audit-record';
import { newUuid } from '@runledger/contracts/ids';
import type { Kit } from '../../kit.ts';
import { inBackground, sleep } from '@runledger/resilience/abort';
import { Refused } from '../../door/refusal.ts';
import type { CredentialRefusal, OnCredentialRefused } from '../../door/caller.ts';
import { actorOf, networkOf } from './record-operation.ts';
import { AUDIT_ACTIONS, AUDIT_RINGS, RESERVE_AGE_MS } from '@runledger/contracts/audit-actions';
import { ringUse } from '@runledger/event-log/streams/audit-ring';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { observedGauge, type Metrics } from '@runledger/service-kit/metrics';
import { LRUCache } from 'lru-cache';

export interface Audit {
  readonly record: RecordAction;
  readonly refused: RefusedCredentials;
}

/** Who did what at this gateway. */
export const openAudit = (kit: Kit): Audit => {
  const { log, metrics } = kit;
  const onLost = metrics.auditLost;
  const record = actionRecorder({ log, isRefusal, onLost });
  const withinReserve = rightsReserve(kit, reserveGauge(metrics.registry, log));
  return {
    record: (what, work, completionOf) => withinReserve(what, () => record(what, work, completionOf)),
    refused: refusedCredentials(kit, (counted) => storeAuditRecord(log, counted)),
  };
};

/** A refusal of the server says that it may have been done. */
const isRefusal = (error: unknown): boolean => error instanceof Refused && statusOf(error.refusal.code) < 500;

interface RefusedCredentials extends AsyncDisposable {
  readonly count: OnCredentialRefused;
  /** Stores what was counted. */
  readonly flush: () => Promise<void>;
}

interface Count {
  readonly of: Pick<AuditRecord, 'org_id' | 'actor' | 'target'>;
  readonly why: CredentialRefusal['why'];
  readonly since: Date;
  times: number;
}

const EVERY_MS = 60_000;
/** Bounds the memory, and the records of a minute: the refusals of further networks and keys are counted together. */
const MAX_COUNTS = 16;
const STOP_WITHIN_MS = 500;
const OTHERS = 'others';

/**
 * Counts refused credentials by network, or by key, and stores the counts once a minute: a flood leaves few records. Counts that cannot be
 * stored stay, and are stored later.
 */
export const refusedCredentials = (
  { logger, metrics, now }: Kit,
  store: (record: AuditRecord) => Promise<void>,
): RefusedCredentials => {
  const counts = new Map<string, Count>();
  const count = (refusal: CredentialRefusal): void => {
    const known = counts.get(nameOf(refusal));
    const isRoom = known !== undefined || counts.size < MAX_COUNTS;
    const name = isRoom ? nameOf(refusal) : `${refusal.why} ${OTHERS}`;
    const counted = known ?? counts.get(name);
    const { why } = refusal;
    if (counted) counted.times += 1;
    else counts.set(name, { of: isRoom ? whose(refusal) : ofOthers(why), why, since: now(), times: 1 });
  };
  const storeOne = async (name: string, counted: Count): Promise<void> => {
    const { of, why, since, times } = counted;
    const record: AuditRecord = {
      version: 1,
      id: newUuid(),
      stage: 'completed',
      action: actionOf(why),
      ...of,
      outcome: 'refused',
      request_id: null,
      details: { why, times, since: since.toISOString() },
    };
    try {
      await store(record);
      // Some may have been added meanwhile.
      if (counted.times === times) counts.delete(name);
      else counts.set(name, { ...counted, since: now(), times: counted.times - times });
    } catch (error) {
      metrics.auditLost();
      logger.error({ err: error, audit: record }, 'an audit record could not be stored; trying again');
    }
  };
  const flush = async (): Promise<void> => {
    for (const [name, counted] of counts) await storeOne(name, counted);
  };
  const flushing = inBackground(async (stop) => {
    while (!stop.aborted) {
      await sleep(EVERY_MS, stop);
      await flush();
    }
  }, STOP_WITHIN_MS);
  return { count, flush, ...flushing };
};

const nameOf = (refusal: CredentialRefusal): string =>
  `${refusal.why} ${refusal.why === 'lacks_scope' ? refusal.key.id : networkOf(refusal.address)}`;

const whose = (refusal: CredentialRefusal): Count['of'] => {
  if (refusal.why === 'sign_in') return ofNetwork(networkOf(refusal.address), 'session');
  if (refusal.why !== 'lacks_scope') return ofNetwork(networkOf(refusal.address));
  const { key, address = null } = refusal;
  const actor = actorOf({ ...refusal, address });
  return { org_id: key.org_id, actor, target: { kind: 'credential', id: key.id } };
};

const ofNetwork = (network: string, kind: 'credential' | 'session' = 'credential'): Count['of'] => ({
  org_id: null,
  actor: { kind: 'unknown', network },
  target: { kind, id: null },
});

const actionOf = (why: CredentialRefusal['why']): AuditRecord['action'] =>
  why === 'sign_in' ? 'session.refused' : 'credential.refused';

const ofOthers = (why: CredentialRefusal['why']): Count['of'] =>
  ofNetwork(OTHERS, why === 'sign_in' ? 'session' : 'credential');

/** Carries an action out once its ring has room. @throws {Refused} with how long to wait @throws {AuditNotStored} */
type WithinReserve = <Result>(what: AuditedAction, work: () => Promise<Result>) => Promise<Result>;

interface Ring {
  readonly limit: LimitFunction;
  /** Carried out, or waiting for that. */
  users: number;
  underway: number;
}

/** At this gateway, for one ring: no gateway knows what others carry out at this moment. */
const MAX_UNDERWAY = 16;

/** What gives rights can be done without end, and slowly: whoever hides an action behind many others waits, and is seen. */
const rightsReserve = (
  { log, now }: Kit,
  /** `ring`: that of one organisation. `used`: the part of its reserve that is used. */
  onUse: (ring: string, used: number) => void,
): WithinReserve => {
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

interface ReserveUse {
  /** How many records the ring keeps. */
  readonly most: number;
  /** How many of its records are younger than `RESERVE_AGE_MS`. */
  readonly recent: number;
  readonly newest: Date | undefined;
  /** Actions that this gateway carries out, and that are in no record yet. */
  readonly underway: number;
}

interface Reserve {
  /** The part of the reserve that is used; from 1 on actions wait for each other. */
  readonly used: number;
  /** Milliseconds until the next action may begin; 0 for now. */
  readonly waitMs: number;
}

const ANOTHER_ENDS_IN_MS = 1_000;

/**
 * Half of a ring is there for actions at any speed. Afterwards they come one by one, so slowly that a week of them takes another quarter.
 * The last quarter is left free for what several gateways carry out at the same moment. So no record leaves within a week, and nobody waits
 * for longer than a week divided by a quarter of the ring.
 */
export const reserveOf = ({ most, recent, newest, underway }: ReserveUse, now: Date): Reserve => {
  const atOnce = Math.max(1, Math.floor(most / 2));
  const used = (recent + underway) / atOnce;
  if (used < 1) return { used, waitMs: 0 };
  if (underway > 0) return { used, waitMs: ANOTHER_ENDS_IN_MS };
  if (newest === undefined) return { used, waitMs: 0 };
  const everyMs = RESERVE_AGE_MS / Math.max(1, Math.floor(most / 4));
  return { used, waitMs: Math.max(0, newest.getTime() + everyMs - now.getTime()) };
};

const SEEN_FOR_MS = 3_600_000;
const MAX_RINGS = 1_000;
/** Below the threshold of the alert, so that the log names the organisation before it fires. */
const NOTEWORTHY = 0.75;

/** Shows how much of the reserves is used. Gives what to call for each use. No label holds an organisation: the log names it. */
const reserveGauge = (metrics: Metrics, { logger }: EventLog): ((ring: string, used: number) => void) => {
  const seen = new LRUCache<string, number>({ max: MAX_RINGS, ttl: SEEN_FOR_MS });
  observedGauge(metrics, {
    name: 'runledger_gateway_audit_reserve_used_ratio',
    help: 'The largest part of a reserve of audit records that an organisation has used, of those that gave rights, chose passwords or read secrets at this gateway within an hour. From 1 on they wait.',
    value: () => Math.max(0, ...seen.values()),
  });
  return (ring, used) => {
    const before = seen.get(ring) ?? 0;
    seen.set(ring, used);
    if (used >= NOTEWORTHY && before < NOTEWORTHY)
      logger.warn({ ring, used }, 'an organisation has used most of a reserve of audit records');
  };
};
