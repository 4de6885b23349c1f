import type { EventLog } from '@runledger/event-log/connect/event-log';
import { respondWithExecutors } from '@runledger/request-reply/executors';
import { respondWithPools } from '@runledger/request-reply/pools';
import { respondWithQueuePositions } from '@runledger/request-reply/queue-positions';
import { respondWithReadySlots } from '@runledger/request-reply/ready-slots';
import { respondWithShortages } from '@runledger/request-reply/shortage';
import { respondWithWaitReasons } from '@runledger/request-reply/wait-reason';
import { RUN_EVENTS } from '@runledger/contracts/events/run-event';
import type { RedriveRequest, RedriveResponse } from '@runledger/contracts/requests/operator-requests';
import { runOfSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { readRun } from '@runledger/event-log/read/read-run';
import { readStored } from '@runledger/event-log/read/run-messages';
import { refused, refusedAsMissing, respondToRedrives, taken } from '@runledger/request-reply/redrive';
import type { Queries } from './core/queries.ts';
import type { Scheduling } from './core/scheduling.ts';
import type { SchedulerInput } from './core/scheduler-input.ts';
import type { DecisionLoop } from './execute-decisions.ts';
import { readFleetMessage, type FleetFact } from './follow-fleet.ts';
import type { FollowedLog } from './follow-log.ts';

interface ResponderOptions {
  readonly queries: Queries;
  readonly isCurrent: () => boolean;
  /** The sequence in FLEET of the last fact that was taken. */
  readonly fleetReadUpTo: () => number;
}

/** Responds to requests from memory until it is disposed of. While the state is not current there is no response. */
export const respondToRequests = (
  log: EventLog,
  { queries, isCurrent, fleetReadUpTo }: ResponderOptions,
): Disposable => {
  const stack = new DisposableStack();
  stack.use(
    respondWithQueuePositions(log, (keys) =>
      isCurrent() ? keys.map((key) => queries.queuePosition(key)) : undefined,
    ),
  );
  stack.use(
    respondWithWaitReasons(log, (key) => (isCurrent() ? (queries.waitReason(key) ?? null) : undefined)),
  );
  stack.use(
    respondWithExecutors(log, (request) =>
      isCurrent() ? { ...queries.executors(request), read_up_to: fleetReadUpTo() } : undefined,
    ),
  );
  stack.use(respondWithShortages(log, (request) => (isCurrent() ? queries.shortage(request) : undefined)));
  stack.use(respondWithReadySlots(log, (request) => (isCurrent() ? queries.readySlots(request) : undefined)));
  stack.use(respondWithPools(log, (request) => (isCurrent() ? queries.pools(request) : undefined)));
  return stack;
};

export interface RedriveResponderOptions {
  readonly loop: DecisionLoop;
  readonly followed: FollowedLog;
  readonly onRedriven: () => void;
}

/** Redrives dead letters on request. Every scheduler takes the message, because each may lead later. The leading one responds. */
export const respondToSchedulerRedrives = (
  log: EventLog,
  { loop, followed, onRedriven }: RedriveResponderOptions,
): Disposable =>
  respondToRedrives(log, 'scheduler', async (request) => {
    if (!followed.isCurrent()) return undefined;
    const { scheduling, take } = loop;
    const { applyFleetFact } = followed;
    const response = await redrive(log, { scheduling, take, applyFleetFact }, request);
    onRedriven();
    return loop.leading() ? response : undefined;
  });

export interface RedriveTarget {
  readonly scheduling: Scheduling;
  readonly take: (input: SchedulerInput) => void;
  readonly applyFleetFact: (fact: FleetFact) => void;
}

/** A run may get facts faster than they can be read. */
const MAX_READS = 5;

/** Takes a dead letter again with this release. @throws {LogUnavailable} */
export const redrive = async (
  log: EventLog,
  target: RedriveTarget,
  request: RedriveRequest,
): Promise<RedriveResponse> => {
  const { stream, sequence } = request;
  const stored = await readStored(log, sequence, stream);
  if (!stored) return refusedAsMissing(request);
  switch (stream) {
    case 'RUNS': {
      const key = runOfSubject(stored.subject);
      const isLifecycle = stored.subject.split('.')[3] === 'life';
      if (key && isLifecycle) return redriveRun(log, target, key, sequence);
      return refused(
        `${stored.subject} is not in the lifecycle of a run: the scheduler reads nothing else in RUNS.`,
      );
    }
    case 'FLEET': {
      const read = readFleetMessage(stored);
      switch (read.kind) {
        case 'fact':
          return redriveFleetFact(target, read.fact);
        case 'refused':
          return refused(`It is still refused: ${read.why}.`);
        case 'newer_version':
          return refused(
            `Only a later release can read ${read.type} in version ${read.version}. Start that release.`,
          );
        case 'term':
          return refused('It is no fact of an executor: a scheduler began to lead.');
      }
    }
  }
};

/** The whole run is read again, and replaces what was known of it. */
const redriveRun = async (
  log: EventLog,
  { scheduling, take }: RedriveTarget,
  key: RunKey,
  sequence: number,
): Promise<RedriveResponse> => {
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const atLeast = Math.max(sequence, scheduling.historyOf(key).head);
    const read = await readRun(log, key, { atLeast });
    switch (read.kind) {
      case 'none':
        return refused(`Run ${key.run_id} has no valid fact in the log.`);
      case 'damaged':
        return refused(`Run ${key.run_id} is still damaged: ${read.why}.`);
      case 'newer_version':
        return refused(
          `Run ${key.run_id} has ${read.type} in version ${read.version}, which only a later release can read. Start that release.`,
        );
      case 'found':
      case 'deleted': {
        const wrong = read.refused.find(({ message }) => message.sequence === sequence);
        if (wrong) return refused(`It is still refused: ${wrong.why}.`);
        if (scheduling.isDeciding(key)) {
          return refused(`A decision on run ${key.run_id} is being stored right now. Try again in a moment.`);
        }
        const { history, facts } = read;
        // A later fact was stored meanwhile, and is known already.
        if (history.head < scheduling.historyOf(key).head) continue;
        const last = facts.at(-1)?.event;
        const writer = last ? RUN_EVENTS[last.type].writer : 'gateway';
        take({ type: 'run_read_again', key, history, event_id: last?.event_id ?? null, writer });
        return taken(`Run ${key.run_id} was read again from the log: its status is ${read.run.status}.`);
      }
    }
  }
  return refused(`Run ${key.run_id} changed each time that it was read. Try again in a moment.`);
};

const redriveFleetFact = (
  { scheduling, applyFleetFact }: RedriveTarget,
  fact: FleetFact,
): RedriveResponse => {
  const { event, sequence } = fact;
  if (!scheduling.isNew(event, sequence)) {
    return refused(`${event.type} is known, or a later fact is.`);
  }
  applyFleetFact(fact);
  return taken(`${event.type} counts from now on.`);
};
