import { System } from '@runledger/contracts/http/system';
import { MAX_LISTED_EXECUTORS, type ExecutorsResponse } from '@runledger/contracts/requests/executors';
import { SERVICES_WITH_INSTANCES } from '@runledger/contracts/requests/instances';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { storageUse, streamSizes, type StreamSize } from '@runledger/event-log/provision/stream-sizes';
import { requestExecutors } from '@runledger/request-reply/executors';
import { requestInstances } from '@runledger/request-reply/instances';
import { within } from '@runledger/resilience/within';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import { operation, route, type Route } from '../../door/operation.ts';
import { projectionLag, type ProjectionLag } from '../../views/position-watch.ts';
import { VIEW_VERSION } from '../../views/stored-run.decide.ts';

const systemOperation = operation({
  id: 'getSystem',
  method: 'GET',
  path: '/system',
  tag: 'System',
  summary: 'Read the state of the installation',
  description:
    'The processes that respond, who leads, how far the views are, and what the streams hold. It responds within two seconds: what has not responded by then is named in `did_not_respond`, and `complete` is false. A process that does not respond is left out: compare with what should run.',
  scope: 'operator',
  request: {},
  response: { status: 200, description: 'The state of the installation.', body: System },
});

export const systemRoute = (options: Observed): Route => {
  const read = systemReader(options);
  return route(systemOperation, () => read());
};

interface Observed {
  readonly log: EventLog;
  /** The position of the views that this gateway reads; undefined while it has not seen one. */
  readonly position: () => number | undefined;
  /** The first host that sent `X-Forwarded-For` to this gateway and is no trusted proxy. */
  readonly untrustedProxy: () => string | undefined;
}

/** Everything is asked at the same time, and what has not come by then is missing. */
const WITHIN_MS = 1_000;
/** Processes of a service respond at the same time. */
const INSTANCES = { totalMs: WITHIN_MS, quietMs: 400, most: 100 };

/** Reads the state of the installation, within little more than a second. What does not respond is named, and left out. */
export const systemReader = ({ log, position, untrustedProxy }: Observed): (() => Promise<System>) => {
  const lag = projectionLag(log);
  return async () => {
    const [instances, leaders, executors, projection, streams, storage] = await Promise.all([
      instancesOf(log),
      inTime(readLeaders(log, WITHIN_MS)),
      inTime(requestExecutors(log, { name: null, after: null, limit: MAX_LISTED_EXECUTORS }, WITHIN_MS)),
      inTime(projectionAt(lag, position())),
      streamSizes(log),
      storageUse(log),
    ]);
    const names = new Set(instances.map(({ instance }) => instance));
    const did_not_respond = [
      ...SERVICES_WITH_INSTANCES.filter((name) => !instances.some(({ service }) => service === name)),
      ...unique((leaders ?? []).map(({ holder }) => holder)).filter((holder) => !names.has(holder)),
      ...(leaders ? [] : ['leases']),
      ...(executors ? [] : ['executors']),
      ...(projection ? [] : ['projection']),
      ...(storage ? [] : ['broker']),
      ...streams.flatMap(({ name, size }) => (size ? [] : [name])),
    ];
    const sizes = streams.flatMap(({ size }) => (size ? [size] : []));
    return {
      complete: did_not_respond.length === 0,
      did_not_respond,
      instances,
      leaders: leaders ?? [],
      executors: executors ? countedFleet(executors) : null,
      projection: projection ?? null,
      streams: sizes.map(streamState),
      storage: storage ? { used_bytes: storage.usedBytes, limit_bytes: storage.limitBytes ?? null } : null,
      untrusted_proxy: untrustedProxy() ?? null,
      dead_letters: sizes.find(({ name }) => name === 'DEAD_LETTERS')?.messages ?? null,
    };
  };
};

const unique = (names: readonly string[]): string[] => [...new Set(names)];

/** Undefined for what is late or fails: the broker is unavailable, or slow. */
const inTime = <Value>(work: Promise<Value>): Promise<Value | undefined> =>
  within(
    WITHIN_MS,
    work.catch(() => undefined),
    () => undefined,
  );

const instancesOf = async (log: EventLog): Promise<System['instances']> => {
  const read = SERVICES_WITH_INSTANCES.map(async (service) => {
    const instances = await requestInstances(log, service, INSTANCES);
    return instances.map((instance) => ({ service, ...instance }));
  });
  return (await Promise.all(read)).flat();
};

const projectionAt = async (
  lag: ProjectionLag,
  position: number | undefined,
): Promise<System['projection'] | undefined> => {
  if (position === undefined) return undefined;
  const [messages, seconds] = await Promise.all([lag.messages(position), inTime(lag.seconds(position))]);
  return messages === undefined
    ? undefined
    : { position, lag_messages: messages, lag_seconds: seconds ?? null };
};

const countedFleet = ({ executors, more }: ExecutorsResponse): System['executors'] => {
  const counts = { ready: 0, draining: 0, unresponsive: 0, absent: 0 };
  for (const { state } of executors) counts[state] += 1;
  return { ...counts, more };
};

const streamState = ({
  maxBytes,
  maxAgeMs,
  copies,
  leader,
  ...size
}: StreamSize): System['streams'][number] => ({
  ...size,
  kind: kindOf(size.name),
  max_bytes: maxBytes ?? null,
  max_age_s: maxAgeMs === undefined ? null : maxAgeMs / 1_000,
  copies: copies.wanted,
  current_copies: copies.current,
  leader: leader ?? null,
});

const kindOf = (name: string): System['streams'][number]['kind'] => {
  if (name.startsWith('KV_')) return 'bucket';
  return name.startsWith('OBJ_') ? 'objects' : 'stream';
};

/** The leases that one process of the installation holds at a time. */
const LEASES = ['scheduler', `projection.v${VIEW_VERSION}`, 'schedules'];
const utf8 = new TextDecoder();

/** Who holds which lease. One that nobody holds is left out. @throws {LogUnavailable} */
const readLeaders = async (log: EventLog, withinMs: number): Promise<System['leaders']> => {
  const read = await Promise.all(
    LEASES.map(async (lease) => {
      const last = await lastMessage(log, 'KV_LEASES', `$KV.LEASES.${lease}`, withinMs);
      // An empty value is a released lease.
      if (last === null || last.data.byteLength === 0) return [];
      return [{ lease, holder: utf8.decode(last.data).slice(0, 200), renewed_at: last.time.toISOString() }];
    }),
  );
  return read.flat();
};
