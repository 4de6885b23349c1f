import { ALL_FLEET, type Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { RunEventType } from '@runledger/contracts/events/run-event';
import type { Run } from '@runledger/contracts/fold/run';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { BrokerClock } from '@runledger/coordination/broker-clock';
import { watchHeartbeats } from '@runledger/coordination/heartbeats';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { ALL_LIFECYCLES } from '@runledger/contracts/events/subjects';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import type { Following } from '@runledger/event-log/follow/follow';
import { lastSequence } from '@runledger/event-log/read/leader-read';
import { sleep, untilAborted } from '@runledger/resilience/abort';
import type { CheckOutcome } from '@runledger/service-kit/health-server';
import type { Scheduling } from './core/scheduling.ts';
import type { SchedulerInput } from './core/scheduler-input.ts';
import { type FleetFact, followFleet } from './follow-fleet.ts';
import { followRuns, type RecentRequests } from './follow-runs.ts';

/** Opens something as soon as the log is available. */
export type WhenAvailable = <Opened>(open: () => Promise<Opened>) => Promise<Opened>;

export interface FollowLogOptions {
  readonly whenAvailable: WhenAvailable;
  readonly scheduling: Scheduling;
  readonly take: (input: SchedulerInput) => void;
  readonly requests: RecentRequests;
  readonly clock: BrokerClock;
  /** The sequence in RUNS that the restored state ends with; undefined when it is rebuilt from the whole log. */
  readonly restoredUpTo: number | undefined;
  /** Each fact of a run that was accepted, and the run after it. */
  readonly onFact: (type: RunEventType, run: Run) => void;
  /** Each message of RUNS, once it is taken. */
  readonly onInput: (message: StoredMessage) => void;
  /** A name was drained or resumed. */
  readonly onDrain: () => void;
  readonly onHeartbeat: () => void;
}

/** The inputs of the core from the log and from executors. */
export interface FollowedLog extends AsyncDisposable {
  /** Resolves when all messages are taken that were stored at the start. */
  readonly caughtUp: Promise<unknown>;
  /** Resolves when a stream can no longer be followed. */
  readonly failed: Promise<unknown>;
  /** Resolves when all messages are taken that the streams have now, at least up to these, or when the signal is aborted. */
  readonly readToEnd: (signal: AbortSignal, atLeast: Ends) => Promise<void>;
  /** Aborted when it reads that a term after this one has begun. */
  readonly superseded: (term: number) => AbortSignal;
  readonly state: () => CheckOutcome;
  readonly isCurrent: () => boolean;
  /** The sequence in FLEET of the last fact that was taken. */
  readonly fleetReadUpTo: () => number;
  readonly applyFleetFact: (fact: FleetFact) => void;
  readonly onHeartbeat: (heartbeat: Heartbeat, time: string) => void;
}

/** Follows RUNS, FLEET and the heartbeats until it is disposed of. @throws what `whenAvailable` throws */
export const followLog = async (log: EventLog, options: FollowLogOptions): Promise<FollowedLog> => {
  await using opened = new AsyncDisposableStack();
  const { whenAvailable, scheduling, take, requests, clock, restoredUpTo, onFact, onInput } = options;
  const caughtUp = { runs: Promise.withResolvers<void>(), fleet: Promise.withResolvers<void>() };
  const bothCaughtUp = Promise.all([caughtUp.runs.promise, caughtUp.fleet.promise]);
  const terms = termReader();
  let replaying = true;
  void bothCaughtUp.then(() => (replaying = false));

  const { applyFleetFact, fleetReadUpTo } = fleetReader(options);
  const fleet = opened.use(
    await whenAvailable(() =>
      followFleet(log, {
        take: applyFleetFact,
        onTerm: terms.onTerm,
        onCaughtUp: caughtUp.fleet.resolve,
        storesDeadLetters: () => !replaying,
      }),
    ),
  );
  const runs = opened.use(
    await whenAvailable(() =>
      followRuns(log, {
        scheduling,
        after: restoredUpTo ?? 0,
        take,
        requests,
        onFact,
        onInput: (message) => {
          clock.sample(Date.parse(message.time), performance.now());
          onInput(message);
        },
        onCaughtUp: caughtUp.runs.resolve,
        storesDeadLetters: () => restoredUpTo !== undefined || !replaying,
      }),
    ),
  );
  const onHeartbeat = (heartbeat: Heartbeat, time: string): void => {
    const connectedMs = performance.now();
    options.onHeartbeat();
    take({ type: 'heartbeat', heartbeat, time, connectedMs });
  };
  opened.use(await whenAvailable(() => watchHeartbeats(log, onHeartbeat)));
  opened.defer(log.onReconnect(() => resetHeartbeats(take)));
  const state = (): CheckOutcome => (runs.state().ok ? fleet.state() : runs.state());
  const open = opened.move();
  return {
    caughtUp: bothCaughtUp,
    failed: Promise.race([runs.failed, fleet.failed]),
    readToEnd: (signal, atLeast) => readToEnd(log, { runs, fleet }, atLeast, signal),
    superseded: terms.superseded,
    state,
    isCurrent: () => !replaying && state().ok,
    fleetReadUpTo,
    applyFleetFact,
    onHeartbeat,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};

/** Sequences in RUNS and in FLEET. */
interface Ends {
  readonly runs: number;
  readonly fleet: number;
}

const LOOK_EVERY_MS = 10;

const readToEnd = async (
  log: EventLog,
  { runs, fleet }: Readonly<Record<keyof Ends, Pick<Following, 'position'>>>,
  atLeast: Ends,
  signal: AbortSignal,
): Promise<void> => {
  const reading = retryWhileUnavailable({ signal, logger: log.logger }, () => readEnds(log));
  const ends = await untilAborted(reading, signal);
  if (!ends) return;
  // The leader of a stream that was just cut off may not know its end.
  const last = { runs: Math.max(ends.runs, atLeast.runs), fleet: Math.max(ends.fleet, atLeast.fleet) };
  const isBehind = (): boolean => runs.position() < last.runs || fleet.position() < last.fleet;
  while (isBehind() && !signal.aborted) await sleep(LOOK_EVERY_MS, signal);
};

/** The sequences of the last messages that are followed. @throws {LogUnavailable} */
const readEnds = async (log: EventLog): Promise<Ends> => {
  const [runs, fleet] = await Promise.all([
    lastSequence(log, 'RUNS', ALL_LIFECYCLES),
    lastSequence(log, 'FLEET', ALL_FLEET),
  ]);
  return { runs, fleet };
};

const fleetReader = ({
  take,
  onDrain,
}: FollowLogOptions): Pick<FollowedLog, 'applyFleetFact' | 'fleetReadUpTo'> => {
  let readUpTo = 0;
  return {
    fleetReadUpTo: () => readUpTo,
    applyFleetFact: (fact) => {
      take({ type: 'fleet_fact', ...fact, connectedMs: performance.now() });
      readUpTo = Math.max(readUpTo, fact.sequence);
      if ('executor_name' in fact.event) onDrain();
    },
  };
};

const termReader = (): Pick<FollowedLog, 'superseded'> & { readonly onTerm: (term: number) => void } => {
  let last = 0;
  let waiting: { readonly term: number; readonly superseded: AbortController }[] = [];
  const abortOlder = (): void => {
    for (const { term, superseded } of waiting) if (term < last) superseded.abort();
    waiting = waiting.filter(({ term }) => term >= last);
  };
  return {
    onTerm: (term) => {
      last = Math.max(last, term);
      abortOlder();
    },
    superseded: (term) => {
      const superseded = new AbortController();
      waiting.push({ term, superseded });
      abortOlder();
      return superseded.signal;
    },
  };
};

const resetHeartbeats = (take: FollowLogOptions['take']): void =>
  take({ type: 'reset_heartbeats', because: 'reconnect', connectedMs: performance.now() });
