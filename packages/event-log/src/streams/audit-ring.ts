import {
  AUDIT_STREAMS,
  auditStreamOf,
  type AuditAction,
  type AuditRing,
  type AuditStream,
} from '@runledger/contracts/audit-actions';
import { auditSubject, ringsOf } from '@runledger/contracts/audit-record';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { countDirect, readDirect, readDirectNext } from '../read/direct-read.ts';
import { streamState } from '../read/leader-read.ts';

interface RingUse {
  /** How many records it keeps. */
  readonly most: number;
  /** How many of its records were stored since. */
  readonly recent: number;
  /** When its newest record was stored. */
  readonly newest: Date | undefined;
}

/** What a ring of an organisation holds. `org_id`: null for that of no organisation. @throws {LogUnavailable} */
export const ringUse = async (
  log: EventLog,
  org_id: string | null,
  ring: AuditRing,
  since: Date,
): Promise<RingUse> => {
  const stream = auditStreamOf(ring);
  const subject = auditSubject(org_id, ring);
  const [{ config }, recent, { messages }] = await Promise.all([
    streamState(log, stream),
    countDirect(log, stream, subject, since),
    readDirect(log, stream, { multi_last: [subject] }, `reading the newest record under ${subject}`),
  ]);
  return { most: mostOf(config.max_msgs_per_subject), recent, newest: messages[0]?.time };
};

/** Of a ring, older records than this may have left, because newer ones took their place. */
interface RecordsLeft {
  readonly ring: AuditRing;
  readonly before: Date;
}

/** Of which rings of an organisation records may have left before their age. @throws {LogUnavailable} */
export const recordsLeft = async (
  log: EventLog,
  org_id: string | null,
  action: AuditAction | undefined,
): Promise<readonly RecordsLeft[]> => {
  const rings = ringsOf(action);
  const ofStreams = AUDIT_STREAMS.map(async (stream) => {
    const wanted = rings.filter((ring) => auditStreamOf(ring) === stream);
    return wanted.length === 0 ? [] : leftOf(log, stream, org_id, wanted);
  });
  return (await Promise.all(ofStreams)).flat();
};

const leftOf = async (
  log: EventLog,
  stream: AuditStream,
  org_id: string | null,
  rings: readonly AuditRing[],
): Promise<RecordsLeft[]> => {
  const subjects_filter = auditSubject(org_id, '*');
  const { config, state } = await callBroker(`counting the records under ${subjects_filter}`, () =>
    log.jsm.streams.info(stream, { subjects_filter }),
  );
  // Whatever was stored before its first message has left it.
  const isFull = config.max_bytes > 0 && state.bytes > config.max_bytes - 2 * config.max_msg_size;
  const ofStream = isFull ? new Date(state.first_ts) : undefined;
  const ofRings = rings.map(async (ring): Promise<RecordsLeft[]> => {
    const subject = auditSubject(org_id, ring);
    const isRingFull = (state.subjects?.[subject] ?? 0) >= mostOf(config.max_msgs_per_subject);
    const oldest = isRingFull ? await readDirectNext(log, stream, 1, subject) : null;
    const before = oldest?.time ?? ofStream;
    return before === undefined ? [] : [{ ring, before }];
  });
  return (await Promise.all(ofRings)).flat();
};

const mostOf = (setting: number): number => (setting > 0 ? setting : Infinity);
