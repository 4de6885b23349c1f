import { eventIdOf, acceptMessage, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { isDeleted, type Run } from '@runledger/contracts/fold/run';
import {
  followsEnd,
  RUN_EVENTS,
  type RunEventType,
  type RunEvent,
  type RunEventOf,
} from '@runledger/contracts/events/run-event';
import {
  ALL_LIFECYCLES,
  parseLifecycleSubject,
  runOfSubject,
  executorWriterOf,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import { ALL_TERM_ANNOUNCEMENTS, isTermAnnouncement } from '@runledger/contracts/events/leader-terms';
import { rememberMessage } from '@runledger/event-log/append/previous-hash';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, NewerVersion, type Following } from '@runledger/event-log/follow/follow';
import { storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { readRun } from '@runledger/event-log/read/read-run';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { Scheduling } from './core/scheduling.ts';
import type { SchedulerInput } from './core/scheduler-input.ts';

export interface FollowRunsOptions {
  readonly scheduling: Scheduling;
  readonly after: number;
  readonly take: (input: SchedulerInput) => void;
  readonly requests: RecentRequests;
  /** Each fact of a run that was accepted, and the run after it. */
  readonly onFact: (type: RunEventType, run: Run) => void;
  /** Each message, once it is taken. */
  readonly onInput: (message: StoredMessage) => void;
  readonly onCaughtUp: () => void;
  /** False while old messages are read again: an earlier process has stored their dead letters. */
  readonly storesDeadLetters: () => boolean;
}

/** Takes the lifecycle of every run into the core, one message after another. */
export const followRuns = (log: EventLog, options: FollowRunsOptions): Promise<Following> => {
  let taken = options.after;
  return follow(log, {
    stream: 'RUNS',
    // The terms that this scheduler told show that it has read what was stored before them.
    subjects: [ALL_LIFECYCLES, ALL_TERM_ANNOUNCEMENTS],
    after: options.after,
    onCaughtUp: options.onCaughtUp,
    onBatch: async (messages) => {
      for (const message of messages) {
        // A batch that failed in the middle is delivered again as a whole.
        if (message.sequence <= taken || isTermAnnouncement(message.subject)) continue;
        await takeMessage(log, options, message);
        taken = message.sequence;
        options.onInput(message);
      }
    },
  });
};

const takeMessage = async (
  log: EventLog,
  options: FollowRunsOptions,
  message: StoredMessage,
): Promise<void> => {
  const { scheduling, take } = options;
  const key = runOfSubject(message.subject);
  if (!key) return refuse(log, options, message, `${message.subject} is not the subject of a run`);
  const accepted = acceptMessage(RUN_CHAIN, scheduling.historyOf(key), message);
  switch (accepted.kind) {
    case 'accepted': {
      const { event } = accepted.fact;
      const { writer } = RUN_EVENTS[event.type];
      // Before the core decides on it.
      options.requests.take(event, accepted.state.number);
      if (accepted.state.status === 'queued') rememberMessage(log, message);
      take({ type: 'run_fact', key, history: accepted.history, event_id: event.event_id, writer });
      if (!isDeleted(accepted.state)) options.onFact(event.type, accepted.state);
      return;
    }
    case 'refused':
      await refuse(log, options, message, accepted.why);
      return moveHead(options, key, message);
    case 'known':
      return;
    case 'gap':
      if (!scheduling.historyOf(key).state) {
        // It follows an end that was taken.
        if (isAfterEnd(message)) return;
        // No read: any executor may write this under any run, as often as it likes.
        if (isOfExecutor(message)) return refuse(log, options, message, NOT_EXECUTING);
      }
      return readAgain(log, options, key, message);
    case 'newer_version':
      throw new NewerVersion(accepted);
  }
};

const isAfterEnd = ({ subject }: StoredMessage): boolean =>
  followsEnd(parseLifecycleSubject(subject)?.fact ?? '');

/** Every run that executes is known here, but for one whose assignment has left the log. */
const NOT_EXECUTING = 'its run is not executing, or the log does not hold its assignment any more';

const isOfExecutor = ({ subject }: StoredMessage): boolean => executorWriterOf(subject) !== undefined;

/** The run did not change, but the broker compares the next append with this message. */
const moveHead = ({ scheduling, take }: FollowRunsOptions, key: RunKey, message: StoredMessage): void => {
  const { state: run } = scheduling.historyOf(key);
  if (!run) return;
  const history = { head: message.sequence, state: run };
  take({ type: 'run_fact', key, history, event_id: eventIdOf(message), writer: 'gateway' });
};

/** The message follows one that was not delivered, so the whole run is read. If the gap stays, the run is damaged. */
const readAgain = async (
  log: EventLog,
  options: FollowRunsOptions,
  key: RunKey,
  message: StoredMessage,
): Promise<void> => {
  const read = await readRun(log, key, { atLeast: message.sequence });
  switch (read.kind) {
    case 'found':
    case 'deleted': {
      const wrong = read.refused.find((refused) => refused.message.sequence === message.sequence);
      if (wrong) await refuse(log, options, message, wrong.why);
      const event = read.facts.at(-1)?.event;
      const writer = event ? RUN_EVENTS[event.type].writer : 'gateway';
      const event_id = event?.event_id ?? null;
      return options.take({ type: 'run_fact', key, history: read.history, event_id, writer });
    }
    case 'none':
      return refuse(log, options, message, 'its run is not in the log');
    case 'damaged':
      await refuse(log, options, message, `${read.why}. The scheduler decides nothing more on this run`);
      return options.take({ type: 'run_unreadable', key });
    case 'newer_version':
      throw new NewerVersion(read);
  }
};

const refuse = async (
  log: EventLog,
  { storesDeadLetters }: FollowRunsOptions,
  message: StoredMessage,
  reason: string,
): Promise<void> => {
  if (storesDeadLetters()) await storeDeadLetter(log, { consumer: 'scheduler', stored: message, reason });
};

/** What an assignment repeats of the request. */
export type RequestedInputs = Pick<RunEventOf<'RunQueued'>['data'], 'inputs' | 'inputs_blob'>;

/** The inputs of runs that wait, by the sequence of their RunQueued, so that as a rule an assignment reads nothing. */
export interface RecentRequests {
  /**
   * When more runs wait than there is room for, the first ones are kept, and beside them the last ones: those before these may wait
   * for other slots.
   */
  take(event: RunEvent, number: number): void;
  inputsOf(number: number): RequestedInputs | undefined;
}

/** Each has at most 4 KiB of inputs. */
const KEPT_REQUESTS = { first: 4_096, last: 4_096 };

export const recentRequests = (limits = KEPT_REQUESTS): RecentRequests => {
  const first = new Map<number, RequestedInputs>();
  const last = new LRUCache<number, RequestedInputs>(atMost(limits.last));
  return {
    take: (event, number) => {
      // Whatever follows it, a run that waits again is rare, and is read.
      if (event.type !== 'RunQueued') {
        if (!first.delete(number)) last.delete(number);
      } else if (first.size < limits.first) first.set(number, event.data);
      else last.set(number, event.data);
    },
    inputsOf: (number) => first.get(number) ?? last.peek(number),
  };
};
