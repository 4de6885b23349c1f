import { statusOf } from '@runledger/contracts/http/refusals/refusal-codes';
import { storeAuditRecord } from '@runledger/event-log/audit/audit-records';
import { actionRecorder, type RecordAction } from '@runledger/event-log/audit/record-action';
import type { AuditActor, AuditRecord } from '@runledger/contracts/audit/audit-record';
import { newUuid } from '@runledger/contracts/ids';
import type { Kit } from '../../kit.ts';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { Refused } from '../../door/refusal.ts';
import { reserveGauge, rightsReserve } from './rights-reserve.ts';
import type { CredentialRefusal, OnCredentialRefused } from '../../door/caller.ts';
import { networkOf } from './record-operation.ts';

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
  const stop = new AbortController();
  const flushing = (async () => {
    while (!stop.signal.aborted) {
      await sleep(EVERY_MS, stop.signal);
      await flush();
    }
  })();
  return {
    count,
    flush,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await within(STOP_WITHIN_MS, flushing, () => undefined);
    },
  };
};

const nameOf = (refusal: CredentialRefusal): string =>
  `${refusal.why} ${refusal.why === 'lacks_scope' ? refusal.key.id : networkOf(refusal.address)}`;

const whose = (refusal: CredentialRefusal): Count['of'] => {
  if (refusal.why === 'sign_in') return ofNetwork(networkOf(refusal.address), 'session');
  if (refusal.why !== 'lacks_scope') return ofNetwork(networkOf(refusal.address));
  const { key, session, address = null } = refusal;
  const { id: key_id, user_id, org_id } = key;
  const actor: AuditActor = session
    ? { kind: 'session', session_id: session.id, user_id, org_id, address }
    : { kind: 'key', key_id, user_id, org_id, address };
  return { org_id, actor, target: { kind: 'credential', id: key_id } };
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
