import type { RunEvent } from '@runledger/contracts/events/run-event';
import {
  assignedEvent,
  endingEvent,
  type Decision,
  type DeclareLost,
  type RunDecision,
} from '@runledger/scheduler/core/decision';
import type { Outcome, SchedulerInput } from '@runledger/scheduler/core/scheduler-input';
import type { Appended } from '../broker/run-log.ts';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';
import type { CheckedLoss } from './watcher.ts';

/** As services/scheduler/src/execute-decisions.ts, in virtual time. */
const MAX_CONCURRENT_DECISIONS = 64;
const APPEND_WITHIN_MS = 12_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 5_000;

export interface DecisionExecutorOptions {
  readonly world: World;
  readonly process: Process;
  readonly term: number;
  readonly take: (input: SchedulerInput) => void;
  readonly onLoss: (loss: CheckedLoss) => void;
  readonly onIdle: () => void;
}

/** Stores the decisions of one term of a leader. */
export class DecisionExecutor {
  readonly #options: DecisionExecutorOptions;
  readonly #waiting = new Set<Decision>();
  #busy = 0;
  #isOver = false;

  constructor(options: DecisionExecutorOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#busy === 0;
  }

  begin(decisions: readonly Decision[]): void {
    for (const decision of decisions) this.#waiting.add(decision);
    this.#next();
  }

  /** Another scheduler may lead: outcomes no longer count, but what is under way may still be stored. */
  end(): void {
    this.#isOver = true;
  }

  #next(): void {
    for (const decision of this.#waiting) {
      if (this.#busy >= MAX_CONCURRENT_DECISIONS || this.#isOver) return;
      this.#waiting.delete(decision);
      this.#busy += 1;
      if (decision.type === 'declare_lost') this.#storeLoss(decision);
      else this.#append(decision, this.#eventOf(decision), FIRST_RETRY_MS);
    }
  }

  #settle(decision: Decision, outcome: Outcome | undefined): void {
    this.#busy -= 1;
    if (outcome && !this.#isOver) this.#options.take({ type: 'settled', decision, outcome });
    this.#next();
    if (this.isIdle) this.#options.onIdle();
  }

  /** The same event again until the outcome is known. */
  #append(decision: RunDecision, event: RunEvent, retryMs: number): void {
    const { world, process } = this.#options;
    const onAnswer = (appended: Appended | undefined): void => {
      if (this.#isOver) return this.#settle(decision, undefined);
      if (!appended || appended.kind === 'full') {
        const next = Math.min(retryMs * 2, LONGEST_RETRY_MS);
        process.after(retryMs, () => {
          if (this.#isOver) this.#settle(decision, undefined);
          else this.#append(decision, event, next);
        });
      } else this.#settle(decision, outcomeOf(appended, decision));
    };
    world.broker.ask(process, APPEND_WITHIN_MS, () => world.log.append(event, decision.expected), onAnswer);
  }

  #storeLoss(decision: DeclareLost): void {
    const { world, process, take, onLoss } = this.#options;
    const { broker, fleet, timeline } = world;
    broker.ask(
      process,
      APPEND_WITHIN_MS,
      () => ({ last: fleet.lastHeartbeat(decision.executor), readAtMs: timeline.now }),
      (answer) => {
        if (!answer || this.#isOver) return this.#settle(decision, 'refused');
        const { last, readAtMs } = answer;
        if (last && last.time !== decision.lastHeartbeat) {
          const { heartbeat, time } = last;
          take({ type: 'heartbeat', heartbeat, time, connectedMs: process.clock });
          return this.#settle(decision, 'refused');
        }
        onLoss({ executor: decision.executor, readAtMs, lastAtMs: last?.atMs });
        const event = {
          type: 'ExecutorLost',
          version: 1,
          event_id: world.newEventId(),
          executor_id: decision.executor,
          time: broker.time,
          message: decision.message,
        } as const;
        const append = (): 'stored' => (fleet.append(event), 'stored');
        broker.ask(process, APPEND_WITHIN_MS, append, (stored) =>
          this.#settle(decision, stored ?? 'refused'),
        );
      },
    );
  }

  #eventOf(decision: RunDecision): RunEvent {
    const { world, process, term } = this.#options;
    const stamp = {
      event_id: world.newEventId(),
      time: world.broker.time,
      instance: process.instance,
    };
    if (decision.type !== 'assign') return endingEvent(decision, stamp);
    return assignedEvent(decision, stamp, {
      slot_allocation_id: stamp.event_id,
      inputs: {},
      inputs_blob: null,
      term,
    });
  }
}

const outcomeOf = (
  appended: Exclude<Appended, { readonly kind: 'full' }>,
  { expected }: RunDecision,
): Outcome => {
  if (appended.kind === 'stored') return 'stored';
  return appended.head >= expected ? 'refused' : 'expired';
};
