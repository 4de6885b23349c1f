import type { PeerInfo, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';

/** The copies of a stream, as its leader sees them, or any broker with a copy while there is no leader. */
export interface Replicas {
  readonly wanted: number;
  /** Copies that have everything that the leader has; its own is one. */
  readonly current: number;
  /** The brokers that hold copies, and that the leader cannot reach. */
  readonly away: readonly string[];
  /** Messages that the copy which is furthest behind lacks. */
  readonly lag: number;
  /** Whether the leader reaches a majority: without it nothing is stored. */
  readonly hasQuorum: boolean;
  /** Whether the broker is one of several. */
  readonly isClustered: boolean;
}

/** `connectedTo` is the broker of the connection by which the state was read. */
export const replicasOf = (info: Pick<StreamInfo, 'cluster' | 'config'>, connectedTo?: string): Replicas => {
  const wanted = info.config.num_replicas;
  const others = info.cluster?.replicas ?? [];
  const away = awayIn([info], connectedTo);
  return {
    wanted,
    current: 1 + others.filter((peer) => peer.current && !isAway(peer)).length,
    away,
    // The broker leaves out a lag of 0.
    lag: Math.max(0, ...others.filter(({ lag }) => lag > 0).map(({ lag }) => lag)),
    hasQuorum: wanted - away.length > wanted / 2,
    // A single broker is its own leader, in a cluster without a name.
    isClustered: info.cluster?.name !== undefined,
  };
};

/**
 * The brokers that hold copies of these streams, and that the others cannot reach. While a stream has no leader, the broker that responds
 * lists itself like one of which it hears nothing. So the one of this connection is left out.
 */
export const awayIn = (
  streams: readonly (Pick<StreamInfo, 'cluster'> | undefined)[],
  connectedTo?: string,
): readonly string[] => {
  const away = streams.flatMap((info) => {
    const { leader, replicas = [] } = info?.cluster ?? {};
    return replicas.filter((peer) => isAway(peer) && (leader || peer.name !== connectedTo));
  });
  return [...new Set(away.map(({ name }) => name))].toSorted();
};

/** A leader hears from every replica each second. */
const AWAY_AFTER_MS = 4_000;

/**
 * After a kill, nats-server shows a server as offline only minutes later, and its copy of a quiet stream as current. A leader that was
 * elected since then has never heard it: `active` is 0.
 */
const isAway = ({ offline, current, active }: PeerInfo): boolean =>
  offline || active > nanos(AWAY_AFTER_MS) || (active === 0 && !current);

/** The copies of each stream; undefined: its leader does not respond. */
type Copies = ReadonlyMap<string, Replicas | undefined>;

/** For `/readyz`: the copies of one stream, and the other streams whose copies are not complete. Undefined when there is nothing to say. */
export const noteOn = (stream: string, now: Replicas, all: Copies = new Map()): string | undefined => {
  if (!now.isClustered) return undefined;
  const others = [...all].filter(([name]) => name !== stream);
  const those = (which: (copies: Replicas | undefined) => boolean): string =>
    others.flatMap(([name, copies]) => (which(copies) ? [name] : [])).join(', ');
  const parts = [
    onOne(stream, now),
    ['away, or with JetStream switched off after its disk was full: ', now.away.join(', ')],
    ['copies are missing of ', those((copies) => copies !== undefined && copies.current < copies.wanted)],
    ['one copy only: ', those((copies) => copies?.wanted === 1)],
    ['without a leader: ', those((copies) => copies === undefined)],
  ] as const;
  return parts
    .flatMap((part) => (typeof part === 'string' ? [part] : part[1] === '' ? [] : [part.join('')]))
    .join('; ');
};

const onOne = (stream: string, { wanted, current, lag }: Replicas): string =>
  wanted === 1
    ? `${stream} has one copy, although there are several brokers: when its broker is lost, so are accepted runs. Provision with 3 replicas`
    : `${stream} has ${current} of ${wanted} copies that are current, ${lag} messages behind at most`;
