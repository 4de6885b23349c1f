import type { RedriveResponse, RedriveRequest } from '@runledger/contracts/requests/redrive';
import { RUN_EVENTS } from '@runledger/contracts/events/run-event';
import { runOfSubject, type RunKey } from '@runledger/contracts/subjects/run-subjects';
import { refused, refusedAsMissing, taken } from '@runledger/request-reply/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readRun, readStored } from '@runledger/event-log/read/read-run';
import type { Scheduling } from '../core/scheduling.ts';
import type { SchedulerInput } from '../core/scheduler-input.ts';
import { readFleetMessage, type FleetFact } from '../log/fleet-message.ts';

export interface Redrive {
  readonly scheduling: Scheduling;
  readonly take: (input: SchedulerInput) => void;
  readonly takeFleetFact: (fact: FleetFact) => void;
}

/** A run whose facts come faster than it can be read. */
const MOST_READS = 5;

/** Takes a message again that was parked, with what this release knows. @throws {LogUnavailable} */
export const redrive = async (
  log: EventLog,
  redriving: Redrive,
  question: RedriveRequest,
): Promise<RedriveResponse> => {
  const { stream, sequence } = question;
  const stored = await readStored(log, sequence, stream);
  if (!stored) return refusedAsMissing(question);
  switch (stream) {
    case 'RUNS': {
      const key = runOfSubject(stored.subject);
      const isLifecycle = stored.subject.split('.')[3] === 'life';
      if (key && isLifecycle) return redriveRun(log, redriving, key, sequence);
      return refused(`${stored.subject} is no lifecycle of a run: the scheduler reads nothing else in RUNS.`);
    }
    case 'FLEET': {
      const read = readFleetMessage(stored);
      switch (read.kind) {
        case 'fact':
          return redriveFleetFact(redriving, read.fact);
        case 'refused':
          return refused(`It is still refused: ${read.why}.`);
        case 'newer_version':
          return refused(
            `Only a later release can read ${read.type} in version ${read.version}. Start that one.`,
          );
        case 'unknown_type':
          return refused(`This release of the scheduler does not know facts of the type ${read.type}.`);
      }
    }
  }
};

/** The whole run is read again, and replaces what was known of it. */
const redriveRun = async (
  log: EventLog,
  { scheduling, take }: Redrive,
  key: RunKey,
  sequence: number,
): Promise<RedriveResponse> => {
  for (let reads = 0; reads < MOST_READS; reads += 1) {
    const atLeast = Math.max(sequence, scheduling.historyOf(key).head);
    const read = await readRun(log, key, { atLeast });
    switch (read.kind) {
      case 'none':
        return refused(`Run ${key.run_id} is not in the log: nothing under its name counts.`);
      case 'damaged':
        return refused(`Run ${key.run_id} is still damaged: ${read.why}.`);
      case 'newer_version':
        return refused(
          `Run ${key.run_id} has ${read.type} in version ${read.version}, which only a later release can read. Start that one.`,
        );
      case 'found': {
        const wrong = read.refused.find(({ message }) => message.sequence === sequence);
        if (wrong) return refused(`It is still refused: ${wrong.why}.`);
        if (scheduling.isDeciding(key)) {
          return refused(`A decision on run ${key.run_id} is being stored right now. Ask again in a moment.`);
        }
        const { history, facts } = read;
        // Something was stored meanwhile, and is known already.
        if (history.head < scheduling.historyOf(key).head) continue;
        const last = facts.at(-1)?.event;
        const writer = last ? RUN_EVENTS[last.type].writer : 'gateway';
        take({ type: 'run_read_again', key, history, event_id: last?.event_id ?? null, writer });
        return taken(`Run ${key.run_id} was read again from the log: its status is ${read.run.status}.`);
      }
    }
  }
  return refused(`Run ${key.run_id} changed each time that it was read. Ask again in a moment.`);
};

const redriveFleetFact = ({ scheduling, takeFleetFact }: Redrive, fact: FleetFact): RedriveResponse => {
  const { event, sequence } = fact;
  if (!scheduling.isNew(event, sequence)) {
    return refused(`${event.type} is known, or something later that it says nothing about any more.`);
  }
  takeFleetFact(fact);
  return taken(`${event.type} counts from now on.`);
};
