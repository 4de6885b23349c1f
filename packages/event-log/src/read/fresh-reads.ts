import type { StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { READ_MARKER } from '@runledger/contracts/events/subjects';
import { sleep } from '@runledger/resilience/abort';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { ONE_COPY_FOR_MS, streamState } from './leader-read.ts';
import { explainRefusal, LogFull } from '../append/publish.ts';

/** A broker elects no other leader within four seconds of hearing the present one. We rely on half of it. */
const PROVES_FOR_MS = 2_000;
/** The leader sends a heartbeat to each replica every second. */
const HEARD_WITHIN_MS = 2_000;
/** How often a marker may be stored while the leader alone is not enough. */
const MARK_EVERY_MS = 20;

/** A message that a quorum has stored. */
interface Marker {
  readonly sequence: number;
  /** When it was sent: it was stored later. */
  readonly sentAt: number;
}

/**
 * The same log, whose reads of runs are never older than an acknowledgement, also when a broker responds that was the leader
 * and does not know yet that it is not any more (ADR 3). Its user needs the permission to store read markers.
 * `clock` is monotonic, in milliseconds.
 */
export const withFreshReads = (log: EventLog, clock: () => number): EventLog => ({
  ...log,
  freshSequence: freshSequence(log, clock),
});

/**
 * A sequence of RUNS that no message exceeds which was acknowledged before the call. Undefined when there is one copy, which
 * is never behind. @throws {LogUnavailable} when there is no quorum
 */
const freshSequence = (log: EventLog, clock: () => number): (() => Promise<number | undefined>) => {
  let marker: Marker | undefined;
  let oneCopyUntil = -Infinity;

  const proves = (by: Marker | undefined): by is Marker =>
    by !== undefined && clock() - by.sentAt < PROVES_FOR_MS;
  const ask = async (): Promise<number | undefined> => {
    const before = marker;
    const info = await streamState(log, 'RUNS');
    if (info.config.num_replicas === 1) {
      oneCopyUntil = clock() + ONE_COPY_FOR_MS;
      return undefined;
    }
    // A leader from before the marker does not have it.
    const isLeader = proves(before) && info.state.last_seq >= before.sequence;
    return isLeader && hearsAll(info) ? info.state.last_seq : mark(info);
  };
  const mark = async (info: StreamInfo): Promise<number> => {
    if (marker) await sleep(Math.max(0, marker.sentAt + MARK_EVERY_MS - clock()));
    try {
      marker = await store(log, clock);
      return marker.sequence;
    } catch (error) {
      // Then it stores no facts either, and the leader's word has to do.
      if (error instanceof LogFull) return info.state.last_seq;
      throw error;
    }
  };
  const asked = oneAtATime(ask);
  return async () => (clock() < oneCopyUntil ? undefined : asked());
};

/** A replica that does not hear the leader would begin an election, which the leader might not notice at once. */
const hearsAll = ({ cluster, config }: StreamInfo): boolean => {
  const replicas = cluster?.replicas ?? [];
  return (
    replicas.length >= config.num_replicas - 1 &&
    replicas.every(({ active, offline }) => !offline && active < nanos(HEARD_WITHIN_MS))
  );
};

/** JSON of no facts. A message of no bytes could end its delivery to a reader: see `pullBatches`. */
const BODY = new TextEncoder().encode('{}');

/** Markers have no id and no fence, so a repeated one is stored twice, which is harmless. */
const store = (log: EventLog, clock: () => number): Promise<Marker> =>
  callBroker('storing a read marker', async () => {
    const sentAt = clock();
    try {
      return { sequence: (await log.js.publish(READ_MARKER, BODY)).seq, sentAt };
    } catch (error) {
      throw explainRefusal(error, 'RUNS', BODY);
    }
  });
